import type { VectorMetric } from '../../store/vector-distance.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { AggregateName } from './aggregate-names.ts';
import type { ValueType } from './value-type.ts';

/**
 * A value while a statement runs; `null` is SQL's NULL.
 *
 * | type | in JavaScript |
 * |---|---|
 * | Bool | boolean |
 * | I8…U32, F32, F64 | number |
 * | I64…U256 | bigint |
 * | String | string |
 * | Timestamp, TimeDuration | bigint, microseconds |
 * | Identity, ConnectionId, UUID | bigint |
 * | an enum | number, that of its variant |
 * | everything else | Uint8Array, its encoding |
 */
export type QueryValue = boolean | number | bigint | string | Uint8Array | null;

/** A function whose argument types are known. */
export interface ScalarFunction {
  /** Lower case. */
  readonly name: string;
  /** The types that the arguments are converted to before the call. */
  readonly parameters: readonly AlgebraicType[];
  /** True: null if any argument is null; `evaluate` never sees null. */
  readonly isStrict: boolean;
  /**
   * Whether the result can be null, given which arguments can; for functions that are not strict.
   * Absent: as `ResolvedFunction.result` says, and for strict functions also if an argument can.
   */
  readonly isNullableFor?: (isArgumentNullable: readonly boolean[]) => boolean;
  /** True: arguments after the first that is not null are not evaluated (`COALESCE`). */
  readonly isLazy?: boolean;
  /** Whether `evaluate` can throw `SqlFailure` for some arguments. */
  readonly canRaise: boolean;
  /** Whether it can, given those arguments that are constants. Absent: `canRaise`. */
  readonly canRaiseWith?: (constants: readonly (QueryValue | undefined)[]) => boolean;
  /**
   * About how many elements of arrays `evaluate` looks at, at most. It is counted before the call,
   * which is refused when one row takes far too many.
   */
  readonly elementCount?: (values: readonly QueryValue[]) => number;
  /** It measures the distance of its two arguments, which are vectors, by this metric. */
  readonly metric?: VectorMetric;
  /** `nowMicros`: the moment of the statement, microseconds since the Unix epoch. */
  readonly evaluate: (values: readonly QueryValue[], nowMicros: bigint) => QueryValue;
}

/** A function by name, before its arguments are known. */
export interface FunctionFamily {
  /** Lower case. */
  readonly name: string;
  /** For messages and the guide: `substring(text String, start I64 [, count I64]) → String`. */
  readonly signatures: readonly string[];
  /** `ARRAY[…]` as an argument takes the type of its parameter, as other literals do. */
  readonly areArraysOpen?: boolean;
  /**
   * The function for arguments of these types; `undefined` if there is none. An argument whose
   * type is open (a literal, a parameter without a type, NULL) is `undefined` in `types`, and gets
   * the type that `parameters` names.
   */
  readonly resolve: (
    types: readonly (AlgebraicType | undefined)[],
  ) => ResolvedFunction<ScalarFunction> | undefined;
}

export interface ResolvedFunction<F> {
  readonly function: F;
  /** The type of the result when no argument is null. */
  readonly result: ValueType;
}

export interface AggregateFunction {
  readonly name: AggregateName;
  /** Type of the argument; `undefined` for `COUNT(*)`. */
  readonly argument: AlgebraicType | undefined;
  readonly makeAccumulator: () => Accumulator;
  /** It keeps all values of a group, and values cannot be removed again. */
  readonly keepsValues?: boolean;
  /** The order in which it takes the values of a group, if that matters. */
  readonly order?: readonly {
    readonly isDescending: boolean;
    readonly isNullsFirst: boolean;
  }[];
}

/**
 * Collects one group. The caller leaves out null values, except for `COUNT(*)`, and for DISTINCT
 * the values that it has added before.
 */
export interface Accumulator {
  add(value: QueryValue): void;
  /**
   * Does what `finish` would take long for; false: it must pause, and be called again. Absent where
   * `finish` looks at few values.
   */
  settle?(pacer: Pacer): boolean;
  /** Throws `SqlFailure` when the result does not fit its type. */
  finish(): QueryValue;
  /** Length of the value that it holds, in characters or bytes. Absent if it holds none. */
  readonly heldLength?: number;
}

/** Says when work has to let others go on; an `ExecutionState` is one. */
export interface Pacer {
  /** Counted down, one for each step of the work. */
  ticks: number;
  /** To be called once `ticks` has run out. */
  mustPause(): boolean;
}

/** An accumulator that can also remove values that were added before. */
export interface Retractable extends Accumulator {
  remove(value: QueryValue): void;
}

/** Returns `undefined` for an accumulator that cannot remove values (MIN, MAX, …). */
export function retractable(accumulator: Accumulator): Retractable | undefined {
  return 'remove' in accumulator ? (accumulator as Retractable) : undefined;
}
