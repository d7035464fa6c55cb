import { timeBudget } from '../sql/budget.ts';
import type { ReadResult } from '../sql/run/execute-read.ts';
import { executeRead, type PreparedRead } from '../sql/statement.ts';
import type { Store } from '../store/store.ts';

/** A read under way. It sees the rows of the moment at which it was started, however long it takes. */
export interface ReadExecution {
  /**
   * Runs until the read is over or its slice is. Throws `SqlFailure`, or `PinRevokedError` when
   * others have changed too much meanwhile.
   */
  run(): 'done' | 'paused';
  /** Once it is done. */
  result(): ReadResult;
  /** Lets go of what it holds; the last call. */
  dispose(): void;
}

export interface ReadTimes {
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** Running time of the whole read, pauses left out. */
  readonly millisMax: number;
  /** Running time until it pauses. */
  readonly sliceMillis: number;
}

export type StartRead = (read: PreparedRead, store: Store, times: ReadTimes) => ReadExecution;

/** Reads that run to their end in one go. */
export const startRead: StartRead = (read, store, { now, millisMax }) => {
  const budget = timeBudget(now, millisMax);
  let result: ReadResult | undefined;
  return {
    run() {
      result = executeRead(read, store, budget);
      return 'done';
    },
    result() {
      if (result === undefined) throw new Error('a read has a result once it has run');
      return result;
    },
    dispose() {
      result = undefined;
    },
  };
};
