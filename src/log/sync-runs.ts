import { unreachable } from '../assert.ts';
import { idleSync, runningSync, type SyncState, syncsOf } from './log-state.ts';

/** What is made durable. */
export interface Synced {
  /** Log position up to which everything was written. */
  readonly written: () => number;
  /** True if nothing is left to be made durable, with no sync running. */
  readonly isDone: () => boolean;
  /** True if a directory must be synced, which a running sync does not do any more. */
  readonly isDirectoryDue: () => boolean;
  /** Throws if nothing may be synced any more. */
  readonly check: () => void;
  /** One sync of everything that was written; calls `ended` of these runs when it is over. */
  readonly run: () => Promise<void>;
}

/** The syncs of a log: one at a time; calls made while one runs share the next. */
export class SyncRuns {
  readonly #log: Synced;
  #state: SyncState = idleSync;

  constructor(log: Synced) {
    this.#log = log;
  }

  /** The end of the sync that runs, if one does. */
  get running(): Promise<void> | undefined {
    return runningSync(this.#state);
  }

  /** Resolves when those that run, or will, are over. */
  async settled(): Promise<void> {
    await Promise.allSettled(syncsOf(this.#state));
  }

  /** Resolves when everything written before the call is durable. */
  sync(): Promise<void> {
    const state = this.#state;
    switch (state.kind) {
      case 'idle':
        return this.#log.isDone() ? Promise.resolve() : this.#start();
      case 'running': {
        const { done, position } = state;
        if (this.#log.written() === position && !this.#log.isDirectoryDue()) return done;
        const next = done.then(() => this.#startDue());
        this.#state = { kind: 'followed', done, next };
        return next;
      }
      case 'followed':
      case 'due':
        // It begins after this call, so it covers it.
        return state.next;
      default:
        return unreachable(state);
    }
  }

  /** The one that ran is over. */
  ended(): void {
    const state = this.#state;
    this.#state = state.kind === 'followed' ? { kind: 'due', next: state.next } : idleSync;
  }

  /** The sync that was to follow another one, which has ended. */
  #startDue(): Promise<void> {
    this.#state = idleSync;
    this.#log.check();
    return this.#start();
  }

  #start(): Promise<void> {
    const position = this.#log.written();
    const done = this.#log.run();
    this.#state = { kind: 'running', done, position };
    return done;
  }
}
