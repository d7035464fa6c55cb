import { limits } from '../limits.ts';
import { overBudget } from '../sql/failure.ts';
import { QueryBudget } from '../sql/run/budget.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { WholeRead } from './kept-stages.ts';

/** For whom tables are read again. */
export interface Reader {
  readonly identity: bigint;
  readonly tables: () => SqlTables;
}

/**
 * Time for reading again what live queries rest on. It comes back slowly, so that reading again
 * takes a part of all time at most, and one identity a smaller part. A read that has begun when
 * there was time left goes on to its end or to the end of the time of a commit; what comes then is
 * refused, and that query fails.
 */
export class RereadTime {
  readonly #now: () => number;
  readonly #all: Balance;
  readonly #ofIdentity = new Map<bigint, Balance>();

  constructor(now: () => number) {
    this.#now = now;
    this.#all = { millis: 2 * limits.liveRereadMillisMax, at: now() };
  }

  /** Throws `SqlFailure`. */
  run<Result>({ identity, tables }: Reader, read: (whole: WholeRead) => Result): Result {
    const began = this.#now();
    const { liveRereadMillisMax: millisMax } = limits;
    const all = refilled(this.#all, began, 2 * millisMax, rereadShare);
    const own = this.#ofIdentity.get(identity) ?? { millis: millisMax, at: began };
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

  /** Who has all time again needs no entry. */
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

/** Of all time, what reading again may take when it is asked for without end. */
const rereadShare = 0.5;
const balancesMax = 1_024;

const refusal =
  'Keeping the query up to date takes too long: changes of what it reads make it read all of it ' +
  'again; ask for fewer rows, add an index, or ask for it once instead';
