import { overBudget } from './failure.ts';

/**
 * Asked again and again while a statement runs; ends it by throwing `SqlFailure`. The clock is the
 * caller's: this room reads none.
 */
export interface Budget {
  /** Called at least once in `rowsPerCheck` rows looked at. */
  check(): void;
}

/** Rows between two questions: few enough to stop within a millisecond or so. */
export const rowsPerCheck = 1_024;

export const unlimitedBudget: Budget = { check: () => undefined };

/** Ends a statement that is still running `millisMax` after this call. `now` is in milliseconds. */
export function timeBudget(now: () => number, millisMax: number): Budget {
  const end = now() + millisMax;
  return {
    check() {
      if (now() <= end) return;
      throw overBudget(
        `The statement ran longer than ${millisMax} ms and was stopped; ` +
          'narrow its WHERE clause or add an index for it',
      );
    },
  };
}
