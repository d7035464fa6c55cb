import type {
  AnyType,
  Column,
  inType,
  OptionBuilder,
  outType,
  Traits,
  TypeBuilder,
} from './builder.ts';
import { type BuilderClass, columnClass } from './builder-class.ts';
import type {
  ArrayBuilder,
  ArrayModifier,
  EnumModifier,
  Fields,
  ProductBuilder,
  ResultBuilder,
  SimpleSumBuilder,
  SumBuilder,
  ValueModifier,
  Variants,
} from './composite.ts';

/** The column of a type, together with the modifiers that can still follow. */
type ColumnOf<
  Type extends TypeBuilder<any, any, any>,
  Known extends Traits,
  Allowed extends EnumModifier | ArrayModifier,
> = Column<Type[typeof outType], Type[typeof inType], Known, Allowed>;

/**
 * A column whose type is a list.
 *
 * @example
 * ```ts
 * const isColumn = t.array(t.string()).default([]) instanceof ArrayColumnBuilder;
 * ```
 */
export type ArrayColumnBuilder<
  Element extends AnyType = AnyType,
  Known extends Traits = Traits,
> = ColumnOf<ArrayBuilder<Element>, Known, ArrayModifier>;
/** The class of columns whose type is a list. */
export const ArrayColumnBuilder: BuilderClass<ArrayColumnBuilder<any>> =
  /*#__PURE__*/ columnClass('Array');

/**
 * A column whose type is bytes.
 *
 * @example
 * ```ts
 * const isColumn = t.byteArray().name('data') instanceof ByteArrayColumnBuilder;
 * ```
 */
export type ByteArrayColumnBuilder<Known extends Traits = Traits> = ColumnOf<
  TypeBuilder<Uint8Array>,
  Known,
  ValueModifier
>;
/** The class of columns whose type is bytes. */
export const ByteArrayColumnBuilder: BuilderClass<ByteArrayColumnBuilder> =
  /*#__PURE__*/ columnClass('ByteArray');

/**
 * A column whose type is a value or `undefined`.
 *
 * @example
 * ```ts
 * const isColumn = t.string().optional().index() instanceof OptionColumnBuilder;
 * ```
 */
export type OptionColumnBuilder<
  Inner extends AnyType = AnyType,
  Known extends Traits = Traits,
> = ColumnOf<OptionBuilder<Inner>, Known, 'default' | 'name' | 'index'>;
/** The class of columns whose type is a value or `undefined`. */
export const OptionColumnBuilder: BuilderClass<OptionColumnBuilder<any>> =
  /*#__PURE__*/ columnClass('Option');

/**
 * A column whose type is a named type with fields.
 *
 * @example
 * ```ts
 * const isColumn = t.object('Spot', { x: t.f32() }).name('spot') instanceof ProductColumnBuilder;
 * ```
 */
export type ProductColumnBuilder<
  F extends Fields = Fields,
  Known extends Traits = Traits,
> = ColumnOf<ProductBuilder<F>, Known, ValueModifier>;
/** The class of columns whose type is a named type with fields. */
export const ProductColumnBuilder: BuilderClass<ProductColumnBuilder<any>> =
  /*#__PURE__*/ columnClass('Product');

/**
 * A column whose type is a success or a failure.
 *
 * @example
 * ```ts
 * const isColumn = t.result(t.u32(), t.string()).default({ ok: 0 }) instanceof ResultColumnBuilder;
 * ```
 */
export type ResultColumnBuilder<
  Ok extends AnyType = AnyType,
  Err extends AnyType = AnyType,
  Known extends Traits = Traits,
> = ColumnOf<ResultBuilder<Ok, Err>, Known, 'default'>;
/** The class of columns whose type is a success or a failure. */
export const ResultColumnBuilder: BuilderClass<ResultColumnBuilder<any, any>> =
  /*#__PURE__*/ columnClass('Result');

/**
 * A column whose type is a named type with cases without payload.
 *
 * @example
 * ```ts
 * const isColumn = t.enum('Mood', ['Calm', 'Angry']).index() instanceof SimpleSumColumnBuilder;
 * ```
 */
export type SimpleSumColumnBuilder<
  Names extends string = string,
  Known extends Traits = Traits,
> = ColumnOf<SimpleSumBuilder<Names>, Known, EnumModifier>;
/** The class of columns whose type is a named type with cases without payload. */
export const SimpleSumColumnBuilder: BuilderClass<SimpleSumColumnBuilder<any>> =
  /*#__PURE__*/ columnClass('SimpleSum');

/**
 * A column whose type is a named type with cases.
 *
 * @example
 * ```ts
 * const isColumn = t.enum('Mood', { Named: t.string() }).index() instanceof SumColumnBuilder;
 * ```
 */
export type SumColumnBuilder<
  V extends Variants = Variants,
  Known extends Traits = Traits,
> = ColumnOf<SumBuilder<V>, Known, EnumModifier>;
/** The class of columns whose type is a named type with cases. */
export const SumColumnBuilder: BuilderClass<SumColumnBuilder<any>> =
  /*#__PURE__*/ columnClass('Sum');

/**
 * The modifiers of a column, as the compiler knows them.
 *
 * @example
 * ```ts
 * type Key = U64ColumnBuilder<ColumnMetadata & { primaryKey: true }>;
 * ```
 */
export type ColumnMetadata = Traits;
