import { ownerRights } from '../sql/rights.ts';
import { anonymous, type CallerKey, callerKeyOf } from './caller-key.ts';
import type { Caller, SqlError } from './outcome.ts';

export interface PlaceLimits {
  /** Number of places. */
  readonly max: number;
  /** Limit for one caller. */
  readonly callerMax: number;
  /** Limit for all callers without the owner's rights together. */
  readonly othersMax: number;
  /** What holds a place, such as `long statements`. */
  readonly plural: string;
  readonly advice: string;
}

/**
 * Places of paused statements. No caller can take all of them, and a caller with the owner's rights
 * finds a free one whatever the others do, with however many identities.
 */
export class StatementPlaces {
  readonly #limits: PlaceLimits;
  #count = 0;
  #othersCount = 0;
  readonly #byCaller = new Map<CallerKey, number>();

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Takes a place for the caller, to be given back; returns an error when none is free. */
  take(caller: Caller): SqlError | undefined {
    const { max, callerMax, othersMax, plural } = this.#limits;
    const key = callerKeyOf(caller);
    const ownCount = this.#byCaller.get(key) ?? 0;
    if (this.#count >= max) return this.#busy(`${max} ${plural}`);
    if (ownCount >= callerMax) {
      const whose = key === anonymous ? `${plural} of anonymous callers` : `of your ${plural}`;
      return this.#busy(`${callerMax} ${whose}`);
    }
    if (!isOwner(caller) && this.#othersCount >= othersMax) {
      return this.#busy(`${othersMax} ${plural} of callers other than the owner`);
    }
    this.#count += 1;
    if (!isOwner(caller)) this.#othersCount += 1;
    this.#byCaller.set(key, ownCount + 1);
    return undefined;
  }

  giveBack(caller: Caller): void {
    const key = callerKeyOf(caller);
    const left = (this.#byCaller.get(key) ?? 0) - 1;
    if (left === 0) this.#byCaller.delete(key);
    else this.#byCaller.set(key, left);
    this.#count -= 1;
    if (!isOwner(caller)) this.#othersCount -= 1;
  }

  #busy(which: string): SqlError {
    const { advice } = this.#limits;
    const message = `${which} are already running, and this is one more; ${advice}`;
    return { code: 'sql.busy', message };
  }
}

function isOwner({ rights }: Caller): boolean {
  return rights.key === ownerRights.key;
}
