/** Values to JSON, in one of three shapes, straight from their encoding. */
import { BinaryReader } from './binary-reader.ts';
import { encodeValue } from './encode.ts';
import { compilePrinter, inShortParts, type Printer, type PrinterOf } from './json-printer.ts';
import { perType } from './per-type.ts';
import { plainPrinterOf } from './plain.ts';
import type { AlgebraicType, Typespace } from './type.ts';
import type { Value } from './value.ts';

/**
 * `named`: objects by element name, sums as one-key objects. `positional`: arrays, `[tag,
 * payload]`. `plain`: objects by element name, everything in them as people and agents write it.
 *
 * @example
 * ```ts
 * const shape: JsonShape = 'positional';
 * valueToJson(product(['id', { kind: 'u8' }]), [7], shape); // '[7]'
 * ```
 */
export type JsonShape = 'named' | 'positional' | 'plain';

/**
 * The JSON of a value. NaN and the infinities become `null`, in the plain shape a text.
 *
 * @example
 * ```ts
 * const type = product(['id', { kind: 'u64' }], ['x', { kind: 'f32' }]);
 * valueToJson(type, [7n, 1], 'named'); // '{"id":7,"x":1.0}'
 * valueToJson(type, [7n, 1], 'positional'); // '[7,1.0]'
 * valueToJson(timestampType, [0n], 'plain'); // '"1970-01-01T00:00:00Z"'
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
  return inShortParts(charactersMax, () => printerOf(shape, type, typespace)(reader, 0));
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

/** The printer of parts of values. */
export function printerOf(shape: JsonShape, type: AlgebraicType, typespace?: Typespace): Printer {
  return printers[shape](type, typespace);
}

const namedPrinterOf: PrinterOf = perType((type, typespace) =>
  compilePrinter(type, typespace, namedPrinterOf, true),
);

const positionalPrinterOf: PrinterOf = perType((type, typespace) =>
  compilePrinter(type, typespace, positionalPrinterOf, false),
);

const printers: Readonly<Record<JsonShape, PrinterOf>> = {
  named: namedPrinterOf,
  positional: positionalPrinterOf,
  plain: plainPrinterOf,
};
