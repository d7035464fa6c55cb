/**
 * JSON to values. Two shapes are accepted, mixed at any depth: products as objects by element name
 * or as arrays, sums as one-key objects or as `[tag, payload]`. Rejections and their messages are
 * specified in docs/format/values.md.
 */
import { limits } from '../limits.ts';
import { float64Text } from './float-text.ts';
import { fromHex } from './hex.ts';
import { type IntegerKind, integerRange, isWideInteger } from './integer-range.ts';
import { JsonError } from './json-error.ts';
import { JsonNumber, JsonObject, type JsonValue, positionText } from './json-text.ts';
import { perType } from './per-type.ts';
import { productDepthMax, specialKindOf } from './special-types.ts';
import type { AlgebraicType, NamedType, ProductType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';
import type { Value } from './value.ts';

/**
 * The value of `type` that `json` represents. Throws `JsonError`.
 *
 * @example
 * ```ts
 * const type = product(['id', { kind: 'u64' }], ['name', { kind: 'string' }]);
 * valueFromJson(type, parseJson('{"name":"Ann","id":7}')); // [7n, 'Ann']
 * valueFromJson(type, parseJson('[7]')); // throws 'invalid length 1'
 * ```
 */
export function valueFromJson(type: AlgebraicType, json: JsonValue, typespace?: Typespace): Value {
  return located(json, () => exactReaderOf(type, typespace)(json, 0));
}

/**
 * The arguments of a call: an array in parameter order, or an object by parameter name. Returns one
 * value per parameter. Throws `JsonError`, with messages about arguments instead of fields.
 */
export function argumentsFromJson(
  params: ProductType,
  json: JsonValue,
  functionName: string,
  typespace?: Typespace,
): Value[] {
  const { elements } = params;
  const readers = elements.map(({ type }) => exactReaderOf(type, typespace));
  return located(json, () =>
    productReader(elements, readers, argumentWords(functionName))(json, 0),
  );
}

/** How error messages name the arguments of a call. */
export function argumentWords(functionName: string): ProductWords {
  return { whole: `reducer args for ${functionName}`, part: 'reducer argument' };
}

export type Reader = (json: JsonValue, depth: number) => Value;
export type ReaderOf = (type: AlgebraicType, typespace?: Typespace) => Reader;

/** How error messages name a product and its elements. */
export interface ProductWords {
  readonly whole: string;
  readonly part: string;
}

export const plainWords: ProductWords = { whole: 'product type <unknown>', part: 'field' };

/** An error being propagated; each container it passes adds its step. */
export class Misfit {
  readonly message: string;
  /** Steps from the outermost container inwards. */
  readonly positions: number[] = [];
  readonly steps: string[] = [];
  /** Which end of the offending value the reported position marks. */
  readonly edge: 'start' | 'end';

  constructor(message: string, edge: 'start' | 'end' = 'end') {
    this.message = message;
    this.edge = edge;
  }
}

/** JSON that is not a value of the expected type. */
export class UnfitJsonError extends JsonError {
  /** Where it does not fit: positions in containers, from the outermost inwards. */
  readonly positions: readonly number[];

  constructor(message: string, positions: readonly number[]) {
    super(message);
    this.positions = positions;
  }
}

export function located<Result>(root: JsonValue, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    const steps = error.steps.join('');
    const path = steps === '' ? '' : `${steps}: `;
    const position = positionText(root, error.positions, error.edge);
    throw new UnfitJsonError(path + error.message + position, error.positions);
  }
}

/** Runs `read`; records in a misfit inside that it happened at `position`, shown as `step`. */
function within<Result>(position: number, step: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof Misfit) {
      error.positions.unshift(position);
      error.steps.unshift(step);
    }
    throw error;
  }
}

export const exactReaderOf: ReaderOf = perType((type, typespace) =>
  compileReader(type, typespace, exactReaderOf),
);

/** The reader of one type; `readerOf` gives those of its parts. */
export function compileReader(
  type: AlgebraicType,
  typespace: Typespace,
  readerOf: ReaderOf,
): Reader {
  switch (type.kind) {
    case 'ref': {
      let target: Reader | undefined;
      return (json, depth) => {
        target ??= readerOf(resolveType(type, typespace), typespace);
        return target(json, depth);
      };
    }
    case 'product': {
      const readers = type.elements.map((element) => readerOf(element.type, typespace));
      return productReader(type.elements, readers, plainWords);
    }
    case 'sum': {
      const readers = type.variants.map((variant) => readerOf(variant.type, typespace));
      return sumReader(type.variants, readers, specialKindOf(type) === 'option');
    }
    case 'array':
      return type.element.kind === 'u8'
        ? readBytes
        : arrayReader(readerOf(type.element, typespace));
    default:
      return scalarReader(type.kind);
  }
}

export function productReader(
  elements: readonly NamedType[],
  readers: readonly Reader[],
  words: ProductWords,
): (json: JsonValue, depth: number) => Value[] {
  const depthMax = productDepthMax(elements);
  return (json, depth) => {
    if (depth >= depthMax) throw new Misfit('recursion limit exceeded');
    if (Array.isArray(json)) return readPositional(readers, json, words, depth);
    if (json instanceof JsonObject) return readNamed(readers, elements, json, words, depth);
    throw new Misfit(`invalid type: ${describe(json)}, expected ${words.whole}`);
  };
}

function readPositional(
  readers: readonly Reader[],
  items: readonly JsonValue[],
  words: ProductWords,
  depth: number,
): Value[] {
  const values = readers.map((read, index) => {
    const item = items[index];
    if (item === undefined) {
      const expected = `${words.whole} with ${readers.length} elements`;
      throw new Misfit(`invalid length ${items.length}, expected ${expected}`);
    }
    return within(index, `[${index}]`, () => read(item, depth + 1));
  });
  if (items.length > readers.length) {
    within(readers.length, '', () => {
      throw new Misfit('trailing characters', 'start');
    });
  }
  return values;
}

function readNamed(
  readers: readonly Reader[],
  elements: readonly NamedType[],
  json: JsonObject,
  words: ProductWords,
  depth: number,
): Value[] {
  const values: (Value | undefined)[] = readers.map(() => undefined);
  for (let position = 0; position < json.size; position += 1) {
    const [key, item] = json.entryAt(position);
    if (position > 0 && position >= readers.length) throw new Misfit('trailing comma');
    const index = elements.findIndex((element) => element.name === key);
    const read = readers[index];
    if (read === undefined) {
      const known = elements.map((element) => element.name);
      throw new Misfit(`unknown ${words.part} \`${key}\`, ${expectedNames(known, words.part)}`);
    }
    if (values[index] !== undefined) throw new Misfit(`duplicate ${words.part} \`${key}\``);
    values[index] = within(position, `.${key}`, () => read(item, depth + 1));
  }
  return values.map((value, index) => {
    const name = elements[index]?.name ?? index;
    if (value === undefined) throw new Misfit(`missing ${words.part} \`${name}\``);
    return value;
  });
}

function sumReader(
  variants: readonly NamedType[],
  readers: readonly Reader[],
  isOption: boolean,
): Reader {
  return (json, depth) => {
    if (depth >= limits.nestingDepthMax) throw new Misfit('recursion limit exceeded');
    if (isOption && json === null) return { tag: 1, value: [] };
    const { tag, payload, position } = readVariant(variants, json);
    const read = readers[tag];
    if (read === undefined) throw unknownVariant(variants, String(tag));
    const step = Array.isArray(json) ? '[1]' : `.${variants[tag]?.name ?? tag}`;
    return { tag, value: within(position, step, () => read(payload, depth + 1)) };
  };
}

/** The variant that `json` names, and the position of the payload in `json`. */
export function readVariant(
  variants: readonly NamedType[],
  json: JsonValue,
): { tag: number; payload: JsonValue; position: number } {
  if (Array.isArray(json)) {
    const [head, payload] = json;
    if (head === undefined || payload === undefined) {
      throw new Misfit(
        `invalid length ${json.length}, expected sum type <unknown> with 2 elements`,
      );
    }
    if (json.length > 2) throw new Misfit('trailing characters');
    return { tag: readTag(variants, head), payload, position: 1 };
  }
  if (json instanceof JsonObject) {
    if (json.size === 0) throw new Misfit('invalid length 0, expected sum type <unknown>');
    if (json.size > 1) throw new Misfit('trailing comma');
    const [name, payload] = json.entryAt(0);
    return { tag: readTagName(variants, name), payload, position: 0 };
  }
  throw new Misfit(`invalid type: ${describe(json)}, expected sum type <unknown>`);
}

function readTag(variants: readonly NamedType[], json: JsonValue): number {
  if (typeof json === 'string') return readTagName(variants, json);
  if (json instanceof JsonNumber && /^\d{1,3}$/.test(json.text)) return Number(json.text);
  throw new Misfit(`invalid type: ${describe(json)}, expected variant name or tag`);
}

/** A name that reads as a number up to 255 is a tag, even if a variant has that name. */
function readTagName(variants: readonly NamedType[], name: string): number {
  if (/^\+?\d+$/.test(name) && Number(name) <= 255) return Number(name);
  const tag = variants.findIndex((variant) => variant.name === name);
  if (tag < 0) throw unknownVariant(variants, name);
  return tag;
}

export function unknownVariant(variants: readonly NamedType[], name: string): Misfit {
  const known = variants.map((variant) => variant.name);
  return new Misfit(`unknown variant \`${name}\`, ${expectedNames(known, 'variant')}`);
}

export function expectedNames(names: readonly (string | undefined)[], noun: string): string {
  const quoted = names.flatMap((name) => (name === undefined ? [] : [`\`${name}\``]));
  if (quoted.length === 0) return `there are no ${noun}s`;
  if (quoted.length <= 2) return `expected ${quoted.join(' or ')}`;
  return `expected one of ${quoted.join(', ')}`;
}

function arrayReader(read: Reader): Reader {
  return (json, depth) => {
    if (depth >= limits.nestingDepthMax) throw new Misfit('recursion limit exceeded');
    if (!Array.isArray(json)) {
      throw new Misfit(`invalid type: ${describe(json)}, expected a sequence`);
    }
    return json.map((item, index) => within(index, `[${index}]`, () => read(item, depth + 1)));
  };
}

function readBytes(json: JsonValue): Value {
  const expected = 'a byte array or hex string';
  if (typeof json === 'string') {
    const bytes = fromHex(json);
    if (bytes === undefined) {
      throw new Misfit(`invalid value: ${describe(json)}, expected ${expected}`);
    }
    return bytes;
  }
  if (!Array.isArray(json)) {
    throw new Misfit(`invalid type: ${describe(json)}, expected ${expected}`);
  }
  return Uint8Array.from(json, (item, index) =>
    within(index, `[${index}]`, () => Number(readNarrowInteger('u8', item))),
  );
}

function scalarReader(kind: ScalarKind): Reader {
  switch (kind) {
    case 'string':
      return (json) => {
        if (typeof json === 'string') return json;
        throw new Misfit(`invalid type: ${describe(json)}, expected a string`);
      };
    case 'bool':
      return (json) => {
        if (typeof json === 'boolean') return json;
        throw new Misfit(`invalid type: ${describe(json)}, expected a boolean`);
      };
    case 'f32':
      return (json) => Math.fround(readFloat(kind, json));
    case 'f64':
      return (json) => readFloat(kind, json);
    case 'i128':
    case 'u128':
      return (json) => readInteger128(kind, json);
    case 'i256':
    case 'u256':
      return (json) => readInteger256(kind, json);
    default:
      return isWideInteger(kind)
        ? (json) => readNarrowInteger(kind, json)
        : (json) => readShortInteger(kind, json);
  }
}

function readFloat(kind: 'f32' | 'f64', json: JsonValue): number {
  if (!(json instanceof JsonNumber)) {
    throw new Misfit(`invalid type: ${describe(json)}, expected ${kind}`);
  }
  const value = Number(json.text);
  if (!Number.isFinite(value)) throw new Misfit('number out of range');
  return value;
}

/** Reads integers of 8 to 32 bits; those of a few digits take a short path. */
function readShortInteger(kind: IntegerKind, json: JsonValue): number {
  if (json instanceof JsonNumber && json.text.length <= 9) {
    const value = Number(json.text);
    const { min, max } = shortRange(kind);
    // Only a number written as an integer is one, and negative zero does not exist.
    if (json.isInteger && value >= min && value <= max) return value + 0;
  }
  return Number(readNarrowInteger(kind, json));
}

const shortRanges = new Map<IntegerKind, { readonly min: number; readonly max: number }>();

function shortRange(kind: IntegerKind) {
  let range = shortRanges.get(kind);
  if (range === undefined) {
    const { min, max } = integerRange[kind];
    range = { min: Number(min), max: Number(max) };
    shortRanges.set(kind, range);
  }
  return range;
}

/** Reads integers of 8 to 64 bits. */
function readNarrowInteger(kind: IntegerKind, json: JsonValue): bigint {
  if (!(json instanceof JsonNumber) || !fits64(json)) {
    throw new Misfit(`invalid type: ${describe(json)}, expected ${kind}`);
  }
  const value = BigInt(json.text);
  const { min, max } = integerRange[kind];
  if (value < min || value > max) {
    throw new Misfit(`invalid value: integer \`${value}\`, expected ${kind}`);
  }
  return value;
}

/**
 * True for integers of at most 64 bits; longer ones are floats to the JSON readers of other
 * implementations.
 */
function fits64(json: JsonNumber): boolean {
  if (!json.isInteger || json.text.length > 20) return false;
  const value = BigInt(json.text);
  return value >= integerRange.i64.min && value <= integerRange.u64.max;
}

function readInteger128(kind: 'i128' | 'u128', json: JsonValue): bigint {
  if (!(json instanceof JsonNumber) || !json.isInteger) {
    throw new Misfit(`invalid type: ${describe(json)}, expected ${kind}`);
  }
  // The length is checked first: turning megabytes of digits into a bigint takes minutes.
  const value = json.text.length > 40 ? undefined : BigInt(json.text);
  const { min, max } = integerRange[kind];
  if (value === undefined || value < min || value > max) throw new Misfit('number out of range');
  return value;
}

function readInteger256(kind: 'i256' | 'u256', json: JsonValue): bigint {
  if (typeof json !== 'string') {
    throw new Misfit(`invalid type: ${describe(json)}, expected ${kind} as a hex string`);
  }
  const [, sign, digits] = /^([+-]?)0x0*([0-9a-fA-F]{0,64})$/.exec(json) ?? [];
  const isHex = digits !== undefined && !/0x$/.test(json) && (sign !== '-' || kind === 'i256');
  const magnitude = isHex ? BigInt(`0x0${digits}`) : undefined;
  const { min, max } = integerRange[kind];
  const value = magnitude !== undefined && sign === '-' ? -magnitude : magnitude;
  if (value === undefined || value < min || value > max) {
    throw new Misfit(`invalid value: ${describe(json)}, expected ${kind} as a hex string`);
  }
  return value;
}

/** Describes a JSON value for error messages. */
export function describe(json: JsonValue): string {
  if (json === null) return 'null';
  if (typeof json === 'boolean') return `boolean \`${json}\``;
  if (typeof json === 'string') return `string ${JSON.stringify(json)}`;
  if (Array.isArray(json)) return 'sequence';
  if (json instanceof JsonObject) return 'map';
  if (fits64(json)) return `integer \`${json.text}\``;
  return `floating point \`${float64Text(Number(json.text))}\``;
}
