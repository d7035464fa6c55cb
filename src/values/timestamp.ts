import { integerFrom } from './integer-input.ts';
import { TimeDuration } from './time-duration.ts';

/**
 * An instant: microseconds since 1970-01-01T00:00:00Z, negative before.
 *
 * @example
 * ```ts
 * const at = Timestamp.fromDate(new Date('2025-02-17T10:30:45.123Z'));
 * at.toISOString(); // '2025-02-17T10:30:45.123000Z'
 * at.since(Timestamp.UNIX_EPOCH).micros; // 1739788245123000n
 * ```
 */
export class Timestamp {
  static readonly UNIX_EPOCH: Timestamp = new Timestamp(0n);

  readonly __timestamp_micros_since_unix_epoch__: bigint;

  /** From microseconds: an integer, or a text of its digits. */
  constructor(micros: bigint | number | string) {
    this.__timestamp_micros_since_unix_epoch__ = integerFrom(micros, 'a timestamp', -64);
  }

  /**
   * The time by the clock of this process. Modules use the `timestamp` of their context instead.
   */
  static now(): Timestamp {
    return new Timestamp(BigInt(Date.now()) * 1000n);
  }

  static fromDate(date: Date): Timestamp {
    const millis = date.getTime();
    if (Number.isNaN(millis)) throw new RangeError('the date is invalid');
    return new Timestamp(BigInt(millis) * 1000n);
  }

  get microsSinceUnixEpoch(): bigint {
    return this.__timestamp_micros_since_unix_epoch__;
  }

  /** Milliseconds since 1970, rounded down. */
  toMillis(): bigint {
    return floorDivide(this.__timestamp_micros_since_unix_epoch__, 1000n);
  }

  /**
   * The same instant, rounded down to milliseconds. Throws `RangeError` outside the range of
   * `Date`.
   */
  toDate(): Date {
    const date = new Date(Number(this.toMillis()));
    if (Number.isNaN(date.getTime())) throw new RangeError('the timestamp is beyond a Date');
    return date;
  }

  /** `2025-02-17T10:30:45.123456Z`, always with six digits of fraction. */
  toISOString(): string {
    const { date, time, micros } = timestampParts(this.__timestamp_micros_since_unix_epoch__);
    return `${date}T${time}.${String(micros).padStart(6, '0')}Z`;
  }

  /** The time from `other` to this instant, negative if `other` is later. */
  since(other: Timestamp): TimeDuration {
    return new TimeDuration(
      this.__timestamp_micros_since_unix_epoch__ - other.__timestamp_micros_since_unix_epoch__,
    );
  }

  isEqual(other: Timestamp): boolean {
    return (
      this.__timestamp_micros_since_unix_epoch__ === other.__timestamp_micros_since_unix_epoch__
    );
  }

  equals(other: Timestamp): boolean {
    return this.isEqual(other);
  }

  toString(): string {
    return this.toISOString();
  }
}

/**
 * RFC 3339 in UTC: `2025-02-17T10:30:45.123456+00:00`. The fraction has 0, 3 or 6 digits, as few as
 * are exact.
 */
export function timestampToText(micros: bigint): string {
  const { date, time, micros: fraction } = timestampParts(micros);
  const digits = String(fraction).padStart(6, '0');
  const shown =
    fraction === 0 ? '' : fraction % 1000 === 0 ? `.${digits.slice(0, 3)}` : `.${digits}`;
  return `${date}T${time}${shown}+00:00`;
}

/**
 * RFC 3339 in UTC with the digits that are needed: `2025-02-17T10:30:45.5Z`. Years that it cannot
 * write, those before 0 and after 9999, are microseconds since 1970.
 */
export function timestampToShortText(micros: bigint): string {
  if (!hasShortYear(micros)) return String(micros);
  return new Timestamp(micros).toISOString().replace(/\.?0*Z$/, 'Z');
}

/** True for the times that RFC 3339 can write: those of the years 0 to 9999. */
export function hasShortYear(micros: bigint): boolean {
  return micros >= -62_167_219_200_000_000n && micros <= 253_402_300_799_999_999n;
}

/**
 * Microseconds since 1970 of an RFC 3339 text such as `2025-02-17T10:30:45.5Z`, or `undefined` if
 * the text is not one. Digits of the fraction beyond the sixth are dropped. A blank can replace the
 * `T`.
 */
export function timestampFromText(text: string): bigint | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as Six;
  const [, , , , , , , fraction = '', sign, zoneHour = '0', zoneMinute = '0'] = match;
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month);
  const isZone = Number(zoneHour) <= 23 && Number(zoneMinute) <= 59;
  if (!isDate || hour > 23 || minute > 59 || second > 59 || !isZone) return undefined;
  const zoneMinutes = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === '-' ? -1 : 1);
  const seconds =
    daysFromCivil(year, month, day) * secondsPerDay +
    hour * 3600 +
    (minute - zoneMinutes) * 60 +
    second;
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

type Six = [number, number, number, number, number, number];

const rfc3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

const secondsPerDay = 86_400;

/** 400 years of the calendar, after which it repeats. */
const eraMicros = 12_622_780_800_000_000n;

/**
 * UTC calendar date, time of day and the microseconds of the second. A `Date` spans 273,000 years
 * to either side and a timestamp 292,000, so it is used for the same day of the era from 1970 on.
 */
function timestampParts(micros: bigint): { date: string; time: string; micros: number } {
  const era = floorDivide(micros, eraMicros);
  const ofEra = micros - era * eraMicros;
  const day = new Date(Number(ofEra / 1000n));
  const text = day.toISOString();
  return {
    date: yearText(day.getUTCFullYear() + 400 * Number(era)) + text.slice(4, 10),
    time: text.slice(11, 19),
    micros: Number(ofEra % 1_000_000n),
  };
}

/** Years beyond four digits carry a sign, as in ISO 8601. */
function yearText(year: number): string {
  const digits = String(Math.abs(year)).padStart(4, '0');
  return year < 0 ? `-${digits}` : year > 9999 ? `+${digits}` : digits;
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

const daysPerEra = 146_097;
const daysToMarchOfYearZero = 719_468;

/**
 * Gregorian date of a day counted from 1970-01-01. Here years begin in March, so that the leap day
 * is the last of its year, and 400 years make an era of constant length.
 */
export function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + daysToMarchOfYearZero;
  const era = Math.floor(shifted / daysPerEra);
  const ofEra = shifted - era * daysPerEra;
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) /
      365,
  );
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  const ofYear = ofEra - (365 * yearOfEra + leapDays);
  const marchMonth = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** Days from 1970-01-01 to a date of the Gregorian calendar; the inverse of `civilFromDays`. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const marchMonth = month > 2 ? month - 3 : month + 9;
  const ofYear = Math.floor((153 * marchMonth + 2) / 5) + day - 1;
  const ofEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + ofYear;
  return era * daysPerEra + ofEra - daysToMarchOfYearZero;
}

/** 28 to 31. */
export function daysOfMonth(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month === 2) return isLeap ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
