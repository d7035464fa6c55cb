/** `to_char`: a moment by a pattern, as in PostgreSQL. */
import { civilFromDays, daysFromCivil } from '../../values/timestamp.ts';
import { invalid } from '../failure.ts';
import { checkTextLength } from './text-length.ts';
import { shortened } from './value-text.ts';

const microsPerDay = 86_400_000_000n;

const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September'],
  ...['October', 'November', 'December'],
];
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** Local time in parts, and how far it is ahead of UTC. */
interface Parts {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  /** Days since 1970. */
  readonly days: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly micros: number;
  readonly offsetMinutes: number;
}

/** What a word of a pattern writes: a number with its digits, or a text with its width. */
type Field = (parts: Parts) => { readonly text: string; readonly width: number };

/**
 * `local` is the local time as if it were UTC. Throws `SqlFailure` for words of PostgreSQL that are
 * refused.
 */
export function momentByPattern(local: bigint, offset: bigint, pattern: string): string {
  const parts = partsOf(local, offset);
  const written = pattern.replace(words, (word, ...groups: readonly (string | undefined)[]) => {
    const [quoted, fill, name = '', ordinal = ''] = groups;
    if (quoted !== undefined) return quoted.replace(/\\(.)/gs, '$1');
    const field = fields.get(name);
    if (field === undefined) {
      throw invalid(`to_char has no '${shortened(word)}'; put other text in double quotes`);
    }
    const { text, width } = field(parts);
    const isNumber = /^\d+$/.test(text);
    const behind = isNumber ? ordinalOf(text, ordinal) : ordinal;
    if (fill !== undefined) return text + behind;
    return (isNumber ? text.padStart(width, '0') : text.padEnd(width, ' ')) + behind;
  });
  checkTextLength(written.length);
  return written;
}

/** `st`, `nd`, `rd` or `th` in the letters of the pattern. */
function ordinalOf(digits: string, written: string): string {
  if (written === '') return '';
  const isTeen = /1\d$/.test(digits);
  const ending = (isTeen ? undefined : endings[Number(digits.at(-1))]) ?? 'th';
  return written === 'TH' ? ending.toUpperCase() : ending;
}

const endings = ['th', 'st', 'nd', 'rd'];

function partsOf(local: bigint, offset: bigint): Parts {
  const rest = local % microsPerDay;
  const micros = rest < 0n ? rest + microsPerDay : rest;
  const days = Number((local - micros) / microsPerDay);
  const { year, month, day } = civilFromDays(days);
  return {
    ...{ year, month, day, days },
    weekday: (((days + 4) % 7) + 7) % 7,
    micros: Number(micros),
    offsetMinutes: Number(offset / 60_000_000n),
  };
}

const number = (width: number, value: (parts: Parts) => number): Field => {
  return (parts) => ({ text: String(value(parts)), width });
};
const name = (width: number, value: (parts: Parts) => string): Field => {
  return (parts) => ({ text: value(parts), width });
};

const hourOf = ({ micros }: Parts): number => Math.floor(micros / 3_600_000_000);
const shownYear = ({ year }: Parts): number => (year > 0 ? year : 1 - year);
const monthOf = ({ month }: Parts): string => months[month - 1] ?? '';
const weekdayOf = ({ weekday }: Parts): string => weekdays[weekday] ?? '';
const halfOf = (parts: Parts): string => (hourOf(parts) < 12 ? 'am' : 'pm');
const dayOfYear = ({ year, days }: Parts): number => days - daysFromCivil(year, 1, 1) + 1;
const thursdayOf = ({ days, weekday }: Parts): number => days - ((weekday + 6) % 7) + 3;
const isoYear = (parts: Parts): number => civilFromDays(thursdayOf(parts)).year;
const isoWeek = (parts: Parts): number => {
  const thursday = thursdayOf(parts);
  return Math.floor((thursday - daysFromCivil(civilFromDays(thursday).year, 1, 1)) / 7) + 1;
};

function offsetText({ offsetMinutes }: Parts): string {
  const minutes = Math.abs(offsetMinutes);
  const hours = String(Math.floor(minutes / 60)).padStart(2, '0');
  const rest = minutes % 60 === 0 ? '' : `:${String(minutes % 60).padStart(2, '0')}`;
  return `${offsetMinutes < 0 ? '-' : '+'}${hours}${rest}`;
}

const upperFields: readonly (readonly [string, Field])[] = [
  ['YYYY', number(4, shownYear)],
  ['YY', number(2, (parts) => shownYear(parts) % 100)],
  ['IYYY', number(4, isoYear)],
  ['Q', number(1, ({ month }) => Math.ceil(month / 3))],
  ['MONTH', name(9, (parts) => monthOf(parts).toUpperCase())],
  ['Month', name(9, monthOf)],
  ['month', name(9, (parts) => monthOf(parts).toLowerCase())],
  ['MON', name(3, (parts) => monthOf(parts).slice(0, 3).toUpperCase())],
  ['Mon', name(3, (parts) => monthOf(parts).slice(0, 3))],
  ['mon', name(3, (parts) => monthOf(parts).slice(0, 3).toLowerCase())],
  ['MM', number(2, ({ month }) => month)],
  ['IW', number(2, isoWeek)],
  ['WW', number(2, (parts) => Math.floor((dayOfYear(parts) - 1) / 7) + 1)],
  ['W', number(1, ({ day }) => Math.floor((day - 1) / 7) + 1)],
  ['DDD', number(3, dayOfYear)],
  ['DD', number(2, ({ day }) => day)],
  ['DAY', name(9, (parts) => weekdayOf(parts).toUpperCase())],
  ['Day', name(9, weekdayOf)],
  ['day', name(9, (parts) => weekdayOf(parts).toLowerCase())],
  ['DY', name(3, (parts) => weekdayOf(parts).slice(0, 3).toUpperCase())],
  ['Dy', name(3, (parts) => weekdayOf(parts).slice(0, 3))],
  ['dy', name(3, (parts) => weekdayOf(parts).slice(0, 3).toLowerCase())],
  ['ID', number(1, ({ weekday }) => (weekday === 0 ? 7 : weekday))],
  ['D', number(1, ({ weekday }) => weekday + 1)],
  ['HH24', number(2, hourOf)],
  ['HH12', number(2, (parts) => ((hourOf(parts) + 11) % 12) + 1)],
  ['HH', number(2, (parts) => ((hourOf(parts) + 11) % 12) + 1)],
  ['MI', number(2, ({ micros }) => Math.floor(micros / 60_000_000) % 60)],
  ['SS', number(2, ({ micros }) => Math.floor(micros / 1_000_000) % 60)],
  ['MS', number(3, ({ micros }) => Math.floor(micros / 1_000) % 1_000)],
  ['US', number(6, ({ micros }) => micros % 1_000_000)],
  ['AM', name(2, (parts) => halfOf(parts).toUpperCase())],
  ['PM', name(2, (parts) => halfOf(parts).toUpperCase())],
  ['am', name(2, halfOf)],
  ['pm', name(2, halfOf)],
  ['OF', name(3, offsetText)],
];

/** Words for numbers and `OF` may be in small letters, too. */
const fields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ...upperFields.map(([word, field]) => [word.toLowerCase(), field] as const),
  ...upperFields,
]);

/** Words of PostgreSQL that are refused: to copy them would be another answer. */
const refused = [
  ...['Y,YYY', 'YYY', 'Y', 'IYY', 'IY', 'I', 'CC', 'J', 'RM', 'SSSSS', 'SSSS', 'FF1', 'FF2', 'FF3'],
  ...['FF4', 'FF5', 'FF6', 'IDDD', 'TZH', 'TZM', 'TZ', 'A.M.', 'P.M.', 'A.D.', 'B.C.', 'AD', 'BC'],
].flatMap((word) => [word, word.toLowerCase()]);

const escaped = (word: string): string => word.replaceAll('.', '\\.');

/** Longest first. */
const words = new RegExp(
  `"((?:[^"\\\\]|\\\\.)*)"|(FM)?(${[...fields.keys(), ...refused]
    .sort((a, b) => b.length - a.length)
    .map(escaped)
    .join('|')})(th|TH)?`,
  'g',
);
