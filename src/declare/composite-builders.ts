import type { AnyType, Builder, OptionBuilder as OptionOf } from './builder.ts';
import { type BuilderClass, typeClass } from './builder-class.ts';
import type {
  ArrayBuilder as ArrayOf,
  Fields,
  ProductBuilder as ProductOf,
  ResultBuilder as ResultOf,
  RowBuilder as RowOf,
  SimpleSumBuilder as SimpleSumOf,
  SumBuilder as SumOf,
  ValueModifier,
  Variants,
} from './composite.ts';
import type { Columns } from './infer.ts';

/**
 * The type of a list.
 *
 * @example
 * ```ts
 * const isArray = t.array(t.string()) instanceof ArrayBuilder;
 * ```
 */
export type ArrayBuilder<Element extends AnyType = AnyType> = ArrayOf<Element>;
/** The class of `t.array(t.string())`. */
export const ArrayBuilder: BuilderClass<ArrayBuilder<any>> = /*#__PURE__*/ typeClass('Array');

/**
 * The type of bytes.
 *
 * @example
 * ```ts
 * const isByteArray = t.byteArray() instanceof ByteArrayBuilder;
 * ```
 */
export type ByteArrayBuilder = Builder<Uint8Array, Uint8Array, ValueModifier>;
/** The class of `t.byteArray()`. */
export const ByteArrayBuilder: BuilderClass<ByteArrayBuilder> =
  /*#__PURE__*/ typeClass('ByteArray');

/**
 * The type of a value or `undefined`.
 *
 * @example
 * ```ts
 * const isOption = t.string().optional() instanceof OptionBuilder;
 * ```
 */
export type OptionBuilder<Inner extends AnyType = AnyType> = OptionOf<Inner>;
/** The class of `t.string().optional()`. */
export const OptionBuilder: BuilderClass<OptionBuilder<any>> = /*#__PURE__*/ typeClass('Option');

/**
 * The type of a success or a failure.
 *
 * @example
 * ```ts
 * const isResult = t.result(t.u32(), t.string()) instanceof ResultBuilder;
 * ```
 */
export type ResultBuilder<Ok extends AnyType = AnyType, Err extends AnyType = AnyType> = ResultOf<
  Ok,
  Err
>;
/** The class of `t.result(t.u32(), t.string())`. */
export const ResultBuilder: BuilderClass<ResultBuilder<any, any>> =
  /*#__PURE__*/ typeClass('Result');

/**
 * The type of a named type with fields.
 *
 * @example
 * ```ts
 * const isProduct = t.object('Spot', { x: t.f32() }) instanceof ProductBuilder;
 * ```
 */
export type ProductBuilder<F extends Fields = Fields> = ProductOf<F>;
/** The class of `t.object('Spot', { x: t.f32() })`. */
export const ProductBuilder: BuilderClass<ProductBuilder<any>> = /*#__PURE__*/ typeClass('Product');

/**
 * The type of the columns of a row.
 *
 * @example
 * ```ts
 * const isRow = hero.rowType instanceof RowBuilder;
 * ```
 */
export type RowBuilder<C extends Columns = Columns> = RowOf<C>;
/** The class of `hero.rowType`. */
export const RowBuilder: BuilderClass<RowBuilder<any>> = /*#__PURE__*/ typeClass('Row');

/**
 * The type of a named type with cases.
 *
 * @example
 * ```ts
 * const isSum = t.enum('Mood', { Calm: t.unit(), Named: t.string() }) instanceof SumBuilder;
 * ```
 */
export type SumBuilder<V extends Variants = Variants> = SumOf<V>;
/** The class of `t.enum('Mood', { Calm: t.unit(), Named: t.string() })`. */
export const SumBuilder: BuilderClass<SumBuilder<any>> = /*#__PURE__*/ typeClass('Sum');

/**
 * The type of a named type with cases without payload.
 *
 * @example
 * ```ts
 * const isSimpleSum = t.enum('Mood', ['Calm', 'Angry']) instanceof SimpleSumBuilder;
 * ```
 */
export type SimpleSumBuilder<Names extends string = string> = SimpleSumOf<Names>;
/** The class of `t.enum('Mood', ['Calm', 'Angry'])`. */
export const SimpleSumBuilder: BuilderClass<SimpleSumBuilder<any>> =
  /*#__PURE__*/ typeClass('SimpleSum');

/**
 * The type of a type that is resolved at first use.
 *
 * @example
 * ```ts
 * const isRef = t.lazy(() => Thread) instanceof RefBuilder;
 * ```
 */
export type RefBuilder<Inner extends AnyType = AnyType> = Inner;
/** The class of `t.lazy(() => Thread)`. */
export const RefBuilder: BuilderClass<RefBuilder<any>> = /*#__PURE__*/ typeClass('Lazy');
