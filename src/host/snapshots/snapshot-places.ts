import { limits } from '../../limits.ts';

interface Waiting {
  readonly begin: () => void;
}

/**
 * Places for snapshots of all databases, those in processes as well: `limits.hostSnapshotsMax` are
 * written at the same time, first come first served. A process that a module has taken over may
 * never give its place back, so nobody has one for longer than `limits.snapshotPlaceMillisMax`.
 */
export class SnapshotPlaces {
  #count = 0;
  #waiting: Waiting[] = [];

  /**
   * Calls `begin` when there is a place, perhaps at once. Returns a function that gives the place
   * back, or the wish for one, and that can be called more than once.
   */
  enter(begin: () => void): () => void {
    let timer: NodeJS.Timeout | undefined;
    let state: 'waiting' | 'inside' | 'gone' = 'waiting';
    const leave = (): void => {
      clearTimeout(timer);
      timer = undefined;
      if (state === 'inside') this.#release();
      else this.#waiting = this.#waiting.filter((other) => other !== entry);
      state = 'gone';
    };
    const entry: Waiting = {
      begin: () => {
        state = 'inside';
        timer = setTimeout(leave, limits.snapshotPlaceMillisMax);
        timer.unref();
        begin();
      },
    };
    this.#waiting.push(entry);
    this.#admit();
    return leave;
  }

  #release(): void {
    this.#count -= 1;
    this.#admit();
  }

  #admit(): void {
    while (this.#count < limits.hostSnapshotsMax) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#count += 1;
      next.begin();
    }
  }
}
