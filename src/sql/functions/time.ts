/** Functions over moments and durations. The calendar is the Gregorian one, in UTC. */
import { timeDurationType, timestampType } from '../../values/special-types.ts';
import { civilFromDays, daysFromCivil, daysOfMonth } from '../../values/timestamp.ts';
import { invalid, type SqlFailure } from '../failure.ts';
import { alias, family } from './family.ts';
import type { FunctionFamily, QueryValue } from './function.ts';
import { momentByPattern } from './time-format.ts';
import { momentOfLocal, offsetMicros } from './time-zone.ts';
import { scalarTypes } from './value-kind.ts';
import { shortened } from './value-text.ts';

const { string, f64, i64 } = scalarTypes;

const microsPerSecond = 1_000_000n;
const microsPerMinute = 60n * microsPerSecond;
const microsPerHour = 60n * microsPerMinute;
const microsPerDay = 24n * microsPerHour;

const now = family(
  'now',
  ['now() → Timestamp'],
  [{ parameters: [], result: timestampType, evaluate: (_values, nowMicros) => nowMicros }],
);

/** Units by their names, singular and plural. */
const unitNames: ReadonlyMap<string, string> = new Map(
  [
    ...['microsecond', 'millisecond', 'second', 'minute', 'hour', 'day', 'week', 'month'],
    ...['quarter', 'year', 'decade'],
  ].flatMap((unit) => [
    [unit, unit],
    [`${unit}s`, unit],
  ]),
);

const otherFields: ReadonlyMap<string, string> = new Map([
  ['century', 'century'],
  ['centuries', 'century'],
  ['millennium', 'millennium'],
  ['millennia', 'millennium'],
]);

const unitsHint =
  'The units are microsecond, millisecond, second, minute, hour, day, week, month, quarter, ' +
  'year, decade, century and millennium; date_part also has epoch, dow, isodow, doy and isoyear';

const extractOnly: ReadonlyMap<string, string> = new Map(
  ['epoch', 'dow', 'isodow', 'doy', 'isoyear'].map((field) => [field, field]),
);

function unitOf(text: string): string {
  const name = text.trim().toLowerCase();
  const unit = unitNames.get(name) ?? otherFields.get(name);
  if (unit !== undefined) return unit;
  throw invalid(`'${shortened(text)}' is not a unit of time`, { hint: unitsHint });
}

function fieldOf(text: string): string {
  const field = extractOnly.get(text.trim().toLowerCase());
  return field ?? unitOf(text);
}

const dateTrunc = family(
  'date_trunc',
  [
    'date_trunc(unit String, time Timestamp [, zone String]) → Timestamp',
    'date_trunc(unit String, duration TimeDuration) → TimeDuration',
  ],
  [
    {
      parameters: [string, timestampType],
      result: timestampType,
      canRaise: true,
      evaluate: ([unit, micros]) =>
        checkedMicros(truncateTime(unitOf(unit as string), micros as bigint)),
    },
    {
      parameters: [string, timestampType, string],
      result: timestampType,
      canRaise: true,
      evaluate: ([unit, micros, zone]) =>
        checkedMicros(truncateLocal(unitOf(unit as string), micros as bigint, zone as string)),
    },
    {
      parameters: [string, timeDurationType],
      result: timeDurationType,
      canRaise: true,
      evaluate: ([unit, micros]) => {
        const size = fixedUnit(unitOf(unit as string));
        if (size === undefined) throw noFixedLength(unit);
        return (micros as bigint) - ((micros as bigint) % size);
      },
    },
  ],
);

function noFixedLength(unit: QueryValue | undefined): SqlFailure {
  return invalid(`A TimeDuration has no '${shortened(String(unit))}': that has no fixed length`);
}

/** Microseconds of the units that always have the same length. */
function fixedUnit(unit: string): bigint | undefined {
  switch (unit) {
    case 'microsecond':
      return 1n;
    case 'millisecond':
      return 1_000n;
    case 'second':
      return microsPerSecond;
    case 'minute':
      return microsPerMinute;
    case 'hour':
      return microsPerHour;
    case 'day':
      return microsPerDay;
    case 'week':
      return 7n * microsPerDay;
    default:
      return undefined;
  }
}

function truncateTime(unit: string, micros: bigint): bigint {
  const size = unit === 'week' ? undefined : fixedUnit(unit);
  if (size !== undefined) return floorTo(micros, size);
  const day = dayOf(micros);
  if (unit === 'week') return BigInt(day - weekdayOf(day)) * microsPerDay;
  const { year, month } = civilFromDays(day);
  switch (unit) {
    case 'month':
      return startOf(year, month);
    case 'quarter':
      return startOf(year, month - ((month - 1) % 3));
    case 'year':
      return startOf(year, 1);
    case 'decade':
      return startOf(Math.floor(year / 10) * 10, 1);
    // Centuries and millennia begin with year 1 of their count.
    case 'century':
      return startOf(Math.floor((year - 1) / 100) * 100 + 1, 1);
    default:
      return startOf(Math.floor((year - 1) / 1000) * 1000 + 1, 1);
  }
}

/** Of units up to an hour, local time keeps its offset; a day begins by the offset that it has. */
function truncateLocal(unit: string, micros: bigint, zone: string): bigint {
  const offset = offsetMicros(zone, micros);
  const local = truncateTime(unit, micros + offset);
  const size = fixedUnit(unit);
  const isOfClock = size !== undefined && size <= microsPerHour;
  return isOfClock ? local - offset : momentOfLocal(zone, local);
}

const toChar = family(
  'to_char',
  ['to_char(time Timestamp, pattern String [, zone String]) → String'],
  [
    {
      parameters: [timestampType, string, string],
      optionalCount: 1,
      result: string,
      canRaise: true,
      evaluate: ([micros, pattern, zone]) => {
        const offset = zone === undefined ? 0n : offsetMicros(zone as string, micros as bigint);
        return momentByPattern((micros as bigint) + offset, offset, pattern as string);
      },
    },
  ],
);

function startOf(year: number, month: number): bigint {
  return BigInt(daysFromCivil(year, month, 1)) * microsPerDay;
}

function floorTo(value: bigint, size: bigint): bigint {
  const rest = value % size;
  return rest < 0n ? value - rest - size : value - rest;
}

/** Days since 1970-01-01. */
function dayOf(micros: bigint): number {
  return Number(floorTo(micros, microsPerDay) / microsPerDay);
}

/** 0 is Monday. The first day of 1970 was a Thursday. */
function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

const datePart = family(
  'date_part',
  [
    'date_part(field String, time Timestamp [, zone String]) → F64',
    'date_part(field String, duration TimeDuration) → F64',
  ],
  [
    {
      parameters: [string, timestampType],
      result: f64,
      canRaise: true,
      evaluate: ([field, micros]) => partOfTime(fieldOf(field as string), micros as bigint),
    },
    {
      parameters: [string, timestampType, string],
      result: f64,
      canRaise: true,
      evaluate: ([field, micros, zone]) => {
        const name = fieldOf(field as string);
        const offset = offsetMicros(zone as string, micros as bigint);
        return partOfTime(name, (micros as bigint) + (name === 'epoch' ? 0n : offset));
      },
    },
    {
      parameters: [string, timeDurationType],
      result: f64,
      canRaise: true,
      evaluate: ([field, micros]) => {
        const part = partOfDuration(fieldOf(field as string), micros as bigint);
        if (part === undefined) throw noFixedLength(field);
        return part;
      },
    },
  ],
);

function partOfTime(field: string, micros: bigint): number {
  if (field === 'epoch') return secondsOf(micros);
  const ofDay = micros - floorTo(micros, microsPerDay);
  const clock = partOfClock(field, ofDay);
  return clock ?? partOfDate(field, dayOf(micros));
}

/** Splits off the days as one number, then the rest of the day. */
function partOfDuration(field: string, micros: bigint): number | undefined {
  switch (field) {
    case 'epoch':
      return secondsOf(micros);
    case 'week':
      return Number(micros / (7n * microsPerDay));
    case 'day':
      return Number(micros / microsPerDay);
    default:
      return partOfClock(field, micros % microsPerDay);
  }
}

/** As exact as a float can be: dividing first would round twice. */
function secondsOf(micros: bigint): number {
  return Number(micros) / 1e6;
}

function partOfClock(field: string, ofDay: bigint): number | undefined {
  switch (field) {
    case 'hour':
      return Number(ofDay / microsPerHour);
    case 'minute':
      return Number((ofDay / microsPerMinute) % 60n);
    case 'second':
      return Number(ofDay % microsPerMinute) / 1e6;
    case 'millisecond':
      return Number(ofDay % microsPerMinute) / 1e3;
    case 'microsecond':
      return Number(ofDay % microsPerMinute);
    default:
      return undefined;
  }
}

function partOfDate(field: string, day: number): number {
  const { year, month, day: dayOfMonth } = civilFromDays(day);
  switch (field) {
    case 'day':
      return dayOfMonth;
    case 'month':
      return month;
    case 'quarter':
      return Math.ceil(month / 3);
    case 'year':
      return year;
    case 'decade':
      return Math.floor(year / 10);
    case 'century':
      return Math.floor((year - 1) / 100) + 1;
    case 'millennium':
      return Math.floor((year - 1) / 1000) + 1;
    case 'dow':
      return (weekdayOf(day) + 1) % 7;
    case 'isodow':
      return weekdayOf(day) + 1;
    case 'doy':
      return day - daysFromCivil(year, 1, 1) + 1;
    case 'isoyear':
      return isoYearOf(day);
    default:
      return isoWeekOf(day);
  }
}

/** A week belongs to the year that contains its Thursday. */
function isoYearOf(day: number): number {
  return civilFromDays(thursdayOf(day)).year;
}

function isoWeekOf(day: number): number {
  const thursday = thursdayOf(day);
  const firstDay = daysFromCivil(civilFromDays(thursday).year, 1, 1);
  return Math.floor((thursday - firstDay) / 7) + 1;
}

function thursdayOf(day: number): number {
  return day - weekdayOf(day) + 3;
}

const toTimestamp = family(
  'to_timestamp',
  ['to_timestamp(secondsSince1970 F64) → Timestamp'],
  [
    {
      parameters: [f64],
      result: timestampType,
      canRaise: true,
      evaluate: ([seconds]) => {
        const micros = Math.round((seconds as number) * 1e6);
        if (!Number.isFinite(micros)) throw noTimestamp(`${seconds} seconds`);
        return checkedMicros(BigInt(micros));
      },
    },
  ],
);

const makeTimestamp = family(
  'make_timestamp',
  ['make_timestamp(year I64, month I64, day I64, hour I64, minute I64, second F64) → Timestamp'],
  [
    {
      parameters: [i64, i64, i64, i64, i64, f64],
      result: timestampType,
      canRaise: true,
      evaluate: (values) => {
        const [year, month, day, hour, minute, second] = values.map(Number) as Six;
        const isDate =
          Math.abs(year) < 300_000 &&
          month >= 1 &&
          month <= 12 &&
          day >= 1 &&
          day <= daysOfMonth(year, month);
        const isTime = hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59;
        if (!isDate || !isTime || !(second >= 0 && second < 60)) {
          throw invalid(
            `make_timestamp(${values.join(', ')}): there is no such date or time of day`,
          );
        }
        const ofDay =
          BigInt(Math.floor(second * 1e6 + 0.5)) + BigInt(hour * 60 + minute) * microsPerMinute;
        return checkedMicros(BigInt(daysFromCivil(year, month, day)) * microsPerDay + ofDay);
      },
    },
  ],
);

type Six = [number, number, number, number, number, number];

const epochMicros = family(
  'epoch_micros',
  ['epoch_micros(time Timestamp) → I64'],
  [
    {
      parameters: [timestampType],
      result: i64,
      evaluate: ([micros]) => micros as bigint,
    },
  ],
);

const timestampMicros = family(
  'timestamp_micros',
  ['timestamp_micros(microsSince1970 I64) → Timestamp'],
  [
    {
      parameters: [i64],
      result: timestampType,
      evaluate: ([micros]) => micros as bigint,
    },
  ],
);

function checkedMicros(micros: bigint): bigint {
  if (BigInt.asIntN(64, micros) !== micros) throw noTimestamp(`${micros} microseconds`);
  return micros;
}

function noTimestamp(amount: string): SqlFailure {
  return invalid(`Time overflow: ${amount} since 1970 does not fit Timestamp`);
}

export const timeFunctions: readonly FunctionFamily[] = [
  now,
  alias('current_timestamp', now),
  dateTrunc,
  toChar,
  datePart,
  alias('extract', datePart),
  toTimestamp,
  makeTimestamp,
  epochMicros,
  timestampMicros,
];
