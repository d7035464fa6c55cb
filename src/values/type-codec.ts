/**
 * Types as data. A type description is itself a value, of a type that is defined here; both of its
 * encodings then come from the codecs of values.
 */
import { present, unreachable } from '../assert.ts';
import type { BinaryReader } from './binary-reader.ts';
import type { BinaryWriter } from './binary-writer.ts';
import { decoderOf } from './decode.ts';
import { encoderOf } from './encode.ts';
import { valueFromJson } from './json-read.ts';
import type { JsonValue } from './json-text.ts';
import { optionType, product, sum, unitType } from './special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { kindName } from './typespace.ts';
import type { SumValue, Value } from './value.ts';

export function encodeType(writer: BinaryWriter, type: AlgebraicType): void {
  encoderOf(typeRef, metaTypespace)(writer, typeToValue(type));
}

/** Reads a type. Throws `DecodeError`. */
export function decodeType(reader: BinaryReader): AlgebraicType {
  return typeFromValue(decoderOf(typeRef, metaTypespace)(reader));
}

/**
 * `{"Product":{"elements":[{"name":{"some":"id"},"algebraic_type":{"U32":[]}}]}}`
 *
 * @example
 * ```ts
 * typeToJson({ kind: 'array', element: { kind: 'u8' } }); // '{"Array":{"U8":[]}}'
 * ```
 */
export function typeToJson(type: AlgebraicType): string {
  switch (type.kind) {
    case 'ref':
      return `{"Ref":${type.ref}}`;
    case 'product':
      return `{"Product":${namedTypesToJson(type.elements)}}`;
    case 'sum':
      return `{"Sum":{"variants":[${type.variants.map(namedToJson).join(',')}]}}`;
    case 'array':
      return `{"Array":${typeToJson(type.element)}}`;
    default:
      return `{"${kindName(type.kind satisfies ScalarKind)}":[]}`;
  }
}

/**
 * `{"elements":[{"name":{"some":"id"},"algebraic_type":{"U32":[]}}]}`: a product without its
 * wrapping.
 */
export function namedTypesToJson(elements: readonly NamedType[]): string {
  return `{"elements":[${elements.map(namedToJson).join(',')}]}`;
}

/**
 * Reads a type from any JSON form that values of its type can have. Throws `JsonError`.
 *
 * @example
 * ```ts
 * typeFromJson(parseJson('{"U32":[]}')); // { kind: 'u32' }
 * ```
 */
export function typeFromJson(json: JsonValue): AlgebraicType {
  return typeFromValue(valueFromJson(typeRef, json, metaTypespace));
}

export function encodeTypespace(writer: BinaryWriter, typespace: Typespace): void {
  encoderOf(typespaceType, metaTypespace)(writer, [typespace.types.map(typeToValue)]);
}

/** Reads a typespace. Throws `DecodeError`. */
export function decodeTypespace(reader: BinaryReader): Typespace {
  return typespaceFromValue(decoderOf(typespaceType, metaTypespace)(reader));
}

/** `{"types":[…]}` */
export function typespaceToJson(typespace: Typespace): string {
  return `{"types":[${typespace.types.map(typeToJson).join(',')}]}`;
}

/** Reads a typespace. Throws `JsonError`. */
export function typespaceFromJson(json: JsonValue): Typespace {
  return typespaceFromValue(valueFromJson(typespaceType, json, metaTypespace));
}

/** The kinds in the order of their tags. */
const kinds: readonly AlgebraicType['kind'][] = [
  'ref',
  'sum',
  'product',
  'array',
  'string',
  'bool',
  'i8',
  'u8',
  'i16',
  'u16',
  'i32',
  'u32',
  'i64',
  'u64',
  'i128',
  'u128',
  'i256',
  'u256',
  'f32',
  'f64',
];

const typeRef: AlgebraicType = { kind: 'ref', ref: 0 };

const namedType = product(['name', optionType({ kind: 'string' })], ['algebraic_type', typeRef]);

const metaType: AlgebraicType = sum(
  ...kinds.map((kind) => [kindName(kind), payloadType(kind)] as const),
);

const metaTypespace: Typespace = { types: [metaType] };

const typespaceType = product(['types', { kind: 'array', element: typeRef }]);

function payloadType(kind: AlgebraicType['kind']): AlgebraicType {
  switch (kind) {
    case 'ref':
      return { kind: 'u32' };
    case 'sum':
      return product(['variants', { kind: 'array', element: namedType }]);
    case 'product':
      return product(['elements', { kind: 'array', element: namedType }]);
    case 'array':
      return typeRef;
    default:
      return unitType;
  }
}

function typeToValue(type: AlgebraicType): Value {
  const tag = kinds.indexOf(type.kind);
  switch (type.kind) {
    case 'ref':
      return { tag, value: type.ref };
    case 'product':
      return { tag, value: [type.elements.map(namedToValue)] };
    case 'sum':
      return { tag, value: [type.variants.map(namedToValue)] };
    case 'array':
      return { tag, value: typeToValue(type.element) };
    default:
      return { tag, value: [] };
  }
}

function namedToValue(item: NamedType): Value {
  const name: Value =
    item.name === undefined ? { tag: 1, value: [] } : { tag: 0, value: item.name };
  return [name, typeToValue(item.type)];
}

// The casts below are safe because the codecs of `metaTypespace` return nothing else.

function typeFromValue(value: Value): AlgebraicType {
  const { tag, value: payload } = value as SumValue;
  const kind = present(kinds[tag], `kind of tag ${tag}`);
  switch (kind) {
    case 'ref':
      return { kind, ref: payload as number };
    case 'product':
      return { kind, elements: listFromValue(payload) };
    case 'sum':
      return { kind, variants: listFromValue(payload) };
    case 'array':
      return { kind, element: typeFromValue(payload) };
    default:
      return scalarTypes[kind] ?? unreachable(kind as never);
  }
}

function listFromValue(value: Value): NamedType[] {
  const [items] = value as readonly [readonly (readonly [SumValue, Value])[]];
  return items.map(([name, type]) => ({
    name: name.tag === 0 ? (name.value as string) : undefined,
    type: typeFromValue(type),
  }));
}

function typespaceFromValue(value: Value): Typespace {
  const [types] = value as readonly [readonly Value[]];
  return { types: types.map(typeFromValue) };
}

/** One object per scalar kind, so that what is compiled per type object is compiled once. */
const scalarTypes = Object.fromEntries(kinds.slice(4).map((kind) => [kind, { kind }])) as Readonly<
  Record<ScalarKind, { readonly kind: ScalarKind }>
>;

function namedToJson(item: NamedType): string {
  const name = item.name === undefined ? '{"none":[]}' : `{"some":${JSON.stringify(item.name)}}`;
  return `{"name":${name},"algebraic_type":${typeToJson(item.type)}}`;
}
