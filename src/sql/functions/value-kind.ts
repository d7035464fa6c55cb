import { isIntegerKind } from '../../values/integer-range.ts';
import {
  type SpecialProductKind,
  specialElements,
  specialProductKindOf,
} from '../../values/special-types.ts';
import type { AlgebraicType, ScalarKind, Typespace } from '../../values/type.ts';
import { emptyTypespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { enumNames } from './enum.ts';

/**
 * How SQL treats a type. `composite` stands for all that can only be read whole or taken apart:
 * products, sums that carry something, and arrays of anything but bytes.
 */
export type ValueKind = ScalarKind | SpecialProductKind | 'bytes' | 'enum' | 'composite';

/** A ref that leads nowhere in `typespace` is composite: only recursive types still have refs. */
export function valueKindOf(type: AlgebraicType, typespace: Typespace = emptyTypespace): ValueKind {
  const target = withoutRef(type, typespace);
  switch (target.kind) {
    case 'product':
      return specialProductKindOf(target) ?? 'composite';
    case 'sum':
      return enumNames(target) === undefined ? 'composite' : 'enum';
    case 'ref':
      return 'composite';
    case 'array':
      return withoutRef(target.element, typespace).kind === 'u8' ? 'bytes' : 'composite';
    default:
      return target.kind;
  }
}

function withoutRef(type: AlgebraicType, typespace: Typespace): AlgebraicType {
  const isKnown = type.kind !== 'ref' || typespace.types[type.ref] !== undefined;
  return isKnown ? resolveType(type, typespace) : type;
}

/**
 * The scalar that holds values of this kind while a statement runs; `undefined` for kinds that stay
 * encoded.
 */
export function scalarOfKind(kind: ValueKind): ScalarKind | undefined {
  switch (kind) {
    case 'bytes':
    case 'composite':
      return undefined;
    // The number of a variant is all that its encoding has.
    case 'enum':
      return 'u8';
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

/** True for the kinds that arithmetic and numeric functions take. */
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
