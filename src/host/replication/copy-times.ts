import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/** What a host knows of its copies of databases that other hosts lead. */
export interface CopyTimes {
  /** Commits up to this one are known to be acknowledged, and here. */
  settledOffset(database: DatabaseIdentity): number;
  /**
   * True when commits up to `offset` are acknowledged, and here; false if that takes longer.
   * Rejects with `database.overloaded` if too many wait. Who has waited in vain counts until
   * `answered`, if that is given.
   */
  untilSettled(
    database: DatabaseIdentity,
    offset: number,
    millisMax: number,
    answered?: Promise<unknown>,
  ): Promise<boolean>;
  /**
   * Bound of the age of the rows as of `offset`: all that was acknowledged before that is in them.
   * `undefined`: it was never known.
   */
  ageMillis(database: DatabaseIdentity, offset: number): number | undefined;
  /** Asks how far the leader is, or the engine; false: neither has answered. */
  ask(database: DatabaseIdentity): Promise<boolean>;
}
