import type { Clock } from '../database/clock.ts';

/**
 * The machine's clock. The system gives whole milliseconds; microseconds within one are counted by
 * the monotonic clock from the moment the millisecond was first seen, so that readings in one
 * process distinguish calls without drifting from the system's time.
 */
export class MachineClock implements Clock {
  #millis = 0;
  #seenAt = 0;

  nowMicros(): bigint {
    const millis = Date.now();
    const now = performance.now();
    if (millis !== this.#millis) {
      this.#millis = millis;
      this.#seenAt = now;
    }
    const within = Math.min(999, Math.floor((now - this.#seenAt) * 1000));
    return BigInt(millis * 1000 + within);
  }

  monotonicMillis(): number {
    return performance.now();
  }
}
