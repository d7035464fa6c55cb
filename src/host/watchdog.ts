import { limits } from '../limits.ts';
import type { Board, Phase } from './board.ts';
import type { Budget } from './host-options.ts';
import type { Kill } from './seat.ts';

/** A worker as the watchdog sees it. */
export interface Watched {
  readonly board: Board;
  /** False while it owes nothing: then there is nothing to end. */
  isBusy(): boolean;
  /** Messages sent to it. */
  messagesSent(): number;
  /** Memory of its own in bytes; `undefined` where it shares that of the process. */
  memoryBytes?(): number | undefined;
  /** Ends it. Called at most once. */
  kill(end: Kill): void;
}

/** What was seen of a worker: since when it has been doing the same thing, and at what level. */
interface Sighting {
  changes: number;
  sinceMillis: number;
  /**
   * Memory when this began, of the process that it shares or of its own; `undefined` = to be taken
   * at the next look.
   */
  level: number | undefined;
  /** Memory of its own at the last look; `undefined` where it shares that of the process. */
  own: number | undefined;
  isKilled: boolean;
}

/** Between two looks, in milliseconds. A look costs a few microseconds for each busy worker. */
const lookMillis = 50;

/**
 * Looks at the boards of busy workers and ends those that are over budget: in time, or in memory
 * that the heap limit of a worker does not see.
 *
 * Memory is that of the process, less what the databases say they hold. Where a worker is a process
 * of its own, that is exact. Where several share one, and it grows by more than one call may use
 * while calls run, the one that runs longest is ended: buffers do not say whose they are.
 * Afterwards the level is taken again, so that one culprit is not followed by the innocent.
 */
export class Watchdog {
  readonly #budget: Budget;
  readonly #watched = new Map<Watched, Sighting>();
  #timer: NodeJS.Timeout | undefined;
  #lastLevel = 0;
  /** Workers ended for memory that are not gone yet. */
  readonly #dying = new Set<Watched>();

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** Starts to look at a worker; `wake` says when it became busy. */
  add(watched: Watched): void {
    const sighting = { level: undefined, own: undefined, isKilled: false };
    const { changes } = watched.board;
    this.#watched.set(watched, { changes, sinceMillis: now(), ...sighting });
    this.wake();
  }

  remove(watched: Watched): void {
    this.#watched.delete(watched);
    if (this.#dying.delete(watched)) this.#retakeLevels();
  }

  /** Ends every worker that is left. */
  close(): void {
    for (const [watched, sighting] of this.#watched) {
      sighting.isKilled = true;
      watched.kill({ cause: 'closed', message: 'The service stopped.' });
    }
  }

  wake(): void {
    if (this.#timer !== undefined) return;
    this.#lastLevel = this.#level();
    for (const sighting of this.#watched.values()) sighting.sinceMillis = now();
    this.#timer = setInterval(() => this.#look(), lookMillis);
    this.#timer.unref();
  }

  #look(): void {
    const busy = [...this.#watched].filter(([watched]) => watched.isBusy());
    if (busy.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const [watched, sighting] of busy) this.#sight(watched, sighting);
    this.#checkMemory(busy);
  }

  #sight(watched: Watched, sighting: Sighting): void {
    const { changes } = watched.board;
    const before = sighting.own;
    sighting.own = ownMemory(watched);
    if (changes !== sighting.changes) {
      sighting.changes = changes;
      sighting.sinceMillis = now();
      sighting.level = sighting.own === undefined ? this.#lastLevel : (before ?? sighting.own);
      return;
    }
    const message = this.#overTime(watched, now() - sighting.sinceMillis);
    if (message !== undefined) this.#kill(watched, sighting, message);
  }

  #overTime({ board, messagesSent }: Watched, millis: number): string | undefined {
    const { callMillisMax, publishMillisMax } = this.#budget;
    switch (board.phase) {
      case 'calling':
        if (millis <= callMillisMax) return undefined;
        return `The call ran longer than ${callMillisMax} ms and was stopped.`;
      case 'viewing':
        if (millis <= callMillisMax) return undefined;
        return (
          `The call ran longer than ${callMillisMax} ms and was stopped, ` +
          'while it evaluated a view.'
        );
      case 'loading':
        if (millis <= publishMillisMax) return undefined;
        return `The program ran longer than ${publishMillisMax} ms before it served.`;
      case 'resting':
        if (millis <= limits.silenceMillisMax) return undefined;
        if (board.messagesTaken >= messagesSent()) return undefined;
        return `The thread took no message for ${limits.silenceMillisMax} ms outside of any call.`;
      case 'writing':
        return undefined;
    }
  }

  #checkMemory(busy: readonly [Watched, Sighting][]): void {
    const level = this.#level();
    this.#lastLevel = level;
    const bytesMax = this.#budget.callBufferBytesMax;
    let longest: [Watched, Sighting] | undefined;
    for (const [watched, sighting] of busy) {
      const { phase } = watched.board;
      if (sighting.isKilled || !memoryPhases.has(phase)) continue;
      sighting.level ??= sighting.own ?? level;
      const isOver = (sighting.own ?? level) - sighting.level > bytesMax;
      if (sighting.own !== undefined) {
        if (isOver) this.#kill(watched, sighting, this.#overMemory());
        continue;
      }
      const isLongest = longest === undefined || sighting.sinceMillis < longest[1].sinceMillis;
      if (isOver && isLongest) longest = [watched, sighting];
    }
    if (longest === undefined || this.#dying.size > 0) return;
    this.#dying.add(longest[0]);
    this.#kill(longest[0], longest[1], this.#overMemory());
  }

  #overMemory(): string {
    const mebibytes = Math.round(this.#budget.callBufferBytesMax / (1024 * 1024));
    return `The call held more than ${mebibytes} MiB of memory and was stopped.`;
  }

  #kill(watched: Watched, sighting: Sighting, message: string): void {
    if (sighting.isKilled) return;
    sighting.isKilled = true;
    watched.kill({ cause: 'budget', message });
  }

  #level(): number {
    let held = 0;
    for (const [{ board }, { own }] of this.#watched)
      if (own === undefined) held += board.heldBytes;
    return process.memoryUsage.rss() - held;
  }

  #retakeLevels(): void {
    this.#lastLevel = this.#level();
    for (const sighting of this.#watched.values()) sighting.level = undefined;
  }
}

/** Memory of a process of its own, less its rows and indexes. */
function ownMemory({ board, memoryBytes }: Watched): number | undefined {
  const bytes = memoryBytes?.();
  return bytes === undefined ? undefined : bytes - board.heldBytes;
}

/** In which user code may run. */
const memoryPhases: ReadonlySet<Phase> = new Set(['calling', 'viewing', 'loading']);

function now(): number {
  return performance.now();
}
