import { limits } from '../limits.ts';
import {
  type BudgetOptions,
  type MemoryShare,
  QueryBudget,
  rowsPerCheck,
} from '../sql/run/budget.ts';
import type { ReadResult } from '../sql/run/execution.ts';
import {
  type PreparedExplain,
  type PreparedRead,
  type StatementRequest,
  startRead as startStatement,
} from '../sql/statement.ts';
import type { Store } from '../store/store.ts';

/** A read under way. It sees the rows of the moment at which it began, however long it takes. */
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

/** What a read is given beside its times. */
export interface ReadRequest extends Omit<StatementRequest, 'budget'> {
  /** What it holds is taken from here until it is disposed of. */
  readonly memory: MemoryShare;
}

export type StartRead = (
  read: PreparedRead | PreparedExplain,
  store: Store,
  times: ReadTimes,
  request: ReadRequest,
) => ReadExecution;

export const startRead: StartRead = (read, _store, times, request) => {
  const { memory, ...given } = request;
  const budget = budgetOf({ ...times, memory });
  const execution = startStatement(read, { ...given, budget });
  return {
    run: () => execution.run(),
    result: () => execution.result(),
    dispose: () => {
      execution.dispose();
      budget.release();
    },
  };
};

/** How long a read of first rows, or a write that looks for its rows, runs until it pauses. */
export interface Slices {
  readonly millis: number;
  /** Rows between two looks at the clock. */
  readonly rowsPerCheck: number;
}

export const slicesOfLimits: Slices = { millis: limits.readSliceMillisMax, rowsPerCheck };

type Times = Pick<ReadTimes, 'now' | 'millisMax'> &
  Partial<ReadTimes & Slices & Pick<BudgetOptions, 'memory' | 'stallMillisMax'>>;

/** Without `sliceMillis` for what runs in one go. */
export function budgetOf(times: Times): QueryBudget {
  return new QueryBudget({
    stallMillisMax: limits.sqlStallMillisMax,
    ...times,
    memoryBytesMax: limits.sqlMemoryBytesMax,
  });
}
