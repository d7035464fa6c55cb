import { limits } from '../limits.ts';
import { QueryBudget } from '../sql/budget.ts';
import { overBudget } from '../sql/failure.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { WholeRead } from './kept-stages.ts';

/** The caller for whom tables are read again. */
export interface Reader {
  readonly identity: CallerIdentity;
  readonly tables: () => SqlTables;
}

/**
 * Time budget for reading again what live queries depend on. It refills slowly, so that rereads
 * take at most a part of all time, and one identity a smaller part. A read that began while time
 * was left runs to its end or to `liveRereadMillisMax`; later reads are rejected, and their queries
 * fail.
 */
export class RereadTime {
  readonly #now: () => number;
  readonly #all: Balance;
  readonly #ofIdentity = new Map<CallerIdentity, Balance>();

  constructor(now: () => number) {
    this.#now = now;
    this.#all = { millis: 2 * limits.liveRereadMillisMax, at: now() };
  }

  /** Reads if there is time left. Throws `SqlFailure`. */
  run<Result>({ identity, tables }: Reader, read: (whole: WholeRead) => Result): Result {
    const began = this.#now();
    const { liveRereadMillisMax: millisMax } = limits;
    const own = this.#ofIdentity.get(identity) ?? { millis: millisMax, at: began };
    const all = refilled(this.#all, began, 2 * millisMax, rereadShare);
    refilled(own, began, millisMax, rereadShare / 2);
    if (own.millis <= 0 || all.millis <= 0) throw overBudget(refusal);
    const budget = new QueryBudget({
      now: this.#now,
      millisMax,
      memoryBytesMax: limits.sqlMemoryBytesMax,
      stallMillisMax: limits.sqlStallMillisMax,
    });
    try {
      return read({ tables: tables(), budget });
    } finally {
      const took = this.#now() - began;
      all.millis -= took;
      own.millis -= took;
      this.#ofIdentity.set(identity, own);
      this.#forgetFull(began);
    }
  }

  /** An identity that has its full time again needs no entry. */
  #forgetFull(now: number): void {
    if (this.#ofIdentity.size <= balancesMax) return;
    for (const [identity, balance] of this.#ofIdentity) {
      const full = limits.liveRereadMillisMax;
      if (refilled(balance, now, full, rereadShare / 2).millis >= full) {
        this.#ofIdentity.delete(identity);
      }
    }
  }
}

interface Balance {
  millis: number;
  at: number;
}

function refilled(balance: Balance, now: number, millisMax: number, share: number): Balance {
  balance.millis = Math.min(millisMax, balance.millis + (now - balance.at) * share);
  balance.at = now;
  return balance;
}

/** The share of all time that rereads can take when they never stop. */
const rereadShare = 0.5;
const balancesMax = 1_024;

const refusal =
  'Keeping the query up to date takes too long: each change makes it read all its rows again; ' +
  'read fewer rows, add an index, or run it once instead of watching it';
