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
 *
 * @example
 * ```ts
 * const row: Value = [7n, 'Ann', { tag: 1, value: [] }];
 * encodeValue(product(['id', { kind: 'u64' }]), row.slice(0, 1)).length; // 8
 * ```
 */
export type Value = boolean | string | number | bigint | Uint8Array | readonly Value[] | SumValue;

/**
 * One chosen variant with its payload.
 *
 * @example
 * ```ts
 * const none: SumValue = { tag: 1, value: [] };
 * encodeValue(optionType({ kind: 'u8' }), none); // Uint8Array.of(1)
 * ```
 */
export interface SumValue {
  /** Zero-based index of the variant. */
  readonly tag: number;
  readonly value: Value;
}
