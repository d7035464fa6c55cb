import { limits } from '../../limits.ts';
import type { Board } from '../seats/board.ts';

export interface StuckReadOptions {
  readonly board: () => Pick<Board, 'phase' | 'changes'> | undefined;
  /** True while this host follows, and requests to its copy wait, or connections read it. */
  readonly isReading: () => boolean;
  /** True if nobody leads the database any more, as far as this host knows. */
  readonly isLeaderless: () => boolean;
  /** The actor runs code of its program: it may never end. */
  readonly runs: () => void;
  /** Ends the actor. */
  readonly end: () => void;
}

/**
 * Ends an actor that follows, and whose thread a read holds while the database has lost its leader:
 * it would not see that in time, and take over late. The next actor does. A statement is answered
 * as one that ran too long; a subscription ends with its connection, and its client asks again. A
 * read that pauses, or ends, is never seen twice in the same step.
 */
export class StuckRead {
  readonly #options: StuckReadOptions;
  #timer: NodeJS.Timeout | undefined;
  #changes: number | undefined;

  constructor(options: StuckReadOptions) {
    this.#options = options;
  }

  /** Watches from now on, as long as something is read. */
  begin(): void {
    this.#timer ??= setInterval(() => this.#look(), limits.leaderLookMillis).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#changes = undefined;
  }

  #look(): void {
    const { board, isReading, isLeaderless, runs, end } = this.#options;
    const now = board();
    if (now === undefined || !isReading()) {
      this.stop();
      return;
    }
    const runsCode = now.phase === 'calling' || now.phase === 'viewing';
    const isStuck = runsCode && now.changes === this.#changes;
    this.#changes = now.changes;
    if (runsCode) runs();
    if (!isStuck || !isLeaderless()) return;
    this.stop();
    end();
  }
}
