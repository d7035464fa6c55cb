import {
  type AnyBuilder,
  type AnyType,
  type Builder,
  type inType,
  type OptionBuilder,
  type outType,
  type Shape,
  shapeOf,
  TypeBuilder,
} from './builder.ts';
import type { Columns, RowInput, RowOf } from './infer.ts';

/** Modifiers by kind of type. Floats, arrays and the like can be neither keys nor be indexed. */
export type ValueModifier = 'default' | 'name';
export type ArrayModifier = ValueModifier | 'arrayIndex';
export type VectorModifier = ValueModifier | 'vectorIndex';
export type EnumModifier = ValueModifier | 'index' | 'primaryKey';
export type KeyModifier = EnumModifier | 'unique';
export type TextModifier = KeyModifier | 'textIndex';
export type IntegerModifier = KeyModifier | 'autoInc';

export declare const columnsType: unique symbol;
export declare const elementType: unique symbol;
export declare const fieldsType: unique symbol;
export declare const isUnit: unique symbol;
export declare const isByte: unique symbol;

/** The value of `t.unit()`. */
export type Unit = Record<never, never>;

export type UnitBuilder = TypeBuilder<Unit> & { readonly [isUnit]: true };
export type U8Builder = Builder<number, number, IntegerModifier> & { readonly [isByte]: true };

/** A list. A list of bytes is read as `Uint8Array` and can be written as either. */
export type ArrayBuilder<Element extends AnyType> = Builder<
  Element[typeof outType][],
  | readonly Element[typeof inType][]
  | (Element extends { readonly [isByte]: true } ? Uint8Array : never),
  ArrayModifier
> & { readonly [elementType]: Element };

/** A list of so many `f32`. A `Float32Array` can be written as well. */
export type VectorBuilder = Builder<number[], readonly number[] | Float32Array, VectorModifier>;

/** A success or a failure. The bare `Ok | Err` is accepted only by the compiler, for older code. */
export type ResultBuilder<Ok extends AnyType, Err extends AnyType> = Builder<
  { ok: Ok[typeof outType] } | { err: Err[typeof outType] },
  { ok: Ok[typeof inType] } | { err: Err[typeof inType] } | Ok[typeof inType] | Err[typeof inType],
  'default'
>;

/**
 * Fields of a type, by name and in order.
 *
 * @example
 * ```ts
 * const count = (fields: ElementsObj) => Object.keys(fields).length;
 * ```
 */
export type Fields = Readonly<Record<string, AnyType>>;

export type ProductBuilder<F extends Fields> = Builder<
  { -readonly [Key in keyof F]: F[Key][typeof outType] },
  RowInput<F>,
  ValueModifier
> & { readonly [fieldsType]: F };

/**
 * The columns of a row. A table's `rowType` is one.
 *
 * @example
 * ```ts
 * const namesOf = (row: RowBuilder<RowObj>) => Object.keys(row.row);
 * ```
 */
export type RowBuilder<C extends Columns> = TypeBuilder<RowOf<C>, RowInput<C>> & {
  readonly [columnsType]: C;
  /** The columns: `InferTypeOfRow<typeof hero.rowType.row>` is a row of `hero`. */
  readonly row: C;
};

/**
 * Cases of a type, by name and in order.
 *
 * @example
 * ```ts
 * const count = (cases: VariantsObj) => Object.keys(cases).length;
 * ```
 */
export type Variants = Readonly<Record<string, AnyType>>;

/** One of several cases. Carries a constructor for each: `Mood.Calm`, `Mood.Named('x')`. */
export type SumBuilder<V extends Variants> = Builder<
  SumValue<V, typeof outType>,
  SumValue<V, typeof inType>,
  EnumModifier
> &
  Constructors<V>;

/** Cases without payloads, declared by a list of names. */
export type SimpleSumBuilder<Names extends string> = SumBuilder<Record<Names, UnitBuilder>>;

type SumValue<V extends Variants, Side extends typeof outType | typeof inType> = {
  [Tag in keyof V & string]: V[Tag] extends { readonly [isUnit]: true }
    ? { tag: Tag }
    : { tag: Tag; value: V[Tag][Side] };
}[keyof V & string];

type Constructors<V extends Variants> = {
  readonly [Tag in keyof V & string]: V[Tag] extends { readonly [isUnit]: true }
    ? { readonly tag: Tag }
    : (value: V[Tag][typeof inType]) => { tag: Tag; value: V[Tag][typeof outType] };
};

/** With a length it is a vector: `t.vector` of modules. */
export function arrayOf(element: AnyType, length?: number): AnyType {
  return new TypeBuilder({ kind: 'array', family: 'Array', element, length });
}

/** How many elements a vector has, or one that need not be there; `undefined` for other types. */
export function vectorLengthOf(builder: AnyType): number | undefined {
  const shape = resolved(builder);
  if (shape.kind === 'option') return vectorLengthOf(shape.inner);
  return shape.kind === 'array' ? shape.length : undefined;
}

export function optionOf<Inner extends AnyType>(inner: Inner): OptionBuilder<Inner> {
  return inner.optional();
}

export function resultOf(ok: AnyType, err: AnyType): AnyType {
  return new TypeBuilder({ kind: 'result', family: 'Result', ok, err });
}

export function productOf(
  family: 'Product' | 'Row',
  name: string | undefined,
  fields: Readonly<Record<string, AnyBuilder>>,
): AnyType {
  const builder = new TypeBuilder({ kind: 'product', family, name, fields });
  if (family === 'Row') Object.assign(builder, { row: fields });
  return builder;
}

/** The row builder of `columns`, which may be one already. */
export function rowOf<C extends Columns>(columns: C | RowBuilder<C>): RowBuilder<C> {
  const row = columns instanceof TypeBuilder ? columns : productOf('Row', undefined, columns);
  return row as RowBuilder<C>;
}

/** The columns of a row builder. */
export function columnsOf(row: AnyType): Columns {
  const shape = resolved(row);
  if (shape.kind !== 'product') throw new TypeError('expected a row: t.row({ … }) or columns');
  return shape.fields;
}

/** The shape behind `t.lazy`, which is resolved once. */
export function resolved(builder: AnyType): Exclude<Shape, { kind: 'lazy' }> {
  let shape = shapeOf(builder);
  while (shape.kind === 'lazy') shape = shapeOf(shape.resolve());
  return shape;
}

export function lazyOf(resolve: () => AnyType): AnyType {
  let inner: AnyType | undefined;
  const once = () => {
    inner ??= resolve();
    return inner;
  };
  return new TypeBuilder({ kind: 'lazy', family: 'Lazy', resolve: once });
}

/** A sum with its constructors. A case declared by a getter is not evaluated here. */
export function sumOf(name: string, cases: Variants | readonly string[]): AnyType {
  const isList = Array.isArray(cases);
  const variants = isList ? Object.fromEntries(cases.map((tag) => [tag, unit])) : cases;
  const family = isList ? 'SimpleSum' : 'Sum';
  const builder = new TypeBuilder({ kind: 'sum', family, name, variants: variants as Variants });
  for (const [tag, property] of Object.entries(Object.getOwnPropertyDescriptors(variants))) {
    const value =
      property.value !== undefined && isUnitType(property.value)
        ? Object.freeze({ tag })
        : (value: unknown) => ({ tag, value });
    Object.defineProperty(builder, tag, { value, enumerable: true });
  }
  return builder;
}

const unit = new TypeBuilder({ kind: 'product', family: 'Unit', name: undefined, fields: {} });

export function unitOf(): AnyType {
  return unit;
}

/** True for the unit type, which has no definition of its own: it is written inline. */
export function isUnitType(builder: AnyType): boolean {
  return shapeOf(builder).family === 'Unit';
}
