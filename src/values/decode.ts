import { limits } from '../limits.ts';
import { BinaryReader, tooDeep, unknownTag } from './binary-reader.ts';
import { fixedSizeOf } from './layout.ts';
import { perType } from './per-type.ts';
import { productDepthMax } from './special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';
import type { Value } from './value.ts';

export type Decoder = (reader: BinaryReader) => Value;

type DeepDecoder = (reader: BinaryReader, depth: number) => Value;

/**
 * The decoder of `type`, compiled once per type object. It throws `DecodeError` and nothing else.
 */
export const decoderOf: (type: AlgebraicType, typespace?: Typespace) => Decoder = perType(
  (type, typespace) => {
    const decode = deepDecoderOf(type, typespace);
    return (reader) => {
      reader.beginValue();
      return decode(reader, 0);
    };
  },
);

/**
 * The value at the start of `bytes`. Bytes after it are ignored, as everywhere on the wire.
 *
 * @example
 * ```ts
 * decodeValue(product(['id', { kind: 'u16' }]), Uint8Array.of(7, 0)); // [7]
 * ```
 */
export function decodeValue(type: AlgebraicType, bytes: Uint8Array, typespace?: Typespace): Value {
  return decoderOf(type, typespace)(new BinaryReader(bytes));
}

const deepDecoderOf: (type: AlgebraicType, typespace?: Typespace) => DeepDecoder = perType(
  (type, typespace) => {
    switch (type.kind) {
      case 'ref': {
        let target: DeepDecoder | undefined;
        return (reader, depth) => {
          target ??= deepDecoderOf(resolveType(type, typespace), typespace);
          return target(reader, depth);
        };
      }
      case 'product':
        return productDecoder(type.elements, typespace);
      case 'sum':
        return sumDecoder(
          type.variants.map((variant) => variant.type),
          typespace,
        );
      case 'array':
        return type.element.kind === 'u8'
          ? (reader) => reader.bytes()
          : arrayDecoder(type.element, typespace);
      default:
        return scalarDecoders[type.kind];
    }
  },
);

function productDecoder(elements: readonly NamedType[], typespace: Typespace): DeepDecoder {
  const decoders = elements.map((element) => deepDecoderOf(element.type, typespace));
  const depthMax = productDepthMax(elements);
  return (reader, depth) => {
    if (depth >= depthMax) throw tooDeep();
    const values: Value[] = [];
    for (const decode of decoders) values.push(decode(reader, depth + 1));
    return values;
  };
}

function sumDecoder(types: readonly AlgebraicType[], typespace: Typespace): DeepDecoder {
  const decoders = types.map((type) => deepDecoderOf(type, typespace));
  return (reader, depth) => {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const tag = reader.u8();
    const decode = decoders[tag];
    if (decode === undefined) throw unknownTag(tag);
    return { tag, value: decode(reader, depth + 1) };
  };
}

function arrayDecoder(element: AlgebraicType, typespace: Typespace): DeepDecoder {
  const isEmpty = fixedSizeOf(element, typespace) === 0;
  const decode = deepDecoderOf(element, typespace);
  return (reader, depth) => {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const values: Value[] = [];
    for (let left = reader.count(isEmpty); left > 0; left -= 1) {
      values.push(decode(reader, depth + 1));
    }
    return values;
  };
}

const scalarDecoders: Readonly<Record<ScalarKind, DeepDecoder>> = {
  string: (reader) => reader.string(),
  bool: (reader) => reader.bool(),
  i8: (reader) => reader.i8(),
  u8: (reader) => reader.u8(),
  i16: (reader) => reader.i16(),
  u16: (reader) => reader.u16(),
  i32: (reader) => reader.i32(),
  u32: (reader) => reader.u32(),
  i64: (reader) => reader.i64(),
  u64: (reader) => reader.u64(),
  i128: (reader) => reader.i128(),
  u128: (reader) => reader.u128(),
  i256: (reader) => reader.i256(),
  u256: (reader) => reader.u256(),
  f32: (reader) => reader.f32(),
  f64: (reader) => reader.f64(),
};
