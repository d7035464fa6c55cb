/**
 * A value as the engine holds it: lossless and positional. Its type is always known from elsewhere.
 *
 * | type | value |
 * |---|---|
 * | bool, string | boolean, string |
 * | i8 … u32, f32, f64 | number |
 * | i64 … u256 | bigint |
 * | array of u8 | `Uint8Array` |
 * | other arrays | array of values |
 * | product | array of values in declared order; unit is `[]` |
 * | sum, also option and result | `SumValue` |
 */
export type Value = boolean | string | number | bigint | Uint8Array | readonly Value[] | SumValue;

export interface SumValue {
  /** Zero-based index of the variant. */
  readonly tag: number;
  readonly value: Value;
}
