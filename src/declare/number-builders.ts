import type { Builder, Column, Traits } from './builder.ts';
import { type BuilderClass, columnClass, typeClass } from './builder-class.ts';
import type { U8Builder as ByteBuilder, IntegerModifier, ValueModifier } from './composite.ts';

/**
 * The type `t.u8()`.
 *
 * @example
 * ```ts
 * const type: U8Builder = t.u8();
 * ```
 */
export type U8Builder = ByteBuilder;
/** The class of `t.u8()`: `t.u8() instanceof U8Builder`. */
export const U8Builder: BuilderClass<U8Builder> = /*#__PURE__*/ typeClass('U8');
/**
 * A column of type `t.u8()`.
 *
 * @example
 * ```ts
 * const isColumn = t.u8().autoInc() instanceof U8ColumnBuilder;
 * ```
 */
export type U8ColumnBuilder<Known extends Traits = Traits> = Column<
  number,
  number,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.u8()`. */
export const U8ColumnBuilder: BuilderClass<U8ColumnBuilder> = /*#__PURE__*/ columnClass('U8');

/**
 * The type `t.u16()`.
 *
 * @example
 * ```ts
 * const type: U16Builder = t.u16();
 * ```
 */
export type U16Builder = Builder<number, number, IntegerModifier>;
/** The class of `t.u16()`: `t.u16() instanceof U16Builder`. */
export const U16Builder: BuilderClass<U16Builder> = /*#__PURE__*/ typeClass('U16');
/**
 * A column of type `t.u16()`.
 *
 * @example
 * ```ts
 * const isColumn = t.u16().autoInc() instanceof U16ColumnBuilder;
 * ```
 */
export type U16ColumnBuilder<Known extends Traits = Traits> = Column<
  number,
  number,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.u16()`. */
export const U16ColumnBuilder: BuilderClass<U16ColumnBuilder> = /*#__PURE__*/ columnClass('U16');

/**
 * The type `t.u32()`.
 *
 * @example
 * ```ts
 * const type: U32Builder = t.u32();
 * ```
 */
export type U32Builder = Builder<number, number, IntegerModifier>;
/** The class of `t.u32()`: `t.u32() instanceof U32Builder`. */
export const U32Builder: BuilderClass<U32Builder> = /*#__PURE__*/ typeClass('U32');
/**
 * A column of type `t.u32()`.
 *
 * @example
 * ```ts
 * const isColumn = t.u32().autoInc() instanceof U32ColumnBuilder;
 * ```
 */
export type U32ColumnBuilder<Known extends Traits = Traits> = Column<
  number,
  number,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.u32()`. */
export const U32ColumnBuilder: BuilderClass<U32ColumnBuilder> = /*#__PURE__*/ columnClass('U32');

/**
 * The type `t.u64()`.
 *
 * @example
 * ```ts
 * const type: U64Builder = t.u64();
 * ```
 */
export type U64Builder = Builder<bigint, bigint, IntegerModifier>;
/** The class of `t.u64()`: `t.u64() instanceof U64Builder`. */
export const U64Builder: BuilderClass<U64Builder> = /*#__PURE__*/ typeClass('U64');
/**
 * A column of type `t.u64()`.
 *
 * @example
 * ```ts
 * const isColumn = t.u64().autoInc() instanceof U64ColumnBuilder;
 * ```
 */
export type U64ColumnBuilder<Known extends Traits = Traits> = Column<
  bigint,
  bigint,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.u64()`. */
export const U64ColumnBuilder: BuilderClass<U64ColumnBuilder> = /*#__PURE__*/ columnClass('U64');

/**
 * The type `t.u128()`.
 *
 * @example
 * ```ts
 * const type: U128Builder = t.u128();
 * ```
 */
export type U128Builder = Builder<bigint, bigint, IntegerModifier>;
/** The class of `t.u128()`: `t.u128() instanceof U128Builder`. */
export const U128Builder: BuilderClass<U128Builder> = /*#__PURE__*/ typeClass('U128');
/**
 * A column of type `t.u128()`.
 *
 * @example
 * ```ts
 * const isColumn = t.u128().autoInc() instanceof U128ColumnBuilder;
 * ```
 */
export type U128ColumnBuilder<Known extends Traits = Traits> = Column<
  bigint,
  bigint,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.u128()`. */
export const U128ColumnBuilder: BuilderClass<U128ColumnBuilder> = /*#__PURE__*/ columnClass('U128');

/**
 * The type `t.u256()`.
 *
 * @example
 * ```ts
 * const type: U256Builder = t.u256();
 * ```
 */
export type U256Builder = Builder<bigint, bigint, IntegerModifier>;
/** The class of `t.u256()`: `t.u256() instanceof U256Builder`. */
export const U256Builder: BuilderClass<U256Builder> = /*#__PURE__*/ typeClass('U256');
/**
 * A column of type `t.u256()`.
 *
 * @example
 * ```ts
 * const isColumn = t.u256().autoInc() instanceof U256ColumnBuilder;
 * ```
 */
export type U256ColumnBuilder<Known extends Traits = Traits> = Column<
  bigint,
  bigint,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.u256()`. */
export const U256ColumnBuilder: BuilderClass<U256ColumnBuilder> = /*#__PURE__*/ columnClass('U256');

/**
 * The type `t.i8()`.
 *
 * @example
 * ```ts
 * const type: I8Builder = t.i8();
 * ```
 */
export type I8Builder = Builder<number, number, IntegerModifier>;
/** The class of `t.i8()`: `t.i8() instanceof I8Builder`. */
export const I8Builder: BuilderClass<I8Builder> = /*#__PURE__*/ typeClass('I8');
/**
 * A column of type `t.i8()`.
 *
 * @example
 * ```ts
 * const isColumn = t.i8().autoInc() instanceof I8ColumnBuilder;
 * ```
 */
export type I8ColumnBuilder<Known extends Traits = Traits> = Column<
  number,
  number,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.i8()`. */
export const I8ColumnBuilder: BuilderClass<I8ColumnBuilder> = /*#__PURE__*/ columnClass('I8');

/**
 * The type `t.i16()`.
 *
 * @example
 * ```ts
 * const type: I16Builder = t.i16();
 * ```
 */
export type I16Builder = Builder<number, number, IntegerModifier>;
/** The class of `t.i16()`: `t.i16() instanceof I16Builder`. */
export const I16Builder: BuilderClass<I16Builder> = /*#__PURE__*/ typeClass('I16');
/**
 * A column of type `t.i16()`.
 *
 * @example
 * ```ts
 * const isColumn = t.i16().autoInc() instanceof I16ColumnBuilder;
 * ```
 */
export type I16ColumnBuilder<Known extends Traits = Traits> = Column<
  number,
  number,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.i16()`. */
export const I16ColumnBuilder: BuilderClass<I16ColumnBuilder> = /*#__PURE__*/ columnClass('I16');

/**
 * The type `t.i32()`.
 *
 * @example
 * ```ts
 * const type: I32Builder = t.i32();
 * ```
 */
export type I32Builder = Builder<number, number, IntegerModifier>;
/** The class of `t.i32()`: `t.i32() instanceof I32Builder`. */
export const I32Builder: BuilderClass<I32Builder> = /*#__PURE__*/ typeClass('I32');
/**
 * A column of type `t.i32()`.
 *
 * @example
 * ```ts
 * const isColumn = t.i32().autoInc() instanceof I32ColumnBuilder;
 * ```
 */
export type I32ColumnBuilder<Known extends Traits = Traits> = Column<
  number,
  number,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.i32()`. */
export const I32ColumnBuilder: BuilderClass<I32ColumnBuilder> = /*#__PURE__*/ columnClass('I32');

/**
 * The type `t.i64()`.
 *
 * @example
 * ```ts
 * const type: I64Builder = t.i64();
 * ```
 */
export type I64Builder = Builder<bigint, bigint, IntegerModifier>;
/** The class of `t.i64()`: `t.i64() instanceof I64Builder`. */
export const I64Builder: BuilderClass<I64Builder> = /*#__PURE__*/ typeClass('I64');
/**
 * A column of type `t.i64()`.
 *
 * @example
 * ```ts
 * const isColumn = t.i64().autoInc() instanceof I64ColumnBuilder;
 * ```
 */
export type I64ColumnBuilder<Known extends Traits = Traits> = Column<
  bigint,
  bigint,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.i64()`. */
export const I64ColumnBuilder: BuilderClass<I64ColumnBuilder> = /*#__PURE__*/ columnClass('I64');

/**
 * The type `t.i128()`.
 *
 * @example
 * ```ts
 * const type: I128Builder = t.i128();
 * ```
 */
export type I128Builder = Builder<bigint, bigint, IntegerModifier>;
/** The class of `t.i128()`: `t.i128() instanceof I128Builder`. */
export const I128Builder: BuilderClass<I128Builder> = /*#__PURE__*/ typeClass('I128');
/**
 * A column of type `t.i128()`.
 *
 * @example
 * ```ts
 * const isColumn = t.i128().autoInc() instanceof I128ColumnBuilder;
 * ```
 */
export type I128ColumnBuilder<Known extends Traits = Traits> = Column<
  bigint,
  bigint,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.i128()`. */
export const I128ColumnBuilder: BuilderClass<I128ColumnBuilder> = /*#__PURE__*/ columnClass('I128');

/**
 * The type `t.i256()`.
 *
 * @example
 * ```ts
 * const type: I256Builder = t.i256();
 * ```
 */
export type I256Builder = Builder<bigint, bigint, IntegerModifier>;
/** The class of `t.i256()`: `t.i256() instanceof I256Builder`. */
export const I256Builder: BuilderClass<I256Builder> = /*#__PURE__*/ typeClass('I256');
/**
 * A column of type `t.i256()`.
 *
 * @example
 * ```ts
 * const isColumn = t.i256().autoInc() instanceof I256ColumnBuilder;
 * ```
 */
export type I256ColumnBuilder<Known extends Traits = Traits> = Column<
  bigint,
  bigint,
  Known,
  IntegerModifier
>;
/** The class of columns of type `t.i256()`. */
export const I256ColumnBuilder: BuilderClass<I256ColumnBuilder> = /*#__PURE__*/ columnClass('I256');

/**
 * The type `t.f32()`.
 *
 * @example
 * ```ts
 * const type: F32Builder = t.f32();
 * ```
 */
export type F32Builder = Builder<number, number, ValueModifier>;
/** The class of `t.f32()`: `t.f32() instanceof F32Builder`. */
export const F32Builder: BuilderClass<F32Builder> = /*#__PURE__*/ typeClass('F32');
/**
 * A column of type `t.f32()`.
 *
 * @example
 * ```ts
 * const isColumn = t.f32().name('x') instanceof F32ColumnBuilder;
 * ```
 */
export type F32ColumnBuilder<Known extends Traits = Traits> = Column<
  number,
  number,
  Known,
  ValueModifier
>;
/** The class of columns of type `t.f32()`. */
export const F32ColumnBuilder: BuilderClass<F32ColumnBuilder> = /*#__PURE__*/ columnClass('F32');

/**
 * The type `t.f64()`.
 *
 * @example
 * ```ts
 * const type: F64Builder = t.f64();
 * ```
 */
export type F64Builder = Builder<number, number, ValueModifier>;
/** The class of `t.f64()`: `t.f64() instanceof F64Builder`. */
export const F64Builder: BuilderClass<F64Builder> = /*#__PURE__*/ typeClass('F64');
/**
 * A column of type `t.f64()`.
 *
 * @example
 * ```ts
 * const isColumn = t.f64().name('x') instanceof F64ColumnBuilder;
 * ```
 */
export type F64ColumnBuilder<Known extends Traits = Traits> = Column<
  number,
  number,
  Known,
  ValueModifier
>;
/** The class of columns of type `t.f64()`. */
export const F64ColumnBuilder: BuilderClass<F64ColumnBuilder> = /*#__PURE__*/ columnClass('F64');
