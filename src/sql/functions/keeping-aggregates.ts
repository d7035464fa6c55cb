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
 * | ARRAY_AGG | any type that has an order | an array of it |
 *
 * The last four take more of each row than one value: their argument is packed (`packed.ts`).
 */
import { BinaryWriter } from '../../values/binary-writer.ts';
import { compareTexts } from '../../values/compare.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { emptyTypespace } from '../../values/type.ts';
import { invalid } from '../failure.ts';
import type { KeepingAggregateName } from './aggregate-names.ts';
import { arrayOf } from './arrays.ts';
import { ExactSum } from './exact-sum.ts';
import type { Accumulator, AggregateFunction, Pacer, QueryValue } from './function.ts';
import { Merge } from './merge.ts';
import { packedType, unpackerOf } from './packed.ts';
import { checkArrayBytes } from './text-length.ts';
import { comparatorOf, orderOf, valueWriterOf } from './value-codec.ts';
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

/** ARRAY_AGG of packed values and the keys of its ORDER BY. */
export function arrayAggregate(
  parts: readonly ValueType[],
  order: readonly KeptOrder[],
): AggregateFunction {
  const [{ type }] = parts as [ValueType];
  const unpack = unpackerOf(parts);
  const comparators = order.map((one, at) => {
    return orderOf((parts[at + 1] as ValueType).type, emptyTypespace, one);
  });
  const make = () => new Elements({ unpack, comparators, type });
  return { ...aggregate('array_agg', packedType(parts), make), order };
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
  if (name === 'array_agg') return { type: arrayOf(type), isNullable: true };
  return { type: name === 'percentile_disc' ? type : f64, isNullable: true };
}

/** A length of what is held counts two bytes. */
const lengthOfNumber = 8;

/** Where nothing else waits. */
const unpaced: Pacer = { ticks: Number.POSITIVE_INFINITY, mustPause: () => false };

/** The squares of what is left of the values without their mean are added after all of them. */
class Spread implements Accumulator {
  readonly #values: number[] = [];
  readonly #isSample: boolean;
  readonly #isDeviation: boolean;
  #sum = new ExactSum();
  #squares = new ExactSum();
  #squared = 0;

  constructor(name: SpreadName) {
    this.#isSample = name.endsWith('_samp');
    this.#isDeviation = name.startsWith('stddev');
  }

  add(value: QueryValue): void {
    this.#values.push(value as number);
    this.#sum.add(value as number);
    if (this.#squared === 0) return;
    this.#squares = new ExactSum();
    this.#squared = 0;
  }

  get heldLength(): number {
    return this.#values.length * lengthOfNumber;
  }

  settle(pacer: Pacer): boolean {
    const values = this.#values;
    const mean = this.#sum.total() / values.length;
    while (this.#squared < values.length) {
      if (--pacer.ticks <= 0 && pacer.mustPause()) return false;
      this.#squares.add(((values[this.#squared++] as number) - mean) ** 2);
    }
    return true;
  }

  finish(): QueryValue {
    const { length } = this.#values;
    const divisor = length - (this.#isSample ? 1 : 0);
    if (length === 0 || divisor === 0) return null;
    this.settle(unpaced);
    const variance = this.#squares.total() / divisor;
    return this.#isDeviation ? Math.sqrt(variance) : variance;
  }
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
  /** Sorts the values that there are. */
  #merge: Merge | undefined;

  constructor(options: PercentileOptions) {
    this.#options = options;
  }

  add(packed: QueryValue): void {
    const { value, fraction } = this.#options.unpack(packed);
    this.#fraction = fraction;
    this.#values.push(value);
    this.#merge = undefined;
    const isLong = typeof value === 'string' || value instanceof Uint8Array;
    this.#length += lengthOfNumber + (isLong ? value.length : 0);
  }

  get heldLength(): number {
    return this.#length;
  }

  settle(pacer: Pacer): boolean {
    return this.#sorting().run(pacer);
  }

  finish(): QueryValue {
    const fraction = this.#fraction;
    const count = this.#values.length;
    if (fraction === null || count === 0) return null;
    if (!(fraction >= 0 && fraction <= 1)) {
      throw invalid(`A percentile is between 0 and 1, not ${fraction}`);
    }
    this.settle(unpaced);
    if (!this.#options.isContinuous) {
      return this.#valueAt(Math.max(0, Math.ceil(fraction * count) - 1));
    }
    const place = fraction * (count - 1);
    const low = this.#valueAt(Math.floor(place)) as number;
    const high = this.#valueAt(Math.ceil(place)) as number;
    return low === high ? low : low + (high - low) * (place - Math.floor(place));
  }

  #sorting(): Merge {
    const { compare } = this.#options;
    const values = this.#values;
    this.#merge ??= new Merge(values.length, (a, b) =>
      compare(values[a] as QueryValue, values[b] as QueryValue),
    );
    return this.#merge;
  }

  /** The value at a place of the sorted ones. */
  #valueAt(place: number): QueryValue {
    return this.#values[this.#sorting().result[place] as number] ?? null;
  }
}

/** Without an order of their own, texts are in the order of texts. */
class Texts implements Accumulator {
  readonly #rows: QueryValue[][] = [];
  readonly #unpack: (bytes: Uint8Array) => QueryValue[];
  readonly #comparators: readonly ((a: QueryValue, b: QueryValue) => number)[];
  #length = 0;
  #merge: Merge | undefined;
  /** Of so many of the sorted rows. */
  #text = '';
  #joined = 0;

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
    this.#merge = undefined;
    this.#text = '';
    this.#joined = 0;
    this.#length += bytes.length + 64;
  }

  get heldLength(): number {
    return this.#length;
  }

  settle(pacer: Pacer): boolean {
    const rows = this.#rows;
    this.#merge ??= new Merge(rows.length, (a, b) =>
      this.#compare(rows[a] as QueryValue[], rows[b] as QueryValue[]),
    );
    if (!this.#merge.run(pacer)) return false;
    const { result } = this.#merge;
    for (; this.#joined < rows.length; this.#joined++) {
      if (--pacer.ticks <= 0 && pacer.mustPause()) return false;
      const [value, separator] = rows[result[this.#joined] as number] as QueryValue[];
      if (this.#joined > 0 && separator !== null) this.#text += separator;
      this.#text += value;
    }
    return true;
  }

  finish(): QueryValue {
    if (this.#rows.length === 0) return null;
    this.settle(unpaced);
    return this.#text;
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

interface ElementsOptions {
  readonly unpack: (bytes: Uint8Array) => QueryValue[];
  readonly comparators: readonly ((a: QueryValue, b: QueryValue) => number)[];
  readonly type: AlgebraicType;
}

/** Without an order of their own, elements are in the order of their values. */
class Elements implements Accumulator {
  readonly #rows: QueryValue[][] = [];
  readonly #options: ElementsOptions;
  readonly #compareValues: (a: QueryValue, b: QueryValue) => number;
  readonly #write: (writer: BinaryWriter, value: QueryValue) => void;
  #length = 0;
  #merge: Merge | undefined;
  /** The array of so many of the sorted rows. */
  #array = new BinaryWriter(64);
  #written = 0;

  constructor(options: ElementsOptions) {
    this.#options = options;
    this.#compareValues = comparatorOf(options.type);
    this.#write = valueWriterOf(options.type);
  }

  add(packed: QueryValue): void {
    const bytes = packed as Uint8Array;
    this.#rows.push(this.#options.unpack(bytes));
    this.#merge = undefined;
    // What is packed is held twice: as values, and in the array.
    this.#length += 2 * bytes.length + 64;
  }

  get heldLength(): number {
    return this.#length;
  }

  settle(pacer: Pacer): boolean {
    const rows = this.#rows;
    if (this.#merge === undefined) {
      this.#merge = new Merge(rows.length, (a, b) =>
        this.#compare(rows[a] as QueryValue[], rows[b] as QueryValue[]),
      );
      this.#array.reset();
      this.#array.u32(rows.length);
      this.#written = 0;
    }
    if (!this.#merge.run(pacer)) return false;
    const { result } = this.#merge;
    for (; this.#written < rows.length; this.#written++) {
      if (--pacer.ticks <= 0 && pacer.mustPause()) return false;
      const [value = null] = rows[result[this.#written] as number] as QueryValue[];
      this.#write(this.#array, value);
      checkArrayBytes(this.#array.length);
    }
    return true;
  }

  finish(): QueryValue {
    if (this.#rows.length === 0) return null;
    this.settle(unpaced);
    return this.#array.source.slice(0, this.#array.length);
  }

  #compare(a: readonly QueryValue[], b: readonly QueryValue[]): number {
    for (const [at, compare] of this.#options.comparators.entries()) {
      const order = compare(a[at + 1] as QueryValue, b[at + 1] as QueryValue);
      if (order !== 0) return order;
    }
    return this.#compareValues(a[0] as QueryValue, b[0] as QueryValue);
  }
}
