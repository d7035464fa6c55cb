import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import { integerRange } from '../values/integer-range.ts';
import type { ScheduleAt } from '../values/schedule-at.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  scheduleAtType,
  timeDurationType,
  timestampType,
  uuidType,
} from '../values/special-types.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import type { Timestamp } from '../values/timestamp.ts';
import type { AlgebraicType, ScalarKind } from '../values/type.ts';
import type { Uuid } from '../values/uuid.ts';
import {
  type AnyModifier,
  type AnyType,
  type Builder,
  type OptionBuilder,
  TypeBuilder,
} from './builder.ts';
import {
  type ArrayBuilder,
  arrayOf,
  type Fields,
  type IntegerModifier,
  type KeyModifier,
  lazyOf,
  optionOf,
  type ProductBuilder,
  productOf,
  type ResultBuilder,
  type RowBuilder,
  resultOf,
  rowOf,
  type SimpleSumBuilder,
  type SumBuilder,
  sumOf,
  type TextModifier,
  type U8Builder,
  type UnitBuilder,
  unitOf,
  type ValueModifier,
  type Variants,
} from './composite.ts';
import type { Columns } from './infer.ts';

type Integer<Value> = Builder<Value, Value, IntegerModifier>;
type Key<Value> = Builder<Value, Value, KeyModifier>;
type Plain<Value> = Builder<Value, Value, ValueModifier>;

/**
 * The types of columns, parameters and results. Widths of 64 bits and more are `bigint`, smaller
 * ones are `number`; nothing is converted silently.
 *
 * @example
 * ```ts
 * const task = table({ public: true }, {
 *   id: t.u64().primaryKey().autoInc(),
 *   title: t.string(),
 *   done: t.bool().default(false),
 *   due: t.timestamp().optional(),
 * });
 * ```
 */
export interface TypeFactory {
  bool(): Key<boolean>;
  u8(): U8Builder;
  u16(): Integer<number>;
  u32(): Integer<number>;
  u64(): Integer<bigint>;
  u128(): Integer<bigint>;
  u256(): Integer<bigint>;
  i8(): Integer<number>;
  i16(): Integer<number>;
  i32(): Integer<number>;
  i64(): Integer<bigint>;
  i128(): Integer<bigint>;
  i256(): Integer<bigint>;
  f32(): Plain<number>;
  f64(): Plain<number>;
  /** An alias of `f64`. */
  number(): Plain<number>;
  string(): Builder<string, string, TextModifier>;
  byteArray(): Plain<Uint8Array>;
  identity(): Key<Identity>;
  connectionId(): Key<ConnectionId>;
  timestamp(): Key<Timestamp>;
  timeDuration(): Key<TimeDuration>;
  uuid(): Key<Uuid>;
  /** When a row of a schedule table is due: once at a time, or repeatedly. */
  scheduleAt(): Plain<ScheduleAt>;
  /** The empty object. */
  unit(): UnitBuilder;
  array<Element extends AnyType>(element: Element): ArrayBuilder<Element>;
  option<Inner extends AnyType>(inner: Inner): OptionBuilder<Inner>;
  result<Ok extends AnyType, Err extends AnyType>(ok: Ok, err: Err): ResultBuilder<Ok, Err>;
  /** A named type with fields. A getter field can refer to the type itself. */
  object<F extends Fields>(name: string, fields: F): ProductBuilder<F>;
  /** Columns as a type; a name is needed only where no table gives one. */
  row<C extends Columns>(columns: C): RowBuilder<C>;
  row<C extends Columns>(name: string, columns: C): RowBuilder<C>;
  /** A named type with cases, each with or without a payload. */
  enum<const Names extends readonly string[]>(
    name: string,
    cases: Names,
  ): SimpleSumBuilder<Names[number]>;
  enum<V extends Variants>(name: string, cases: V): SumBuilder<V>;
  /** The type that `make` returns; `make` is called when the type is first needed. */
  lazy<Out, In, Allowed extends AnyModifier>(
    make: () => TypeBuilder<Out, In, Allowed>,
  ): Builder<Out, In, Allowed>;
}

/**
 * The types of columns, parameters and results.
 *
 * @example
 * ```ts
 * const Mood = t.enum('Mood', ['Calm', 'Angry']);
 * const pet = table({}, { id: t.u32().primaryKey(), mood: Mood, tags: t.array(t.string()) });
 * ```
 */
export const t: TypeFactory = {
  ...scalars(),
  byteArray: plain('ByteArray', bytesType),
  identity: plain('Identity', identityType),
  connectionId: plain('ConnectionId', connectionIdType),
  timestamp: plain('Timestamp', timestampType),
  timeDuration: plain('TimeDuration', timeDurationType),
  uuid: plain('Uuid', uuidType),
  scheduleAt: plain('ScheduleAt', scheduleAtType),
  unit: unitOf,
  array: arrayOf,
  option: optionOf,
  result: resultOf,
  object: (name: string, fields: Fields) => productOf('Product', name, fields),
  row: (nameOrColumns: string | Columns, columns?: Columns) =>
    typeof nameOrColumns === 'string'
      ? productOf('Row', nameOrColumns, columns ?? {})
      : rowOf(nameOrColumns),
  enum: sumOf,
  lazy: lazyOf,
  // The interface above is the contract; these functions only build shapes.
} as any;

/** Types have no state, so one builder serves every column of that type. */
function plain(family: string, type: AlgebraicType): () => AnyType {
  const builder = new TypeBuilder({ kind: 'plain', family, type });
  return () => builder;
}

/** The family of a scalar is its kind with a capital letter. */
function scalars(): Record<string, () => AnyType> {
  const made: Record<string, () => AnyType> = {};
  for (const kind of [...Object.keys(integerRange), 'bool', 'string', 'f32', 'f64']) {
    const family = kind.charAt(0).toUpperCase() + kind.slice(1);
    made[kind] = plain(family, { kind: kind as ScalarKind });
  }
  made.number = made.f64 as () => AnyType;
  return made;
}
