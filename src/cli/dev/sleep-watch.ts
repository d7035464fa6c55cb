import { limits } from '../../limits.ts';
import { inodeOf } from './dev-place.ts';

export interface SleepWatchOptions {
  /** The project: without it, there is nothing to do any more. */
  readonly folder: string;
  /** Called when the machine has slept for about so long. */
  readonly woke: (seconds: number) => void;
  /** Called once when the folder is gone. */
  readonly gone: () => void;
  /** Called each time. */
  readonly look: () => void;
}

/** Looks at the clock, the folder and the service, again and again. */
export class SleepWatch {
  readonly #timer: NodeJS.Timeout;
  #last = Date.now();

  constructor({ folder, woke, gone, look }: SleepWatchOptions) {
    const inode = inodeOf(folder);
    this.#timer = setInterval(() => {
      const now = Date.now();
      const late = now - this.#last - limits.devLookMillis;
      this.#last = now;
      // A process that still writes there may have made the folder again.
      if (inodeOf(folder) !== inode) {
        this.end();
        gone();
        return;
      }
      if (late > limits.devSleepMillisMin) woke(Math.round(late / 1000));
      look();
    }, limits.devLookMillis);
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
