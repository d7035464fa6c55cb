/**
 * Aggregates over the rows of a group.
 *
 * | aggregate | argument | result |
 * |---|---|---|
 * | COUNT | any, or rows | U64 |
 * | SUM | I8…I32, U8…U32 | I64, U64 |
 * | SUM | I64, U64; wider | I128, U128; the same |
 * | SUM | F32, F64; TimeDuration | F64; TimeDuration |
 * | AVG | any number; TimeDuration | F64; TimeDuration |
 * | MIN, MAX | any type that has an order | the same |
 * | BOOL_AND, BOOL_OR | Bool | Bool |
 * | STDDEV, VARIANCE, MEDIAN and their kin (`keeping-aggregates.ts`) | any number | F64 |
 *
 * All but COUNT are null for a group without values. No result depends on the order of the rows, so
 * values can be removed again, except from MIN and MAX: they do not know what comes next.
 */
import { assert } from '../../assert.ts';
import { type IntegerKind, integerRange, isIntegerKind } from '../../values/integer-range.ts';
import { timeDurationType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { invalid } from '../failure.ts';
import {
  aggregateNamed,
  isKeepingAggregate,
  type KeepingAggregateName,
  type RunningAggregateName,
} from './aggregate-names.ts';
import { integerOverflow } from './arithmetic.ts';
import { canonicalOf, hasRefs } from './canonical.ts';
import { orderOf } from './conditional.ts';
import { ExactSum } from './exact-sum.ts';
import type {
  Accumulator,
  AggregateFunction,
  QueryValue,
  ResolvedFunction,
  Retractable,
} from './function.ts';
import { medianAggregate, spreadAggregate } from './keeping-aggregates.ts';
import { isFloatType, isNumericType, scalarTypes, valueKindOf } from './value-kind.ts';
import type { ValueType } from './value-type.ts';

/**
 * `argument` is `undefined` for `COUNT(*)`; the result is `undefined` if no such aggregate exists.
 * DISTINCT uses the same accumulator: the caller leaves out values that it added before.
 */
export function findAggregate(
  name: string,
  argument: AlgebraicType | undefined,
  isDistinct: boolean,
): ResolvedFunction<AggregateFunction> | undefined {
  const found = aggregateNamed(name.toLowerCase());
  if (found === undefined) return undefined;
  // Values of recursive types are counted, but not compared.
  const isCompared = isDistinct || found !== 'count';
  if (isCompared && argument !== undefined && hasRefs(argument)) return undefined;
  if (isKeepingAggregate(found)) return keepingOf(found, argument);
  const made = makerOf(found, argument);
  if (made === undefined) return undefined;
  const { make, result } = made;
  return {
    function: {
      name: found,
      argument,
      makeAccumulator: make,
    },
    result: { type: result, isNullable: found !== 'count' },
  };
}

/** Those that keep one number of each row; the others have their own way to be made. */
function keepingOf(
  name: KeepingAggregateName,
  argument: AlgebraicType | undefined,
): ResolvedFunction<AggregateFunction> | undefined {
  if (argument === undefined || !isNumericType(argument)) return undefined;
  const result: ValueType = { type: scalarTypes.f64, isNullable: true };
  switch (name) {
    case 'median':
      return { function: medianAggregate(), result };
    case 'string_agg':
    case 'array_agg':
    case 'percentile_cont':
    case 'percentile_disc':
      return undefined;
    default:
      return { function: spreadAggregate(name), result };
  }
}

interface Made {
  readonly make: () => Accumulator;
  readonly result: AlgebraicType;
}

function makerOf(
  name: RunningAggregateName,
  argument: AlgebraicType | undefined,
): Made | undefined {
  if (name === 'count') return { make: () => new Count(), result: scalarTypes.u64 };
  if (argument === undefined) return undefined;
  if (name === 'sum') return sumOf(argument);
  if (name === 'avg') return averageOf(argument);
  if (name === 'bool_and' || name === 'bool_or') {
    if (argument.kind !== 'bool') return undefined;
    return { make: () => new Truth(name === 'bool_or'), result: argument };
  }
  const compare = orderOf(argument);
  const wanted = name === 'max' ? 1 : -1;
  const canonical = canonicalOf(argument);
  return { make: () => new Extreme(compare, wanted, canonical), result: argument };
}

function sumOf(type: AlgebraicType): Made | undefined {
  if (isFloatType(type)) return { make: () => new FloatSum(), result: scalarTypes.f64 };
  if (valueKindOf(type) === 'timeDuration') {
    return { make: () => new WideSum('i64', 'TimeDuration'), result: timeDurationType };
  }
  if (!isIntegerKind(type.kind)) return undefined;
  const isSigned = type.kind.startsWith('i');
  if (isShort(type.kind)) {
    return { make: () => new ShortSum(), result: isSigned ? scalarTypes.i64 : scalarTypes.u64 };
  }
  const kind = type.kind === 'i64' ? 'i128' : type.kind === 'u64' ? 'u128' : type.kind;
  return { make: () => new WideSum(kind, undefined), result: scalarTypes[kind] };
}

function averageOf(type: AlgebraicType): Made | undefined {
  if (isFloatType(type)) {
    return { make: () => new Average(new FloatSum()), result: scalarTypes.f64 };
  }
  if (valueKindOf(type) === 'timeDuration') {
    return { make: () => new DurationAverage(), result: timeDurationType };
  }
  if (!isIntegerKind(type.kind)) return undefined;
  return isShort(type.kind)
    ? { make: () => new Average(new ShortSum()), result: scalarTypes.f64 }
    : { make: () => new Average(new WideSum('i256', undefined)), result: scalarTypes.f64 };
}

function isShort(kind: IntegerKind): boolean {
  return integerRange[kind].max <= 0xffff_ffffn;
}

class Count implements Retractable {
  #count = 0;

  add(_value: QueryValue): void {
    this.#count++;
  }

  remove(_value: QueryValue): void {
    this.#count--;
  }

  finish(): QueryValue {
    return BigInt(this.#count);
  }
}

/** Whether any value (OR) or every value (AND) is true. */
class Truth implements Retractable {
  readonly #isAny: boolean;
  #trueCount = 0;
  #falseCount = 0;

  constructor(isAny: boolean) {
    this.#isAny = isAny;
  }

  add(value: QueryValue): void {
    if (value === true) this.#trueCount++;
    else this.#falseCount++;
  }

  remove(value: QueryValue): void {
    if (value === true) this.#trueCount--;
    else this.#falseCount--;
  }

  finish(): QueryValue {
    if (this.#trueCount + this.#falseCount === 0) return null;
    return this.#isAny ? this.#trueCount > 0 : this.#falseCount === 0;
  }
}

/** An accumulator that knows its exact total, so that AVG divides once. */
interface Total extends Retractable {
  total(): number | bigint;
}

/**
 * Integers of up to 32 bits. Every sum of them within 2^53 is exact as a float; beyond that it
 * moves into a bigint, which happens at most once in a million rows.
 */
class ShortSum implements Total {
  #sum = 0;
  #spilled = 0n;
  #count = 0;

  add(value: QueryValue): void {
    this.#count++;
    this.#change(value as number);
  }

  remove(value: QueryValue): void {
    this.#count--;
    this.#change(-(value as number));
  }

  total(): bigint {
    this.#spill();
    return this.#spilled;
  }

  /** Even 2^31 rows of 2^32 do not reach 64 bits, so the sum fits. */
  finish(): QueryValue {
    return this.#count === 0 ? null : this.total();
  }

  #change(by: number): void {
    this.#sum += by;
    if (this.#sum > spillAbove || this.#sum < -spillAbove) this.#spill();
  }

  #spill(): void {
    this.#spilled += BigInt(this.#sum);
    this.#sum = 0;
  }
}

const spillAbove = 2 ** 52;

class WideSum implements Total {
  readonly #kind: IntegerKind;
  readonly #unit: 'TimeDuration' | undefined;
  #sum = 0n;
  #count = 0;

  constructor(kind: IntegerKind, unit: 'TimeDuration' | undefined) {
    this.#kind = kind;
    this.#unit = unit;
  }

  add(value: QueryValue): void {
    this.#count++;
    this.#sum += value as bigint;
  }

  remove(value: QueryValue): void {
    this.#count--;
    this.#sum -= value as bigint;
  }

  total(): bigint {
    return this.#sum;
  }

  finish(): QueryValue {
    if (this.#count === 0) return null;
    const { min, max } = integerRange[this.#kind];
    if (this.#sum >= min && this.#sum <= max) return this.#sum;
    if (this.#unit === undefined) throw integerOverflow(`the sum ${this.#sum}`, this.#kind);
    throw invalid(`Time overflow: the sum ${this.#sum} of microseconds does not fit ${this.#unit}`);
  }
}

class FloatSum implements Total {
  readonly #sum = new ExactSum();
  #count = 0;

  add(value: QueryValue): void {
    this.#count++;
    this.#sum.add(value as number);
  }

  remove(value: QueryValue): void {
    this.#count--;
    this.#sum.remove(value as number);
  }

  total(): number {
    return this.#sum.total();
  }

  finish(): QueryValue {
    return this.#count === 0 ? null : this.total();
  }
}

class Average implements Retractable {
  readonly #sum: Total;
  #count = 0;

  constructor(sum: Total) {
    this.#sum = sum;
  }

  add(value: QueryValue): void {
    this.#count++;
    this.#sum.add(value);
  }

  remove(value: QueryValue): void {
    this.#count--;
    this.#sum.remove(value);
  }

  finish(): QueryValue {
    if (this.#count === 0) return null;
    const total = this.#sum.total();
    return typeof total === 'number' ? total / this.#count : exactQuotient(total, this.#count);
  }
}

/** The float nearest to `total / count`, although `total` may have more digits than a float. */
function exactQuotient(total: bigint, count: number): number {
  if (total >= -maxExact && total <= maxExact) return Number(total) / count;
  const divisor = BigInt(count);
  const whole = total / divisor;
  // Beyond 2^53 the float is decided by the whole part and whether something follows it.
  const rest = total % divisor;
  if (whole > maxExact || whole < -maxExact) {
    return (
      Number(rest === 0n ? whole : whole * 2n + (rest > 0n ? 1n : -1n)) / (rest === 0n ? 1 : 2)
    );
  }
  return Number(whole) + Number(rest) / count;
}

const maxExact = 2n ** 53n;

/** Durations average to a duration, truncated to microseconds. */
class DurationAverage implements Retractable {
  #sum = 0n;
  #count = 0;

  add(value: QueryValue): void {
    this.#sum += value as bigint;
    this.#count++;
  }

  remove(value: QueryValue): void {
    this.#sum -= value as bigint;
    this.#count--;
  }

  finish(): QueryValue {
    return this.#count === 0 ? null : this.#sum / BigInt(this.#count);
  }
}

class Extreme implements Accumulator {
  readonly #compare: (a: QueryValue, b: QueryValue) => number;
  readonly #wanted: number;
  readonly #canonical: (value: QueryValue) => QueryValue;
  #best: QueryValue = null;

  /** `canonical`: of values that are equal but differ in their encoding, the one to show. */
  constructor(
    compare: (a: QueryValue, b: QueryValue) => number,
    wanted: number,
    canonical: (value: QueryValue) => QueryValue,
  ) {
    this.#compare = compare;
    this.#wanted = wanted;
    this.#canonical = canonical;
  }

  add(value: QueryValue): void {
    const best = this.#best;
    if (best === null || this.#compare(value, best) * this.#wanted > 0) this.#best = value;
  }

  get heldLength(): number {
    const best = this.#best;
    return typeof best === 'string' || best instanceof Uint8Array ? best.length : 0;
  }

  finish(): QueryValue {
    return this.#best === null ? null : this.#canonical(this.#best);
  }
}

assert(spillAbove + 2 ** 32 <= Number.MAX_SAFE_INTEGER, 'a sum is exact until it is spilled');
