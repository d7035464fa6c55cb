import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

interface Sample {
  readonly calls: number;
  readonly millis: number;
  readonly rate: number | undefined;
}

/**
 * How many calls databases run a second: what they have run since somebody asked before, over that
 * time. Nothing is measured while nobody asks.
 */
export class CallRates {
  readonly #samples = new Map<DatabaseIdentity, Sample>();

  /**
   * `calls`: those since the service started; `millis`: of a clock that never goes back. Returns
   * `undefined` where nobody has asked in the last minute, which is too long ago to compare with.
   */
  of(database: DatabaseIdentity, calls: number, millis: number): number | undefined {
    const before = this.#samples.get(database);
    const elapsed = before === undefined ? Number.POSITIVE_INFINITY : millis - before.millis;
    if (before !== undefined && elapsed < limits.callRateMillisMin) return before.rate;
    const isRecent = before !== undefined && elapsed <= limits.callRateMillisMax;
    const rate = isRecent ? (Math.max(0, calls - before.calls) * 1_000) / elapsed : undefined;
    this.#samples.delete(database);
    this.#samples.set(database, { calls, millis, rate });
    if (this.#samples.size > limits.callRatesMax) {
      const [oldest] = this.#samples.keys();
      if (oldest !== undefined) this.#samples.delete(oldest);
    }
    return rate;
  }
}
