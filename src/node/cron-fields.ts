import type { CronFault } from '../database/cron.ts';

/**
 * The six fields of an expression, seconds first. Those of the time of day are `*` or lists of
 * numbers.
 */
export type CronFields = readonly [
  second: string,
  minute: string,
  hour: string,
  day: string,
  month: string,
  weekday: string,
];

/**
 * Reads an expression of five fields, of six with seconds first, or a name such as `@daily`. Times
 * of day are written out, because a step or a range means the times that it stands for: a range of
 * minutes at a fixed hour is so many times a day.
 */
export function cronFieldsOf(expression: string): CronFields | CronFault {
  const words = [...expression.matchAll(/\S+/g)].map(({ 0: text, index }) => ({ text, index }));
  const [first] = words;
  if (first?.text.startsWith('@')) return words.length > 1 ? tooMany(words[1]) : named(first);
  if (words.length > 6) return tooMany(words[6]);
  if (words.length < 5) {
    const message = `${fieldCount}, but this one has ${words.length}`;
    return { message, character: expression.trimEnd().length + 1 };
  }
  const rules = words.length === 6 ? fieldRules : fieldRules.slice(1);
  const fields = words.length === 6 ? [] : ['0'];
  for (const [at, word] of words.entries()) {
    const rule = rules[at] as FieldRule;
    const field = readField(word, rule, fieldRules.indexOf(rule) < timeFields);
    if (typeof field !== 'string') return field;
    fields.push(field);
  }
  return fields as unknown as CronFields;
}

const fieldCount = 'an expression has 5 fields, or 6 with seconds first';

/** A piece of an expression, and where in it the piece begins. */
interface Piece {
  readonly text: string;
  readonly index: number;
}

interface FieldRule {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** What its numbers are called, from `min` on. */
  readonly names?: readonly string[];
  /** What an item can be besides: a day that only a calendar can tell. */
  readonly days?: RegExp;
}

const fieldRules: readonly FieldRule[] = [
  { name: 'second', min: 0, max: 59 },
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31, days: /^(?:l|lw|(?:[1-9]|[12]\d|3[01])w)$/i },
  {
    name: 'month',
    min: 1,
    max: 12,
    names: 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' '),
  },
  {
    name: 'day of the week',
    min: 0,
    max: 7,
    names: 'sun mon tue wed thu fri sat'.split(' '),
    days: /^(?:[0-7]|sun|mon|tue|wed|thu|fri|sat)(?:l|#[1-5l])$/i,
  },
];

const timeFields = 3;

const nicknames: Readonly<Record<string, CronFields>> = {
  '@yearly': ['0', '0', '0', '1', '1', '*'],
  '@annually': ['0', '0', '0', '1', '1', '*'],
  '@monthly': ['0', '0', '0', '1', '*', '*'],
  '@weekly': ['0', '0', '0', '*', '*', '0'],
  '@daily': ['0', '0', '0', '*', '*', '*'],
  '@midnight': ['0', '0', '0', '*', '*', '*'],
  '@hourly': ['0', '0', '*', '*', '*', '*'],
};

function named({ text, index }: Piece): CronFields | CronFault {
  const fields = Object.hasOwn(nicknames, text.toLowerCase()) && nicknames[text.toLowerCase()];
  if (fields) return fields;
  const names = Object.keys(nicknames).join(', ');
  return { message: `\`${text}\` is none of ${names}`, character: index + 1 };
}

function tooMany(word: Piece | undefined): CronFault {
  return { message: `${fieldCount}, and nothing after them`, character: (word?.index ?? 0) + 1 };
}

/** A field as the library reads it. */
function readField({ text, index }: Piece, rule: FieldRule, isTime: boolean): string | CronFault {
  const numbers = new Set<number>();
  let offset = index;
  for (const item of text.split(',')) {
    const read = readItem({ text: item, index: offset }, rule);
    if (read !== undefined && 'message' in read) return read;
    for (const number of read ?? []) numbers.add(number);
    offset += item.length + 1;
  }
  if (!isTime) return text;
  // Every hour is no list of 24 times of day: hours pass also while clocks are changed.
  if (rule.name === 'hour' && numbers.size === 24) return '*';
  return [...numbers].sort((a, b) => a - b).join(',');
}

const itemPattern = /^(?:\*|(\d{1,9}|[a-z]{3})(?:-(\d{1,9}|[a-z]{3}))?)(?:\/(\d{1,9}))?$/i;

/** The numbers that an item stands for; `undefined` for those that only a calendar can tell. */
function readItem({ text, index }: Piece, rule: FieldRule): number[] | CronFault | undefined {
  const { name, min, max, names = [], days } = rule;
  const fault = (message: string, offset = 0): CronFault => {
    return { message, character: index + offset + 1 };
  };
  if (text === '') return fault(`a number is missing in the field \`${name}\``);
  if (days?.test(text)) return undefined;
  const [whole, from, to, step] = itemPattern.exec(text) ?? [];
  const numberOf = (word: string) => {
    const at = names.indexOf(word.toLowerCase());
    return at < 0 ? Number(word) : min + at;
  };
  const first = from === undefined ? min : numberOf(from);
  const last = to === undefined ? (from === undefined ? max : first) : numberOf(to);
  if (whole === undefined || Number.isNaN(first) || Number.isNaN(last)) {
    return fault(`\`${text}\` is not valid in the field \`${name}\``);
  }
  const isOutside = (number: number) => number < min || number > max;
  const bounds = `is not from ${min} to ${max}`;
  if (isOutside(first)) return fault(`${name} ${from} ${bounds}`);
  if (isOutside(last)) return fault(`${name} ${to} ${bounds}`, (from ?? '').length + 1);
  const by = Number(step ?? 1);
  if (by < 1 || by > max) {
    return fault(`step ${step} is not from 1 to ${max}`, text.length - (step ?? '').length);
  }
  if (first > last) return fault(`${name} ${from} is after ${to}`);
  if (step !== undefined && from !== undefined && to === undefined) {
    return fault(`a step needs a range, such as ${from}-${max}/${step}`);
  }
  const count = Math.floor((last - first) / by) + 1;
  return Array.from({ length: count }, (_, at) => first + at * by);
}
