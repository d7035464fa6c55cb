import { isIntegerKind } from '../../../values/integer-range.ts';
import {
  type SpecialProductKind,
  specialElements,
  specialProductKindOf,
} from '../../../values/special-types.ts';
import type { AlgebraicType, ScalarKind, Typespace } from '../../../values/type.ts';
import { emptyTypespace } from '../../../values/type.ts';
import { resolveType } from '../../../values/typespace.ts';

/**
 * What SQL knows a type as. `composite` stands for all that can only be read whole or taken apart:
 * products, sums, and arrays of anything but bytes.
 */
export type ValueKind = ScalarKind | SpecialProductKind | 'bytes' | 'composite';

export function valueKindOf(type: AlgebraicType, typespace: Typespace = emptyTypespace): ValueKind {
  const target = resolveType(type, typespace);
  switch (target.kind) {
    case 'product':
      return specialProductKindOf(target) ?? 'composite';
    case 'sum':
      return 'composite';
    case 'array':
      return resolveType(target.element, typespace).kind === 'u8' ? 'bytes' : 'composite';
    default:
      return target.kind;
  }
}

/**
 * The scalar that values of this kind are while a statement runs; `undefined` for those that stay
 * encoded.
 */
export function scalarOfKind(kind: ValueKind): ScalarKind | undefined {
  switch (kind) {
    case 'bytes':
    case 'composite':
      return undefined;
    case 'identity':
    case 'connectionId':
    case 'timestamp':
    case 'timeDuration':
    case 'uuid':
      return specialElements[kind].kind;
    default:
      return kind;
  }
}

/** True for I8 to U256. */
export function isIntegerType(type: AlgebraicType): boolean {
  return isIntegerKind(type.kind);
}

/** True for F32 and F64. */
export function isFloatType(type: AlgebraicType): boolean {
  return type.kind === 'f32' || type.kind === 'f64';
}

/** True for what arithmetic and numeric functions take. */
export function isNumericType(type: AlgebraicType): boolean {
  return isIntegerType(type) || isFloatType(type);
}

/** One object for each scalar type: what is compiled per type is compiled once. */
export const scalarTypes: Readonly<Record<ScalarKind, AlgebraicType>> = {
  string: { kind: 'string' },
  bool: { kind: 'bool' },
  i8: { kind: 'i8' },
  u8: { kind: 'u8' },
  i16: { kind: 'i16' },
  u16: { kind: 'u16' },
  i32: { kind: 'i32' },
  u32: { kind: 'u32' },
  i64: { kind: 'i64' },
  u64: { kind: 'u64' },
  i128: { kind: 'i128' },
  u128: { kind: 'u128' },
  i256: { kind: 'i256' },
  u256: { kind: 'u256' },
  f32: { kind: 'f32' },
  f64: { kind: 'f64' },
};
