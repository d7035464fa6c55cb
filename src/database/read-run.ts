import { limits } from '../limits.ts';
import { type BudgetOptions, type MemoryShare, QueryBudget, rowsPerCheck } from '../sql/budget.ts';
import type { ReadResult } from '../sql/run/results.ts';
import {
  type PreparedExplain,
  type PreparedRead,
  type StatementRequest,
  startRead,
} from '../sql/statement.ts';
import type { Store } from '../store/store.ts';
import { areLimited } from './rights.ts';

/** A read under way. It sees a snapshot of the rows taken when it began, however long it takes. */
export interface ReadRun {
  /**
   * Runs until the read is done or its slice is over. Throws `SqlFailure`, or `PinRevokedError`
   * when others have changed too much meanwhile.
   */
  run(): 'done' | 'paused';
  /** Called once it is done. */
  result(): ReadResult;
  /** Canonical names of what a limited token reads by it; absent for everyone else. */
  readonly tables?: readonly string[];
  /** Releases what it holds; the last call. */
  dispose(): void;
}

export interface ReadTimes {
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** Limit on the running time of the whole read, not counting pauses. */
  readonly millisMax: number;
  /** Running time until it pauses. */
  readonly sliceMillis: number;
}

/** The inputs of a read, except its time limits. */
export interface ReadRequest extends Omit<StatementRequest, 'budget'> {
  /** The memory it holds is taken from here, and returned when it is disposed of. */
  readonly memory: MemoryShare;
}

export type StartReadRun = (
  read: PreparedRead | PreparedExplain,
  store: Store,
  times: ReadTimes,
  request: ReadRequest,
) => ReadRun;

export const startReadRun: StartReadRun = (read, _store, times, request) => {
  const { memory, ...given } = request;
  const budget = budgetOf({ ...times, memory });
  const execution = startRead(read, { ...given, budget });
  return {
    run: () => execution.run(),
    result: () => execution.result(),
    ...(areLimited(request.caller.rights) && { tables: tablesOf(read) }),
    dispose: () => {
      execution.dispose();
      budget.release();
    },
  };
};

function tablesOf(read: PreparedRead | PreparedExplain): readonly string[] {
  if (read.kind === 'explain') return [];
  return [...new Set(read.compiled.plan.tables.map(({ name }) => name))];
}

/** How long a read of first rows, or a write searching for its rows, runs until it pauses. */
export interface Slices {
  readonly millis: number;
  /** Rows between two readings of the clock. */
  readonly rowsPerCheck: number;
}

export const slicesOfLimits: Slices = { millis: limits.readSliceMillisMax, rowsPerCheck };

type Times = Pick<ReadTimes, 'now' | 'millisMax'> &
  Partial<ReadTimes & Slices & Pick<BudgetOptions, 'memory' | 'stallMillisMax'>>;

/** Pass no `sliceMillis` for a statement that must not pause. */
export function budgetOf(times: Times): QueryBudget {
  return new QueryBudget({
    stallMillisMax: limits.sqlStallMillisMax,
    ...times,
    memoryBytesMax: limits.sqlMemoryBytesMax,
  });
}
