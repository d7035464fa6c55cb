import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { BinaryWriter } from './binary-writer.ts';
import { type IntegerKind, integerRange } from './integer-range.ts';
import { perType } from './per-type.ts';
import { productDepthMax } from './special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';
import type { SumValue, Value } from './value.ts';

export type Encoder = (writer: BinaryWriter, value: Value) => void;

type DeepEncoder = (writer: BinaryWriter, value: Value, depth: number) => void;

/**
 * The encoder of `type`, compiled once per type object. Asserts that the value is of that type: the
 * engine's values were checked where they entered.
 */
export const encoderOf: (type: AlgebraicType, typespace?: Typespace) => Encoder = perType(
  (type, typespace) => {
    const encode = deepEncoderOf(type, typespace);
    return (writer, value) => encode(writer, value, 0);
  },
);

/**
 * The encoding of one value, in bytes of its own.
 *
 * @example
 * ```ts
 * encodeValue(product(['id', { kind: 'u16' }]), [7]); // Uint8Array.of(7, 0)
 * ```
 */
export function encodeValue(type: AlgebraicType, value: Value, typespace?: Typespace): Uint8Array {
  const writer = new BinaryWriter();
  encoderOf(type, typespace)(writer, value);
  return writer.finish();
}

const deepEncoderOf: (type: AlgebraicType, typespace?: Typespace) => DeepEncoder = perType(
  (type, typespace) => {
    switch (type.kind) {
      case 'ref': {
        let target: DeepEncoder | undefined;
        return (writer, value, depth) => {
          target ??= deepEncoderOf(resolveType(type, typespace), typespace);
          target(writer, value, depth);
        };
      }
      case 'product':
        return productEncoder(type.elements, typespace);
      case 'sum':
        return sumEncoder(
          type.variants.map((variant) => variant.type),
          typespace,
        );
      case 'array':
        return type.element.kind === 'u8' ? encodeBytes : arrayEncoder(type.element, typespace);
      default:
        return scalarEncoders[type.kind];
    }
  },
);

function productEncoder(elements: readonly NamedType[], typespace: Typespace): DeepEncoder {
  const encoders = elements.map((element) => deepEncoderOf(element.type, typespace));
  const depthMax = productDepthMax(elements);
  return (writer, value, depth) => {
    assert(depth < depthMax, 'value is nested too deeply');
    assert(Array.isArray(value), 'a product is an array of values');
    assert(value.length === encoders.length, 'a product has one value per element');
    for (const [index, encode] of encoders.entries()) {
      encode(writer, value[index] as Value, depth + 1);
    }
  };
}

function sumEncoder(types: readonly AlgebraicType[], typespace: Typespace): DeepEncoder {
  const encoders = types.map((type) => deepEncoderOf(type, typespace));
  return (writer, value, depth) => {
    assert(depth < limits.nestingDepthMax, 'value is nested too deeply');
    assert(isSumValue(value), 'a sum is { tag, value }');
    const encode = encoders[value.tag];
    assert(encode !== undefined, `a sum has a variant for its tag: ${value.tag}`);
    writer.u8(value.tag);
    encode(writer, value.value, depth + 1);
  };
}

function arrayEncoder(element: AlgebraicType, typespace: Typespace): DeepEncoder {
  const encode = deepEncoderOf(element, typespace);
  return (writer, value, depth) => {
    assert(depth < limits.nestingDepthMax, 'value is nested too deeply');
    assert(Array.isArray(value), 'an array is an array of values');
    writer.u32(value.length);
    for (const item of value as readonly Value[]) encode(writer, item, depth + 1);
  };
}

function encodeBytes(writer: BinaryWriter, value: Value): void {
  assert(value instanceof Uint8Array, 'an array of u8 is a Uint8Array');
  writer.bytes(value);
}

function isSumValue(value: Value): value is SumValue {
  return typeof value === 'object' && 'tag' in value;
}

const scalarEncoders: Readonly<Record<ScalarKind, DeepEncoder>> = {
  string: (writer, value) => {
    assert(typeof value === 'string', 'a string is a string');
    writer.string(value);
  },
  bool: (writer, value) => {
    assert(typeof value === 'boolean', 'a bool is a boolean');
    writer.bool(value);
  },
  i8: (writer, value) => writer.i8(checkedNumber('i8', value)),
  u8: (writer, value) => writer.u8(checkedNumber('u8', value)),
  i16: (writer, value) => writer.i16(checkedNumber('i16', value)),
  u16: (writer, value) => writer.u16(checkedNumber('u16', value)),
  i32: (writer, value) => writer.i32(checkedNumber('i32', value)),
  u32: (writer, value) => writer.u32(checkedNumber('u32', value)),
  i64: (writer, value) => writer.i64(checkedBigint('i64', value)),
  u64: (writer, value) => writer.u64(checkedBigint('u64', value)),
  i128: (writer, value) => writer.i128(checkedBigint('i128', value)),
  u128: (writer, value) => writer.u128(checkedBigint('u128', value)),
  i256: (writer, value) => writer.i256(checkedBigint('i256', value)),
  u256: (writer, value) => writer.u256(checkedBigint('u256', value)),
  f32: (writer, value) => {
    assert(typeof value === 'number', 'an f32 is a number');
    writer.f32(value);
  },
  f64: (writer, value) => {
    assert(typeof value === 'number', 'an f64 is a number');
    writer.f64(value);
  },
};

function checkedNumber(kind: IntegerKind, value: Value): number {
  const { min, max } = integerRange[kind];
  const fits = typeof value === 'number' && value >= min && value <= max && value % 1 === 0;
  assert(fits, `the value is not in the range of ${kind}`);
  return value;
}

function checkedBigint(kind: IntegerKind, value: Value): bigint {
  const { min, max } = integerRange[kind];
  const fits = typeof value === 'bigint' && value >= min && value <= max;
  assert(fits, `the value is not in the range of ${kind}`);
  return value;
}
