/**
 * The algebra of types. Typing is structural: names never appear in the binary encoding, and a few
 * shapes have a meaning of their own (see `special-types.ts`).
 *
 * @example
 * ```ts
 * const type: AlgebraicType = { kind: 'array', element: { kind: 'u8' } };
 * typeText(type); // 'Array<U8>'
 * ```
 */
export type AlgebraicType =
  | { readonly kind: 'ref'; readonly ref: number }
  | SumType
  | ProductType
  | ArrayType
  | { readonly kind: ScalarKind };

/**
 * The kinds without inner types.
 *
 * @example
 * ```ts
 * const kind: ScalarKind = 'u32';
 * typeText({ kind }); // 'U32'
 * ```
 */
export type ScalarKind =
  | 'string'
  | 'bool'
  | 'i8'
  | 'u8'
  | 'i16'
  | 'u16'
  | 'i32'
  | 'u32'
  | 'i64'
  | 'u64'
  | 'i128'
  | 'u128'
  | 'i256'
  | 'u256'
  | 'f32'
  | 'f64';

/**
 * One element of a product, or one variant of a sum.
 *
 * @example
 * ```ts
 * const element: NamedType = { name: 'id', type: { kind: 'u32' } };
 * typeText({ kind: 'product', elements: [element] }); // '(id: U32)'
 * ```
 */
export interface NamedType {
  readonly name: string | undefined;
  readonly type: AlgebraicType;
}

/**
 * One value per element, in declared order.
 *
 * @example
 * ```ts
 * const row: ProductType = product(['id', { kind: 'u32' }]);
 * row.elements.length; // 1
 * ```
 */
export interface ProductType {
  readonly kind: 'product';
  readonly elements: readonly NamedType[];
}

/**
 * One value of one of the variants.
 *
 * @example
 * ```ts
 * const color: SumType = sum(['Red', unitType], ['Green', unitType]);
 * color.variants.length; // 2
 * ```
 */
export interface SumType {
  readonly kind: 'sum';
  readonly variants: readonly NamedType[];
}

/**
 * Any number of values of one type.
 *
 * @example
 * ```ts
 * const list: ArrayType = { kind: 'array', element: { kind: 'u32' } };
 * encodeValue(list, [7]); // Uint8Array.of(1, 0, 0, 0, 7, 0, 0, 0)
 * ```
 */
export interface ArrayType {
  readonly kind: 'array';
  readonly element: AlgebraicType;
}

/**
 * The list that `ref` types index into. Recursion is legal only through a sum or an array.
 *
 * @example
 * ```ts
 * const typespace: Typespace = { types: [{ kind: 'u8' }] };
 * decodeValue({ kind: 'ref', ref: 0 }, Uint8Array.of(7), typespace); // 7
 * ```
 */
export interface Typespace {
  readonly types: readonly AlgebraicType[];
}

/**
 * The typespace of types without refs.
 *
 * @example
 * ```ts
 * emptyTypespace.types.length; // 0
 * ```
 */
export const emptyTypespace: Typespace = { types: [] };
