import type { ScalarKind } from './type.ts';

export type IntegerKind = Exclude<ScalarKind, 'string' | 'bool' | 'f32' | 'f64'>;

/** The smallest and largest value of each integer kind, inclusive. */
export const integerRange: Readonly<
  Record<IntegerKind, { readonly min: bigint; readonly max: bigint }>
> = {
  i8: signed(8n),
  u8: unsigned(8n),
  i16: signed(16n),
  u16: unsigned(16n),
  i32: signed(32n),
  u32: unsigned(32n),
  i64: signed(64n),
  u64: unsigned(64n),
  i128: signed(128n),
  u128: unsigned(128n),
  i256: signed(256n),
  u256: unsigned(256n),
};

export function isIntegerKind(kind: string): kind is IntegerKind {
  return kind in integerRange;
}

/** True for the kinds whose values are bigints, false for those whose values are numbers. */
export function isWideInteger(kind: IntegerKind): boolean {
  return integerRange[kind].max > 0xffff_ffffn;
}

function signed(bits: bigint): { min: bigint; max: bigint } {
  return { min: -(1n << (bits - 1n)), max: (1n << (bits - 1n)) - 1n };
}

function unsigned(bits: bigint): { min: bigint; max: bigint } {
  return { min: 0n, max: (1n << bits) - 1n };
}
