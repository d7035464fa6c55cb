/**
 * Local times of IANA zones, by the calendar data of the runtime (`Intl`).
 *
 * Asking `Intl` takes microseconds, so the offset of a quarter of an hour is kept where it is the
 * same from its beginning to its end. What a zone is called is checked once.
 */
import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { daysFromCivil } from '../../values/timestamp.ts';
import { invalid } from '../failure.ts';
import { shortened } from './value-text.ts';

const microsPerSecond = 1_000_000n;
const secondsPerDay = 86_400;
const bucketSeconds = 900;

interface Zone {
  readonly format: Intl.DateTimeFormat;
  /** Seconds that local time is ahead, by the number of the quarter of an hour. */
  readonly offsets: Map<number, number>;
}

const zones = new Map<string, Zone>();

/** Microseconds that the local time of a zone is ahead of UTC at a moment. Throws `SqlFailure`. */
export function offsetMicros(zone: string, micros: bigint): bigint {
  return BigInt(offsetAt(zoneNamed(zone), Number(floorSeconds(micros)))) * microsPerSecond;
}

/**
 * The moment of a local time, which is given as if it were UTC. Of two moments, and for a local
 * time that is left out, it is the later one: that of standard time, as in PostgreSQL.
 */
export function momentOfLocal(zone: string, local: bigint): bigint {
  const known = zoneNamed(zone);
  const seconds = Number(floorSeconds(local));
  const before = offsetAt(known, seconds - secondsPerDay);
  const after = offsetAt(known, seconds + secondsPerDay);
  const candidates = [before, after];
  const valid = candidates.filter((offset) => offsetAt(known, seconds - offset) === offset);
  const offset = Math.min(...(valid.length === 1 ? valid : candidates));
  return local - BigInt(offset) * microsPerSecond;
}

function floorSeconds(micros: bigint): bigint {
  const rest = micros % microsPerSecond;
  return (micros - rest) / microsPerSecond - (rest < 0n ? 1n : 0n);
}

function zoneNamed(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const made = { format: formatOf(name), offsets: new Map<number, number>() };
  if (zones.size >= limits.sqlTimeZonesMax) zones.clear();
  zones.set(name, made);
  return made;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const digits = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric' } as const;
  try {
    return new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', {
      timeZone,
      hourCycle: 'h23',
      era: 'short',
      ...digits,
      ...clock,
    });
  } catch {
    throw invalid(`'${shortened(timeZone)}' is not a time zone; write one as 'Europe/Berlin'`);
  }
}

function offsetAt(zone: Zone, seconds: number): number {
  const bucket = Math.floor(seconds / bucketSeconds);
  const known = zone.offsets.get(bucket);
  if (known !== undefined) return known;
  const offset = computedOffset(zone, seconds);
  const start = bucket * bucketSeconds;
  const isWhole = [start, start + bucketSeconds - 1].every((at) => {
    return at === seconds || computedOffset(zone, at) === offset;
  });
  if (!isWhole) return offset;
  if (zone.offsets.size >= limits.sqlZoneOffsetsMax) zone.offsets.clear();
  zone.offsets.set(bucket, offset);
  return offset;
}

/** Beyond what a Date holds, a zone has the offset that it has there. */
const dateSecondsMax = 8_640_000_000_000;

function computedOffset({ format }: Zone, wanted: number): number {
  const seconds = Math.max(-dateSecondsMax, Math.min(dateSecondsMax, wanted));
  const fields = new Map<string, string>();
  for (const { type, value } of format.formatToParts(seconds * 1_000)) fields.set(type, value);
  const number = (name: string): number => {
    const value = Number(fields.get(name));
    assert(Number.isInteger(value), 'a part of a date is a number');
    return value;
  };
  const year = fields.get('era')?.startsWith('B') ? 1 - number('year') : number('year');
  const days = daysFromCivil(year, number('month'), number('day'));
  const ofDay = (number('hour') * 60 + number('minute')) * 60 + number('second');
  return days * secondsPerDay + ofDay - seconds;
}
