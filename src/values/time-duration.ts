import { integerFrom } from './integer-input.ts';

/**
 * A span of time in microseconds, of either sign.
 *
 * @example
 * ```ts
 * const pause = TimeDuration.fromMillis(1500);
 * pause.micros; // 1500000n
 * pause.toString(); // '+1.500000'
 * ```
 */
export class TimeDuration {
  readonly __time_duration_micros__: bigint;

  /** From microseconds: an integer, or a text of its digits. */
  constructor(micros: bigint | number | string) {
    this.__time_duration_micros__ = integerFrom(micros, 'a time duration', -64);
  }

  /** From milliseconds; a fraction finer than a microsecond is rounded away. */
  static fromMillis(millis: number): TimeDuration {
    if (!Number.isFinite(millis)) throw new RangeError('milliseconds must be a finite number');
    return new TimeDuration(BigInt(Math.round(millis * 1000)));
  }

  get micros(): bigint {
    return this.__time_duration_micros__;
  }

  get millis(): number {
    return Number(this.__time_duration_micros__) / 1000;
  }

  isEqual(other: TimeDuration): boolean {
    return this.__time_duration_micros__ === other.__time_duration_micros__;
  }

  equals(other: TimeDuration): boolean {
    return this.isEqual(other);
  }

  /** Sign, seconds, dot, six digits: `+1.500000`. */
  toString(): string {
    return timeDurationToText(this.__time_duration_micros__);
  }
}

/** Sign, seconds, dot, six digits: `+1.500000`, `-0.000250`. */
export function timeDurationToText(micros: bigint): string {
  const magnitude = micros < 0n ? -micros : micros;
  const fraction = String(magnitude % 1_000_000n).padStart(6, '0');
  return `${micros < 0n ? '-' : '+'}${magnitude / 1_000_000n}.${fraction}`;
}
