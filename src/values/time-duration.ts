// Constructors run for every row read, so they must not look up globals.
const { asIntN } = BigInt;

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

  constructor(micros: bigint) {
    if (typeof micros !== 'bigint' || asIntN(64, micros) !== micros) {
      throw new RangeError('a time duration is a bigint of microseconds in 64 bits');
    }
    this.__time_duration_micros__ = micros;
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

/** Hours, minutes and seconds, as few as are exact: `1h30m`, `1.5s`, `-250us`, `0s`. */
export function timeDurationToShortText(micros: bigint): string {
  if (micros < 0n) return `-${timeDurationToShortText(-micros)}`;
  if (micros > 0n && micros < 1_000n) return `${micros}us`;
  if (micros > 0n && micros < 1_000_000n) return `${withFraction(micros, 3)}ms`;
  const minutes = micros / 60_000_000n;
  const hours = minutes / 60n;
  const ofMinute = micros % 60_000_000n;
  const text =
    (hours === 0n ? '' : `${hours}h`) + (minutes % 60n === 0n ? '' : `${minutes % 60n}m`);
  return ofMinute === 0n && text !== '' ? text : `${text}${withFraction(ofMinute, 6)}s`;
}

/** `value` with the last `digits` of its digits behind a dot, without zeros at the end. */
function withFraction(value: bigint, digits: number): string {
  const text = String(value).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '');
}
