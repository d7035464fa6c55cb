/**
 * Texts of durations, as in `INTERVAL '…'`:
 *
 * - numbers with units: `1 day 2 hours`, `-1.5h`, `90 minutes ago`; weeks to microseconds;
 * - a time of day: `01:30`, `12:00:00.25`, alone or after units;
 * - ISO 8601: `P1DT2H30M`, `PT0.5S`, `P2W`;
 * - seconds alone: `90`, and the text of a TimeDuration: `+1.500000`.
 *
 * Months and years have no fixed length, so a TimeDuration cannot hold them.
 */
import { invalid, type SqlFailure } from '../failure.ts';

/** Returns microseconds or throws `SqlFailure`. A fraction finer than a microsecond is cut off. */
export function intervalFromText(text: string): bigint {
  const micros = parse(text);
  if (BigInt.asIntN(64, micros) !== micros) {
    throw invalid(`The interval '${shown(text)}' does not fit TimeDuration`);
  }
  return micros;
}

function parse(text: string): bigint {
  let rest = text.trim();
  if (rest.length > textLengthMax) throw notAnInterval(text);
  if (/^[+-]?P/i.test(rest)) return parseIso(rest, text);
  if (/^[+-]?(\d+\.?\d*|\.\d+)$/.test(rest)) return scaled(rest, microsOf.second, text);
  const isAgo = /\sago$/i.test(rest);
  if (isAgo) rest = rest.slice(0, -'ago'.length).trimEnd();
  if (rest === '') throw notAnInterval(text);
  let total = 0n;
  while (rest !== '') {
    const clock = clockPattern.exec(rest);
    const part = clock ?? partPattern.exec(rest);
    if (part === null) throw notAnInterval(text);
    if (clock !== null) total += clockMicros(clock, text);
    else total += scaled(part[1] ?? '', unitMicros(part[2] ?? '', text), text);
    rest = rest.slice(part[0].length);
  }
  return isAgo ? -total : total;
}

/** Long enough for every unit with every digit. */
const textLengthMax = 400;

const partPattern =
  /^([+-]?\s*(?:\d+\.?\d*|\.\d+))\s*([a-zµ]+)(?![a-zµ])(?:\s*,\s*|\s+|(?=[\d+-]|$))/i;
const clockPattern = /^([+-]?)(\d+):(\d{2})(?::(\d{2}(?:\.\d*)?))?(?:\s+|$)/;

const microsOf = {
  week: 604_800_000_000n,
  day: 86_400_000_000n,
  hour: 3_600_000_000n,
  minute: 60_000_000n,
  second: 1_000_000n,
  millisecond: 1_000n,
  microsecond: 1n,
} as const;

const units: ReadonlyMap<string, bigint> = new Map([
  ...names(microsOf.week, 'w', 'week', 'weeks'),
  ...names(microsOf.day, 'd', 'day', 'days'),
  ...names(microsOf.hour, 'h', 'hr', 'hrs', 'hour', 'hours'),
  ...names(microsOf.minute, 'm', 'min', 'mins', 'minute', 'minutes'),
  ...names(microsOf.second, 's', 'sec', 'secs', 'second', 'seconds'),
  ...names(microsOf.millisecond, 'ms', 'msec', 'msecs', 'millisecond', 'milliseconds'),
  ...names(microsOf.microsecond, 'us', 'µs', 'usec', 'usecs', 'microsecond', 'microseconds'),
]);

/** Any unit that begins with one of these is longer than a TimeDuration can hold. */
const monthsAndYears = /^(y|yr|yrs|years?|mon|mons|months?|quarters?|decades?|centur(y|ies))$/i;

function names(micros: bigint, ...all: readonly string[]): [string, bigint][] {
  return all.map((name) => [name, micros]);
}

function unitMicros(name: string, text: string): bigint {
  const micros = units.get(name.toLowerCase());
  if (micros !== undefined) return micros;
  if (monthsAndYears.test(name)) throw noMonths(text);
  throw invalid(
    `'${name}' in the interval '${shown(text)}' is not a unit; ` +
      'write weeks, days, hours, minutes, seconds, milliseconds or microseconds',
  );
}

function clockMicros(match: RegExpExecArray, text: string): bigint {
  const [, sign = '', hours = '', minutes = '', seconds = '0'] = match;
  if (Number(minutes) > 59 || Number(seconds) >= 60) throw notAnInterval(text);
  const magnitude =
    BigInt(hours) * microsOf.hour +
    BigInt(minutes) * microsOf.minute +
    scaled(seconds, microsOf.second, text);
  return sign === '-' ? -magnitude : magnitude;
}

const isoDays = ['Y', 'M', 'W', 'D'].map(isoPart).join('');
const isoTime = ['H', 'M', 'S'].map(isoPart).join('');
const isoPattern = new RegExp(`^([+-]?)P${isoDays}(?:T${isoTime})?$`, 'i');

function isoPart(unit: string): string {
  return `(?:([+-]?[\\d.]+)${unit})?`;
}

function parseIso(trimmed: string, text: string): bigint {
  const match = isoPattern.exec(trimmed);
  if (match === null || /[PT]$/i.test(trimmed)) throw notAnInterval(text);
  const [, sign, years, months, weeks, days, hours, minutes, seconds] = match;
  if (years !== undefined || months !== undefined) throw noMonths(text);
  const magnitude =
    scaled(weeks ?? '0', microsOf.week, text) +
    scaled(days ?? '0', microsOf.day, text) +
    scaled(hours ?? '0', microsOf.hour, text) +
    scaled(minutes ?? '0', microsOf.minute, text) +
    scaled(seconds ?? '0', microsOf.second, text);
  return sign === '-' ? -magnitude : magnitude;
}

/** A decimal number of units. */
function scaled(number: string, unit: bigint, text: string): bigint {
  const match = /^([+-]?)\s*(\d*)(?:\.(\d*))?$/.exec(number);
  if (match === null) throw notAnInterval(text);
  const [, sign, whole = '', fraction = ''] = match;
  if (whole === '' && fraction === '') throw notAnInterval(text);
  const ofFraction = (BigInt(fraction || '0') * unit) / 10n ** BigInt(fraction.length);
  const magnitude = BigInt(whole || '0') * unit + ofFraction;
  return sign === '-' ? -magnitude : magnitude;
}

function notAnInterval(text: string): SqlFailure {
  return invalid(
    `'${shown(text)}' is not an interval; write for example '1 day 2 hours', '01:30:00' or 'PT90S'`,
  );
}

function noMonths(text: string): SqlFailure {
  return invalid(
    `The interval '${shown(text)}' has no fixed length: months and years differ; ` +
      'write weeks, days, hours, minutes or seconds',
  );
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
