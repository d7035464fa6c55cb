import { assert } from '../assert.ts';
import type { BinaryReader } from '../values/binary-reader.ts';
import { connectionIdToHex } from '../values/connection-id.ts';
import { identityToHex } from '../values/identity.ts';
import { isIntegerKind } from '../values/integer-range.ts';
import { JsonError } from '../values/json-error.ts';
import type { Printer } from '../values/json-printer.ts';
import { Misfit } from '../values/json-read.ts';
import { JsonNumber, type JsonValue, parseJson } from '../values/json-text.ts';
import { perType } from '../values/per-type.ts';
import {
  type SpecialProductKind,
  specialKindOf,
  specialProductKindOf,
} from '../values/special-types.ts';
import { hasShortYear, Timestamp } from '../values/timestamp.ts';
import type { AlgebraicType, SumType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import { uuidToText } from '../values/uuid.ts';
import type { Value } from '../values/value.ts';
import { type CsvField, csvField } from './csv-fields.ts';
import { isUnit, valuePrinterOf, valueReaderOf } from './row-values.ts';

/**
 * Values as fields of CSV. Numbers, texts, times and identifiers are written plainly, an absent
 * option as an empty field without quotes, a variant without payload by its name; everything else
 * is JSON text, as in exported JSON rows.
 */
export const cellPrinterOf: (type: AlgebraicType, typespace?: Typespace) => Printer = perType(
  (given, typespace) => {
    const type = resolveType(given, typespace);
    const print = valuePrinterOf(type, typespace);
    const json: Printer = (reader, depth) => csvField(print(reader, depth));
    const special = specialProductKindOf(type);
    if (special !== undefined) return specialPrinter(special, json);
    if (type.kind === 'sum') return sumPrinter(type, typespace, json);
    if (type.kind === 'string') return (reader) => csvField(reader.string());
    // The JSON of the others is itself, or a text that needs no escapes, between quotes.
    const isPlain = type.kind !== 'product' && (type.kind !== 'array' || isBytes(type));
    return isPlain ? (reader, depth) => csvField(unquotedText(print(reader, depth))) : json;
  },
);

function unquotedText(json: string): string {
  return json.startsWith('"') ? json.slice(1, -1) : json;
}

function isBytes(type: AlgebraicType): boolean {
  return specialKindOf(type) === 'bytes';
}

function specialPrinter(special: SpecialProductKind, json: Printer): Printer {
  switch (special) {
    case 'identity':
      return (reader) => identityToHex(reader.u256());
    case 'connectionId':
      return (reader) => connectionIdToHex(reader.u128());
    case 'uuid':
      return (reader) => uuidToText(reader.u128());
    case 'timeDuration':
      return (reader) => String(reader.i64());
    case 'timestamp':
      return (reader, depth) => timeCell(reader, depth, json);
  }
}

/** RFC 3339 has years of four digits; other times are JSON. */
function timeCell(reader: BinaryReader, depth: number, json: Printer): string {
  const micros = reader.dataView.getBigInt64(reader.offset, true);
  if (!hasShortYear(micros)) return json(reader, depth);
  return new Timestamp(reader.i64()).toISOString();
}

function sumPrinter(type: SumType, typespace: Typespace, json: Printer): Printer {
  if (specialKindOf(type) === 'option') return optionPrinter(type, typespace, json);
  const names = type.variants.map(({ name = '', type: payload }) => {
    return isUnit(payload, typespace) && bareName.test(name) ? name : undefined;
  });
  return (reader, depth) => {
    const name = names[reader.source[reader.offset] ?? -1];
    const text = json(reader, depth);
    return name ?? text;
  };
}

function optionPrinter(type: SumType, typespace: Typespace, json: Printer): Printer {
  const payload = payloadOf(type, typespace);
  const printSome = payload && cellPrinterOf(payload, typespace);
  return (reader, depth) => {
    if (reader.source[reader.offset] !== 0) {
      json(reader, depth);
      return '';
    }
    if (printSome === undefined) return json(reader, depth);
    reader.u8();
    return printSome(reader, depth + 1);
  };
}

const bareName = /^[A-Za-z_]\w*$/;

/** What an option holds whose presence shows by its field; one that holds an option does not. */
function payloadOf(type: SumType, typespace: Typespace): AlgebraicType | undefined {
  if (specialKindOf(type) !== 'option') return undefined;
  const payload = type.variants[0]?.type;
  if (payload === undefined) return undefined;
  const isNested = specialKindOf(resolveType(payload, typespace)) === 'option';
  return isNested ? undefined : payload;
}

/** Reads the value of a field. Throws `Misfit`, and `JsonError` where JSON is expected. */
export type CellReader = (field: CsvField) => Value;

/** What `cellPrinterOf` writes, and everything that JSON rows accept as text. */
export const cellReaderOf: (type: AlgebraicType, typespace?: Typespace) => CellReader = perType(
  (given, typespace) => {
    const type = resolveType(given, typespace);
    const read = valueReaderOf(type, typespace);
    if (type.kind === 'sum' && specialKindOf(type) === 'option') {
      const payload = payloadOf(type, typespace);
      const readSome = payload && cellReaderOf(payload, typespace);
      return (field) => {
        if (isAbsent(field)) return { tag: 1, value: [] };
        if (readSome === undefined) return read(jsonOrText(field.text), 0);
        return { tag: 0, value: readSome(field) };
      };
    }
    if (type.kind === 'string') return ({ text }) => text;
    if (isBytes(type)) return ({ text }) => read(text.replace(/^0x/, ''), 0);
    const jsonOf = formOf(type);
    return (field) => {
      if (isAbsent(field)) throw new Misfit('the field is empty, and the column needs a value');
      return read(jsonOf(field.text), 0);
    };
  },
);

function formOf(type: AlgebraicType): (text: string) => JsonValue {
  switch (type.kind) {
    case 'bool':
      return (text) => bools.get(text.toLowerCase()) ?? text;
    case 'product':
      return specialProductKindOf(type) === undefined ? parseJson : jsonOrText;
    case 'sum':
      return jsonOrText;
    case 'array':
      return parseJson;
    case 'i256':
    case 'u256':
      return (text) => text;
    case 'f32':
    case 'f64':
      return (text) => (jsonNumber.test(text) ? new JsonNumber(text) : text);
    default:
      assert(isIntegerKind(type.kind), 'all other kinds are listed');
      return (text) => (/^-?(?:0|[1-9]\d*)$/.test(text) ? new JsonNumber(text) : text);
  }
}

const bools: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function jsonOrText(text: string): JsonValue {
  return /^\s*[[{]/.test(text) ? parseJson(text) : text;
}

/** True of an empty field without quotes. */
export function isAbsent({ text, isQuoted }: CsvField): boolean {
  return text === '' && !isQuoted;
}

/** The message of what a reader has thrown; everything else is thrown again. */
export function misfitText(error: unknown): string {
  if (error instanceof JsonError) return error.message;
  if (!(error instanceof Misfit)) throw error;
  const path = error.steps.join('');
  return path === '' ? error.message : `${path}: ${error.message}`;
}
