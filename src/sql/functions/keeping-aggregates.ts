/**
 * Aggregates that keep all values of a group until its end, so that neither rounding nor the order
 * in which rows arrive changes their result.
 *
 * | aggregate | argument | result |
 * |---|---|---|
 * | STDDEV_SAMP, STDDEV_POP, VAR_SAMP, VAR_POP | F64 | F64 |
 * | MEDIAN, PERCENTILE_CONT | F64 | F64 |
 * | PERCENTILE_DISC | any type that has an order | the same |
 * | STRING_AGG | String | String |
 *
 * The last three take more of each row than one value: their argument is packed (`packed.ts`).
 */
import { compareTexts } from '../../values/compare.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { emptyTypespace } from '../../values/type.ts';
import { invalid } from '../failure.ts';
import type { KeepingAggregateName } from './aggregate-names.ts';
import { ExactSum } from './exact-sum.ts';
import type { Accumulator, AggregateFunction, QueryValue } from './function.ts';
import { packedType, unpackerOf } from './packed.ts';
import { comparatorOf, orderOf } from './value-codec.ts';
import { scalarTypes } from './value-kind.ts';
import type { ValueType } from './value-type.ts';

export interface KeptOrder {
  readonly isDescending: boolean;
  readonly isNullsFirst: boolean;
}

const { f64, string } = scalarTypes;

type SpreadName = Extract<KeepingAggregateName, `${string}_samp` | `${string}_pop`>;

/** STDDEV and VARIANCE of floats. */
export function spreadAggregate(name: SpreadName): AggregateFunction {
  return aggregate(name, f64, () => new Spread(name));
}

/** The value in the middle of floats; of two, the mean. */
export function medianAggregate(): AggregateFunction {
  const { compare, unpack } = { compare: comparatorOf(f64), unpack: alone };
  return aggregate('median', f64, () => new Percentile({ compare, unpack, isContinuous: true }));
}

/** PERCENTILE_CONT and PERCENTILE_DISC of packed values of `type` and fractions. */
export function percentileAggregate(
  name: 'percentile_cont' | 'percentile_disc',
  type: AlgebraicType,
  order: KeptOrder,
): AggregateFunction {
  const parts = percentileParts(type);
  const plain = orderOf(type, emptyTypespace, order);
  const unpackAll = unpackerOf(parts);
  const unpack = (value: QueryValue): Ranked => {
    const [ranked = null, fraction = null] = unpackAll(value as Uint8Array);
    return { value: ranked, fraction: fraction as number | null };
  };
  const isContinuous = name === 'percentile_cont';
  const make = () => new Percentile({ compare: plain, unpack, isContinuous });
  return { ...aggregate(name, packedType(parts), make), order: [order] };
}

export function percentileParts(type: AlgebraicType): readonly ValueType[] {
  return [
    { type, isNullable: false },
    { type: f64, isNullable: true },
  ];
}

/** STRING_AGG of packed texts, separators and the keys of its ORDER BY. */
export function stringAggregate(
  parts: readonly ValueType[],
  order: readonly KeptOrder[],
): AggregateFunction {
  const unpack = unpackerOf(parts);
  const comparators = order.map((one, at) => {
    return orderOf((parts[at + 2] as ValueType).type, emptyTypespace, one);
  });
  const make = () => new Texts(unpack, comparators);
  return { ...aggregate('string_agg', packedType(parts), make), order };
}

function aggregate(
  name: KeepingAggregateName,
  argument: AlgebraicType,
  makeAccumulator: () => Accumulator,
): AggregateFunction {
  return { name, argument, makeAccumulator, keepsValues: true };
}

export function resultOfKeeping(name: KeepingAggregateName, type: AlgebraicType): ValueType {
  if (name === 'string_agg') return { type: string, isNullable: true };
  return { type: name === 'percentile_disc' ? type : f64, isNullable: true };
}

/** A length of what is held counts two bytes. */
const lengthOfNumber = 8;

class Spread implements Accumulator {
  readonly #values: number[] = [];
  readonly #isSample: boolean;
  readonly #isDeviation: boolean;

  constructor(name: SpreadName) {
    this.#isSample = name.endsWith('_samp');
    this.#isDeviation = name.startsWith('stddev');
  }

  add(value: QueryValue): void {
    this.#values.push(value as number);
  }

  get heldLength(): number {
    return this.#values.length * lengthOfNumber;
  }

  finish(): QueryValue {
    const values = this.#values;
    const divisor = values.length - (this.#isSample ? 1 : 0);
    if (values.length === 0 || divisor === 0) return null;
    const mean = totalOf(values) / values.length;
    const variance = totalOf(values.map((value) => (value - mean) ** 2)) / divisor;
    return this.#isDeviation ? Math.sqrt(variance) : variance;
  }
}

function totalOf(values: readonly number[]): number {
  const sum = new ExactSum();
  for (const value of values) sum.add(value);
  return sum.total();
}

interface Ranked {
  readonly value: QueryValue;
  readonly fraction: number | null;
}

function alone(value: QueryValue): Ranked {
  return { value, fraction: 0.5 };
}

interface PercentileOptions {
  readonly compare: (a: QueryValue, b: QueryValue) => number;
  readonly unpack: (value: QueryValue) => Ranked;
  readonly isContinuous: boolean;
}

class Percentile implements Accumulator {
  readonly #values: QueryValue[] = [];
  readonly #options: PercentileOptions;
  #fraction: number | null = null;
  #length = 0;

  constructor(options: PercentileOptions) {
    this.#options = options;
  }

  add(packed: QueryValue): void {
    const { value, fraction } = this.#options.unpack(packed);
    this.#fraction = fraction;
    this.#values.push(value);
    const isLong = typeof value === 'string' || value instanceof Uint8Array;
    this.#length += lengthOfNumber + (isLong ? value.length : 0);
  }

  get heldLength(): number {
    return this.#length;
  }

  finish(): QueryValue {
    const fraction = this.#fraction;
    const { compare, isContinuous } = this.#options;
    const sorted = this.#values.toSorted(compare);
    if (fraction === null || sorted.length === 0) return null;
    if (!(fraction >= 0 && fraction <= 1)) {
      throw invalid(`A percentile is between 0 and 1, not ${fraction}`);
    }
    if (!isContinuous) return sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)] ?? null;
    const place = fraction * (sorted.length - 1);
    const low = sorted[Math.floor(place)] as number;
    const high = sorted[Math.ceil(place)] as number;
    return low === high ? low : low + (high - low) * (place - Math.floor(place));
  }
}

/** Without an order of their own, texts are in the order of texts. */
class Texts implements Accumulator {
  readonly #rows: QueryValue[][] = [];
  readonly #unpack: (bytes: Uint8Array) => QueryValue[];
  readonly #comparators: readonly ((a: QueryValue, b: QueryValue) => number)[];
  #length = 0;

  constructor(
    unpack: (bytes: Uint8Array) => QueryValue[],
    comparators: readonly ((a: QueryValue, b: QueryValue) => number)[],
  ) {
    this.#unpack = unpack;
    this.#comparators = comparators;
  }

  add(packed: QueryValue): void {
    const bytes = packed as Uint8Array;
    this.#rows.push(this.#unpack(bytes));
    this.#length += bytes.length + 64;
  }

  get heldLength(): number {
    return this.#length;
  }

  finish(): QueryValue {
    if (this.#rows.length === 0) return null;
    const sorted = this.#rows.toSorted((a, b) => this.#compare(a, b));
    let text = '';
    for (const [at, [value, separator]] of sorted.entries()) {
      if (at > 0 && separator !== null) text += separator;
      text += value;
    }
    return text;
  }

  #compare(a: readonly QueryValue[], b: readonly QueryValue[]): number {
    for (const [at, compare] of this.#comparators.entries()) {
      const order = compare(a[at + 2] as QueryValue, b[at + 2] as QueryValue);
      if (order !== 0) return order;
    }
    return (
      compareTexts(a[0] as string, b[0] as string) ||
      compareTexts(String(a[1] ?? ''), String(b[1] ?? ''))
    );
  }
}
