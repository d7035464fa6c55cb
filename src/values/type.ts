/**
 * The algebra of types. Typing is structural: names never appear in the binary encoding, and a few
 * shapes have a meaning of their own (see `special-types.ts`).
 */
export type AlgebraicType =
  | { readonly kind: 'ref'; readonly ref: number }
  | SumType
  | ProductType
  | ArrayType
  | { readonly kind: ScalarKind };

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

/** One element of a product, or one variant of a sum. */
export interface NamedType {
  readonly name: string | undefined;
  readonly type: AlgebraicType;
}

export interface ProductType {
  readonly kind: 'product';
  readonly elements: readonly NamedType[];
}

export interface SumType {
  readonly kind: 'sum';
  readonly variants: readonly NamedType[];
}

export interface ArrayType {
  readonly kind: 'array';
  readonly element: AlgebraicType;
}

/** What `ref` types index into. Recursion is legal only through a sum or an array. */
export interface Typespace {
  readonly types: readonly AlgebraicType[];
}

export const emptyTypespace: Typespace = { types: [] };
