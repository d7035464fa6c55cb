/** Functions over texts. Characters are Unicode code points, positions count from 1. */
import { bytesType } from '../../values/special-types.ts';
import { utf8Length } from '../../values/utf8.ts';
import { invalid } from '../failure.ts';
import {
  codePointIndex,
  codePointLength,
  codePointSlice,
  codePointsOf,
  mapCodePoints,
  reversedText,
  trimmedText,
} from './code-points.ts';
import { alias, type Evaluate, family } from './family.ts';
import type { FunctionFamily, QueryValue } from './function.ts';
import { checkTextLength, joinedText } from './text-length.ts';
import { findText, splitText } from './text-search.ts';
import { scalarTypes } from './value-kind.ts';

const { string, i64, bool } = scalarTypes;

/** A function from one text to another. */
function textToText(name: string, change: (text: string) => string): FunctionFamily {
  const evaluate: Evaluate = ([text]) => change(text as string);
  return family(
    name,
    [`${name}(text String) → String`],
    [{ parameters: [string], result: string, evaluate }],
  );
}

/** A predicate over two texts. */
function textTest(name: string, test: (text: string, part: string) => boolean): FunctionFamily {
  const evaluate: Evaluate = ([text, part]) => test(text as string, part as string);
  return family(
    name,
    [`${name}(text String, part String) → Bool`],
    [{ parameters: [string, string], result: bool, evaluate }],
  );
}

const length = family(
  'length',
  ['length(text String) → I64', 'length(bytes Array<U8>) → I64'],
  [
    {
      parameters: [string],
      result: i64,
      evaluate: ([text]) => BigInt(codePointLength(text as string)),
    },
    { parameters: [bytesType], result: i64, evaluate: ([bytes]) => byteCount(bytes) },
  ],
);

const characterLength = family(
  'char_length',
  ['char_length(text String) → I64'],
  [
    {
      parameters: [string],
      result: i64,
      evaluate: ([text]) => BigInt(codePointLength(text as string)),
    },
  ],
);

const octetLength = family(
  'octet_length',
  ['octet_length(text String) → I64', 'octet_length(bytes Array<U8>) → I64'],
  [
    { parameters: [string], result: i64, evaluate: ([text]) => BigInt(utf8Length(text as string)) },
    { parameters: [bytesType], result: i64, evaluate: ([bytes]) => byteCount(bytes) },
  ],
);

/** Byte arrays are held with their count in front. */
function byteCount(bytes: QueryValue | undefined): bigint {
  return BigInt((bytes as Uint8Array).length - 4);
}

const substring = family(
  'substring',
  ['substring(text String, start I64 [, count I64]) → String'],
  [
    {
      parameters: [string, i64, i64],
      optionalCount: 1,
      result: string,
      canRaise: true,
      evaluate: ([text, start, count]) => {
        const from = (start as bigint) - 1n;
        if (count === undefined) {
          return codePointSlice(text as string, position(from), Number.MAX_SAFE_INTEGER);
        }
        if ((count as bigint) < 0n) throw invalid('substring: the count must not be negative');
        // The count starts at `start` even where that lies before the text.
        const end = from + (count as bigint);
        return codePointSlice(text as string, position(from), position(end));
      },
    },
  ],
);

/** A position that any text can have; anything farther outside gives the same result. */
function position(value: bigint): number {
  if (value < 0n) return 0;
  return value > 0x7fff_ffffn ? 0x7fff_ffff : Number(value);
}

const left = family(
  'left',
  ['left(text String, count I64) → String'],
  [
    {
      parameters: [string, i64],
      result: string,
      // Below zero: all but the last ones.
      evaluate: ([value, count]) => {
        const text = value as string;
        const taken = count as bigint;
        const end = taken >= 0n ? taken : BigInt(codePointLength(text)) + taken;
        return codePointSlice(text, 0, position(end));
      },
    },
  ],
);

const right = family(
  'right',
  ['right(text String, count I64) → String'],
  [
    {
      parameters: [string, i64],
      result: string,
      // Below zero: all but the first ones.
      evaluate: ([value, count]) => {
        const text = value as string;
        const taken = count as bigint;
        const start = taken >= 0n ? BigInt(codePointLength(text)) - taken : -taken;
        return codePointSlice(text, position(start), Number.MAX_SAFE_INTEGER);
      },
    },
  ],
);

/** `btrim`, `ltrim`, `rtrim`: without a second argument they remove blanks. */
function trimming(name: string, atStart: boolean, atEnd: boolean): FunctionFamily {
  return family(
    name,
    [`${name}(text String [, characters String]) → String`],
    [
      {
        parameters: [string, string],
        optionalCount: 1,
        result: string,
        evaluate: ([text, characters]) => {
          const removed = new Set(codePointsOf((characters ?? ' ') as string));
          return trimmedText(text as string, removed, { atStart, atEnd });
        },
      },
    ],
  );
}

/** `lpad`, `rpad`: the result has exactly `count` characters; longer texts are cut at the end. */
function padding(name: string, atStart: boolean): FunctionFamily {
  return family(
    name,
    [`${name}(text String, count I64 [, fill String]) → String`],
    [
      {
        parameters: [string, i64, string],
        optionalCount: 1,
        result: string,
        canRaise: true,
        evaluate: ([text, count, fill]) =>
          pad(text as string, count as bigint, (fill ?? ' ') as string, atStart),
      },
    ],
  );
}

function pad(text: string, count: bigint, fill: string, atStart: boolean): string {
  if (count <= 0n) return '';
  checkTextLength(count);
  const missing = Number(count) - codePointLength(text);
  if (missing <= 0) return codePointSlice(text, 0, Number(count));
  if (fill === '') return text;
  const rounds = Math.ceil(missing / codePointLength(fill));
  const added = codePointSlice(fill.repeat(rounds), 0, missing);
  return atStart ? added + text : text + added;
}

const repeat = family(
  'repeat',
  ['repeat(text String, count I64) → String'],
  [
    {
      parameters: [string, i64],
      result: string,
      canRaise: true,
      evaluate: ([value, count]) => {
        const text = value as string;
        const rounds = count as bigint;
        if (rounds <= 0n || text === '') return '';
        checkTextLength(BigInt(text.length) * rounds);
        return text.repeat(Number(rounds));
      },
    },
  ],
);

const replace = family(
  'replace',
  ['replace(text String, from String, to String) → String'],
  [
    {
      parameters: [string, string, string],
      result: string,
      canRaise: true,
      evaluate: ([value, from, to]) => {
        const text = value as string;
        const part = from as string;
        const other = to as string;
        if (part === '') return text;
        const pieces = splitText(text, part);
        checkTextLength(BigInt(text.length) + BigInt(pieces.length) * BigInt(other.length));
        return pieces.join(other);
      },
    },
  ],
);

const concat = family(
  'concat',
  ['concat(values any, …) → String'],
  [
    {
      parameters: [string],
      isVariadic: true,
      takesAnything: true,
      result: string,
      isStrict: false,
      isNullableFor: () => false,
      canRaise: true,
      evaluate: (values) => joinedText(textsOf(values), ''),
    },
  ],
);

const concatWithSeparator = family(
  'concat_ws',
  ['concat_ws(separator String, values any, …) → String'],
  [
    {
      parameters: [string, string],
      isVariadic: true,
      takesAnything: true,
      result: string,
      isStrict: false,
      isNullableFor: ([isSeparatorNullable]) => isSeparatorNullable === true,
      canRaise: true,
      evaluate: ([separator, ...values]) =>
        separator === null ? null : joinedText(textsOf(values), separator as string),
    },
  ],
);

/** Nulls are skipped. */
function textsOf(values: readonly QueryValue[]): string[] {
  return values.filter((value) => typeof value === 'string');
}

const strpos = family(
  'strpos',
  ['strpos(text String, part String) → I64'],
  [
    {
      parameters: [string, string],
      result: i64,
      evaluate: ([text, part]) => {
        const unit = findText(text as string, part as string, 0);
        return unit < 0 ? 0n : BigInt(codePointIndex(text as string, unit) + 1);
      },
    },
  ],
);

const splitPart = family(
  'split_part',
  ['split_part(text String, separator String, part I64) → String'],
  [
    {
      parameters: [string, string, i64],
      result: string,
      canRaise: true,
      // Counted from 1, or from the end when it is below zero.
      evaluate: ([text, separator, number]) => {
        if (number === 0n) throw invalid('split_part: parts are counted from 1');
        const parts =
          separator === '' ? [text as string] : splitText(text as string, separator as string);
        const at = (number as bigint) > 0n ? (number as bigint) - 1n : (number as bigint);
        return BigInt.asIntN(32, at) === at ? (parts.at(Number(at)) ?? '') : '';
      },
    },
  ],
);

const ascii = family(
  'ascii',
  ['ascii(text String) → I32'],
  [
    {
      parameters: [string],
      result: scalarTypes.i32,
      evaluate: ([text]) => (text as string).codePointAt(0) ?? 0,
    },
  ],
);

const chr = family(
  'chr',
  ['chr(codePoint I64) → String'],
  [
    {
      parameters: [i64],
      result: string,
      canRaise: true,
      evaluate: ([value]) => {
        const point = value as bigint;
        const isSurrogate = point >= 0xd800n && point <= 0xdfffn;
        if (point < 0n || point > 0x10_ffffn || isSurrogate) {
          throw invalid(`chr: ${point} is not a Unicode character`);
        }
        return String.fromCodePoint(Number(point));
      },
    },
  ],
);

const translate = family(
  'translate',
  ['translate(text String, from String, to String) → String'],
  [
    {
      parameters: [string, string, string],
      result: string,
      evaluate: ([text, from, to]) => {
        const targets = codePointsOf(to as string);
        const map = new Map<string, string>();
        for (const [at, point] of codePointsOf(from as string).entries()) {
          if (!map.has(point)) map.set(point, targets[at] ?? '');
        }
        return mapCodePoints(text as string, (point) => map.get(point) ?? point);
      },
    },
  ],
);

/** A letter is a capital when no letter or digit precedes it. */
function capitalised(text: string): string {
  return text.toLowerCase().replace(/(?<![\p{L}\p{N}])\p{L}/gu, (letter) => letter.toUpperCase());
}

const startsWith = textTest('starts_with', (text, part) => text.startsWith(part));
const endsWith = textTest('ends_with', (text, part) => text.endsWith(part));
const contains = textTest('contains', (text, part) => findText(text, part, 0) >= 0);

export const textFunctions: readonly FunctionFamily[] = [
  textToText('lower', (text) => text.toLowerCase()),
  textToText('upper', (text) => text.toUpperCase()),
  textToText('initcap', capitalised),
  textToText('reverse', reversedText),
  length,
  characterLength,
  alias('character_length', characterLength),
  octetLength,
  substring,
  alias('substr', substring),
  left,
  right,
  trimming('btrim', true, true),
  trimming('trim', true, true),
  trimming('ltrim', true, false),
  trimming('rtrim', false, true),
  padding('lpad', true),
  padding('rpad', false),
  repeat,
  replace,
  concat,
  concatWithSeparator,
  strpos,
  alias('position', strpos),
  alias('instr', strpos),
  startsWith,
  endsWith,
  contains,
  splitPart,
  ascii,
  chr,
  translate,
];
