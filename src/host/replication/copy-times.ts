import type { Payers } from '../../auth/payers.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/** A read that waits for a commit, and its place among those that do. */
export interface CopyWait {
  readonly millisMax: number;
  /** Who is charged for the place; absent: nobody. */
  readonly payers?: Payers | undefined;
  /** Who has waited in vain keeps the place until then. */
  readonly answered?: Promise<unknown> | undefined;
}

/** What a host knows of its copies of databases that other hosts lead. */
export interface CopyTimes {
  /** Commits up to this one are known to be acknowledged, and here. */
  settledOffset(database: DatabaseIdentity): number;
  /**
   * True when commits up to `offset` are acknowledged, and here; false if that takes longer than
   * `millisMax`. Rejects with `database.overloaded` if too many wait, and with
   * `requests.tooManyOfOne` if too many of one payer do.
   */
  untilSettled(database: DatabaseIdentity, offset: number, wait: CopyWait): Promise<boolean>;
  /**
   * Bound of the age of the rows as of `offset`: all that was acknowledged before that is in them.
   * `undefined`: it was never known.
   */
  ageMillis(database: DatabaseIdentity, offset: number): number | undefined;
  /** Asks how far the leader is, or the engine; false: neither has answered. */
  ask(database: DatabaseIdentity): Promise<boolean>;
}

/** The same, where waiting reads are those of `waiter`. */
export function timesFor(
  waiter: () => Pick<CopyWait, 'payers' | 'answered'>,
  times: CopyTimes,
): CopyTimes {
  return {
    settledOffset: (database) => times.settledOffset(database),
    untilSettled: (database, offset, wait) =>
      times.untilSettled(database, offset, { ...wait, ...waiter() }),
    ageMillis: (database, offset) => times.ageMillis(database, offset),
    ask: (database) => times.ask(database),
  };
}
