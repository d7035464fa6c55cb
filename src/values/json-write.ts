/** Values to JSON, in one of two shapes, straight from their encoding. */
import { limits } from '../limits.ts';
import { BinaryReader, tooDeep, unknownTag } from './binary-reader.ts';
import { encodeValue } from './encode.ts';
import { float32Text, float64Text } from './float-text.ts';
import { toHex } from './hex.ts';
import { fixedSizeOf } from './layout.ts';
import { perType } from './per-type.ts';
import { productDepthMax } from './special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';
import type { Value } from './value.ts';

/**
 * `named`: objects by element name, sums as one-key objects. `positional`: arrays, `[tag,
 * payload]`.
 *
 * @example
 * ```ts
 * const shape: JsonShape = 'positional';
 * valueToJson(product(['id', { kind: 'u8' }]), [7], shape); // '[7]'
 * ```
 */
export type JsonShape = 'named' | 'positional';

/**
 * The JSON of a value. NaN and the infinities become `null`.
 *
 * @example
 * ```ts
 * const type = product(['id', { kind: 'u64' }], ['x', { kind: 'f32' }]);
 * valueToJson(type, [7n, 1], 'named'); // '{"id":7,"x":1.0}'
 * valueToJson(type, [7n, 1], 'positional'); // '[7,1.0]'
 * ```
 */
export function valueToJson(
  type: AlgebraicType,
  value: Value,
  shape: JsonShape,
  typespace?: Typespace,
): string {
  return encodedToJson(
    type,
    new BinaryReader(encodeValue(type, value, typespace)),
    shape,
    typespace,
  );
}

/**
 * The JSON of the encoded value that `reader` is at. Throws `DecodeError`, and `JsonTooLongError`
 * if it is out of proportion to the bytes.
 */
export function encodedToJson(
  type: AlgebraicType,
  reader: BinaryReader,
  shape: JsonShape,
  typespace?: Typespace,
): string {
  const charactersMax = jsonCharactersMax(reader.remaining);
  const text = encodedToShortJson(type, reader, shape, charactersMax, typespace);
  if (text === undefined) throw new JsonTooLongError(charactersMax);
  return text;
}

/**
 * `encodedToJson` for a value whose JSON is short. `undefined`: an array or a product in it has
 * more than `charactersMax`, and the reader is somewhere in the value.
 */
export function encodedToShortJson(
  type: AlgebraicType,
  reader: BinaryReader,
  shape: JsonShape,
  charactersMax: number,
  typespace?: Typespace,
): string | undefined {
  reader.beginValue();
  partCharactersMax = charactersMax;
  try {
    return printerOf(shape, type, typespace)(reader, 0);
  } catch (error) {
    if (error !== partTooLong) throw error;
    return undefined;
  } finally {
    partCharactersMax = Number.POSITIVE_INFINITY;
  }
}

/**
 * The most characters of JSON that encoded values are worth where it is held as a whole. A few
 * bytes can become a long text: elements can take no bytes, or one and 100,000 characters.
 */
export function jsonCharactersMax(byteCount: number): number {
  return 2 ** 18 + 64 * byteCount;
}

export class JsonTooLongError extends Error {
  override readonly name = 'JsonTooLongError';

  constructor(charactersMax: number) {
    super(`the value has more than ${charactersMax} characters as JSON, too many for its bytes`);
  }
}

/** Of the value that is being printed: printers are shared, and none is interrupted. */
let partCharactersMax = Number.POSITIVE_INFINITY;
const partTooLong = new Error('the JSON of a part is too long');

/** Prints a part of a value; `depth` is the nesting depth of that part. */
export function printerOf(shape: JsonShape, type: AlgebraicType, typespace?: Typespace): Printer {
  return (shape === 'named' ? namedPrinterOf : positionalPrinterOf)(type, typespace);
}

export type Printer = (reader: BinaryReader, depth: number) => string;
export type PrinterOf = (type: AlgebraicType, typespace?: Typespace) => Printer;

const namedPrinterOf: PrinterOf = perType((type, typespace) =>
  compilePrinter(type, typespace, namedPrinterOf, true),
);

const positionalPrinterOf: PrinterOf = perType((type, typespace) =>
  compilePrinter(type, typespace, positionalPrinterOf, false),
);

/** The printer of one type; `printerOf` gives those of its parts. */
export function compilePrinter(
  type: AlgebraicType,
  typespace: Typespace,
  printerOf: PrinterOf,
  isNamed: boolean,
): Printer {
  switch (type.kind) {
    case 'ref': {
      let target: Printer | undefined;
      return (reader, depth) => {
        target ??= printerOf(resolveType(type, typespace), typespace);
        return target(reader, depth);
      };
    }
    case 'product': {
      const parts = type.elements.map((element) => printerOf(element.type, typespace));
      return isNamed
        ? namedProductPrinter(type.elements, parts)
        : listPrinter(parts, productDepthMax(type.elements));
    }
    case 'sum': {
      const payloads = type.variants.map((variant) => printerOf(variant.type, typespace));
      return sumPrinter(type.variants, payloads, isNamed);
    }
    case 'array':
      if (type.element.kind === 'u8') return (reader) => `"${toHex(reader.bytes())}"`;
      return arrayPrinter(
        printerOf(type.element, typespace),
        fixedSizeOf(type.element, typespace) === 0,
      );
    default:
      return scalarPrinters[type.kind];
  }
}

function namedProductPrinter(elements: readonly NamedType[], parts: readonly Printer[]): Printer {
  if (parts.length === 0) return () => '{}';
  const fields = parts.map((print, index) => ({
    print,
    key: `${index === 0 ? '' : ','}${keyText(elements[index], index)}`,
  }));
  const depthMax = productDepthMax(elements);
  return (reader, depth) => {
    if (depth >= depthMax) throw tooDeep();
    let text = '{';
    for (const { key, print } of fields) {
      text += key + print(reader, depth + 1);
      if (text.length > partCharactersMax) throw partTooLong;
    }
    return `${text}}`;
  };
}

function listPrinter(parts: readonly Printer[], depthMax: number): Printer {
  if (parts.length === 0) return () => '[]';
  return (reader, depth) => {
    if (depth >= depthMax) throw tooDeep();
    let text = '';
    for (const print of parts) {
      text += `${text === '' ? '[' : ','}${print(reader, depth + 1)}`;
      if (text.length > partCharactersMax) throw partTooLong;
    }
    return `${text}]`;
  };
}

function sumPrinter(
  variants: readonly NamedType[],
  payloads: readonly Printer[],
  isNamed: boolean,
): Printer {
  const heads = variants.map((variant, tag) =>
    isNamed ? `{${keyText(variant, tag)}` : `[${tag},`,
  );
  const tail = isNamed ? '}' : ']';
  return (reader, depth) => {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const tag = reader.u8();
    const print = payloads[tag];
    if (print === undefined) throw unknownTag(tag);
    return heads[tag] + print(reader, depth + 1) + tail;
  };
}

function arrayPrinter(print: Printer, isEmpty: boolean): Printer {
  return (reader, depth) => {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const count = reader.count(isEmpty);
    let text = '[';
    for (let index = 0; index < count; index += 1) {
      if (index > 0) text += ',';
      text += print(reader, depth + 1);
      if (text.length > partCharactersMax) throw partTooLong;
    }
    return `${text}]`;
  };
}

/** A nameless element or variant is identified by its position, which is how readers accept it. */
export function keyText(item: NamedType | undefined, index: number): string {
  return `${JSON.stringify(item?.name ?? String(index))}:`;
}

const scalarPrinters: Readonly<Record<ScalarKind, Printer>> = {
  string: (reader) => JSON.stringify(reader.string()),
  bool: (reader) => (reader.bool() ? 'true' : 'false'),
  i8: (reader) => String(reader.i8()),
  u8: (reader) => String(reader.u8()),
  i16: (reader) => String(reader.i16()),
  u16: (reader) => String(reader.u16()),
  i32: (reader) => String(reader.i32()),
  u32: (reader) => String(reader.u32()),
  i64: (reader) => String(reader.i64()),
  u64: (reader) => String(reader.u64()),
  i128: (reader) => String(reader.i128()),
  u128: (reader) => String(reader.u128()),
  i256: (reader) => `"${signedHex(reader.i256())}"`,
  u256: (reader) => `"${signedHex(reader.u256())}"`,
  f32: (reader) => {
    const value = reader.f32();
    return Number.isFinite(value) ? float32Text(value) : 'null';
  },
  f64: (reader) => {
    const value = reader.f64();
    return Number.isFinite(value) ? float64Text(value) : 'null';
  },
};

function signedHex(value: bigint): string {
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`;
}
