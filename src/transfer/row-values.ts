import { connectionIdFromHex } from '../values/connection-id.ts';
import { identityFromHex } from '../values/identity.ts';
import { exactFormOf, floatNamed, unquoted } from '../values/json-loose.ts';
import { compilePrinter, type Printer, type PrinterOf } from '../values/json-printer.ts';
import {
  compileReader,
  describe,
  Misfit,
  type Reader,
  type ReaderOf,
} from '../values/json-read.ts';
import { JsonNumber, JsonObject, type JsonValue } from '../values/json-text.ts';
import { LooseNames } from '../values/loose-names.ts';
import { perType } from '../values/per-type.ts';
import {
  type SpecialProductKind,
  specialKindOf,
  specialProductKindOf,
} from '../values/special-types.ts';
import { timeDurationFromText } from '../values/time-duration-text.ts';
import { timestampFromText } from '../values/timestamp.ts';
import type { AlgebraicType, NamedType, SumType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import { uuidFromText } from '../values/uuid.ts';
import type { Value } from '../values/value.ts';

/**
 * Values of exported rows as JSON. The form of a value depends on its type alone, and nothing is
 * lost: integers of 64 bits and more are strings, in decimal digits up to 128 bits and in
 * hexadecimal ones beyond; floats that JSON lacks are `"NaN"`, `"Infinity"` and `"-Infinity"`;
 * bytes are hexadecimal; products are arrays and sums `[tag, payload]`.
 */
export const valuePrinterOf: PrinterOf = perType((type, typespace) => {
  const print = scalarPrinters.get(type.kind);
  return print ?? compilePrinter(type, typespace, valuePrinterOf, false);
});

const scalarPrinters: ReadonlyMap<string, Printer> = new Map<string, Printer>([
  ['i64', (reader) => `"${reader.i64()}"`],
  ['u64', (reader) => `"${reader.u64()}"`],
  ['i128', (reader) => `"${reader.i128()}"`],
  ['u128', (reader) => `"${reader.u128()}"`],
  ['f32', floatPrinter('f32')],
  ['f64', floatPrinter('f64')],
]);

function floatPrinter(kind: 'f32' | 'f64'): Printer {
  const print = compilePrinter({ kind }, { types: [] }, valuePrinterOf, false);
  const step = kind === 'f32' ? 4 : 8;
  return (reader, depth) => {
    const text = print(reader, depth);
    if (text !== 'null') return text;
    const at = reader.offset - step;
    const { dataView: view } = reader;
    return `"${kind === 'f32' ? view.getFloat32(at, true) : view.getFloat64(at, true)}"`;
  };
}

/**
 * Reads values as JSON: what `valuePrinterOf` writes, and all forms that calls accept from people
 * and other programs: see `json-loose.ts`.
 */
export const valueReaderOf: ReaderOf = perType((type, typespace) => {
  const read = compileReader(type, typespace, valueReaderOf);
  switch (type.kind) {
    case 'i64':
    case 'u64':
    case 'i128':
    case 'u128':
      return (json, depth) => read(unquoted(json), depth);
    case 'i256':
    case 'u256':
      return (json, depth) => read(hexadecimal(json), depth);
    case 'f32':
    case 'f64':
      return (json, depth) => floatNamed(json) ?? read(json, depth);
    case 'sum':
      return sumReader(type, typespace, read);
    case 'product': {
      const special = specialProductKindOf(type);
      if (special !== undefined) return specialReader(special, read);
      const exact = exactFormOf(type, typespace);
      return (json, depth) => read(exact(json), depth);
    }
    default:
      return read;
  }
});

/** A long integer as the readers of calls take it, if it is written in decimal digits. */
function hexadecimal(json: JsonValue): JsonValue {
  const text = json instanceof JsonNumber ? json.text : json;
  if (typeof text !== 'string' || !/^-?\d{1,78}$/.test(text)) return json;
  const value = BigInt(text);
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`;
}

function sumReader(type: SumType, typespace: Typespace, read: Reader): Reader {
  const isOption = specialKindOf(type) === 'option';
  const [some] = type.variants;
  if (!isOption || some === undefined) {
    const exact = exactFormOf(type, typespace);
    return (json, depth) => unitVariant(type.variants, typespace, json) ?? read(exact(json), depth);
  }
  const readSome = valueReaderOf(some.type, typespace);
  return (json, depth) => {
    if (json === null || isVariant(json)) return read(json, depth);
    return { tag: 0, value: readSome(json, depth + 1) };
  };
}

/** The forms of an option that name `some` or `none`. */
function isVariant(json: JsonValue): boolean {
  if (json instanceof JsonObject) return json.size === 1 && /^(?:some|none)$/.test(keyOf(json));
  if (!Array.isArray(json) || json.length !== 2) return false;
  const [head] = json;
  return head instanceof JsonNumber ? /^[01]$/.test(head.text) : head === 'some' || head === 'none';
}

function keyOf(json: JsonObject): string {
  return json.entryAt(0)[0];
}

function unitVariant(
  variants: readonly NamedType[],
  typespace: Typespace,
  json: JsonValue,
): Value | undefined {
  if (typeof json !== 'string') return undefined;
  const tag = new LooseNames(variants).find(json);
  if (tag < 0) {
    const names = variants.flatMap(({ name }) => (name === undefined ? [] : [`\`${name}\``]));
    throw new Misfit(`unknown variant ${describe(json)}, expected one of ${names.join(', ')}`);
  }
  const { type, name } = variants[tag] as NamedType;
  if (isUnit(type, typespace)) return { tag, value: [] };
  throw new Misfit(`the variant \`${name}\` has a value: write it as {"${name}": …}`);
}

export function isUnit(type: AlgebraicType, typespace: Typespace): boolean {
  return specialKindOf(resolveType(type, typespace)) === 'unit';
}

function specialReader(special: SpecialProductKind, read: Reader): Reader {
  const { expected, parse } = specialForms[special];
  return (json, depth) => {
    const text = json instanceof JsonNumber ? json.text : json;
    if (typeof text !== 'string') return read(json, depth);
    const value = parse(text);
    if (value === undefined) {
      throw new Misfit(`invalid value: ${describe(json)}, expected ${expected}`);
    }
    return [value];
  };
}

interface SpecialForm {
  readonly expected: string;
  readonly parse: (text: string) => bigint | undefined;
}

const specialForms: Readonly<Record<SpecialProductKind, SpecialForm>> = {
  identity: { expected: 'an identity (64 hex digits)', parse: identityFromHex },
  connectionId: { expected: 'a connection id (32 hex digits)', parse: connectionIdFromHex },
  uuid: { expected: 'a UUID', parse: uuidFromText },
  timestamp: {
    expected: 'a time such as 2026-01-31T12:00:00Z, or microseconds since 1970',
    parse: (text) => timestampFromText(text) ?? microsOf(text),
  },
  timeDuration: {
    expected: 'a duration such as 1h30m, or microseconds',
    parse: (text) => timeDurationFromText(text) ?? microsOf(text),
  },
};

function microsOf(text: string): bigint | undefined {
  if (!/^-?\d{1,19}$/.test(text)) return undefined;
  const micros = BigInt(text);
  return BigInt.asIntN(64, micros) === micros ? micros : undefined;
}
