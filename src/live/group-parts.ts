import type { TypedAggregate } from '../sql/check/typed.ts';
import { canonicalOf, type KeyPart, keyPartOf } from '../sql/functions/canonical.ts';
import { type QueryValue, type Retractable, retractable } from '../sql/functions/function.ts';
import { comparatorOf } from '../sql/functions/value-codec.ts';
import type { Typespace } from '../values/type.ts';
import { OrderedBag } from './ordered-bag.ts';

/** One aggregate of one group; values are added to it and removed again. */
export interface GroupPart {
  /** `value` is not null. */
  add(value: QueryValue): void;
  remove(value: QueryValue): void;
  /** Throws `SqlFailure` when the result does not fit its type. */
  finish(): QueryValue;
  /** Memory beyond that of a part without values. */
  readonly bytes: number;
}

/** Returns a function that makes the part of a new group. */
export function partMakerOf(aggregate: TypedAggregate, types: Typespace): () => GroupPart {
  const { function: made, argument, isDistinct } = aggregate;
  if (argument !== undefined && (made.name === 'min' || made.name === 'max')) {
    const compare = comparatorOf(argument.type, types);
    const ordered = made.name === 'min' ? compare : (a: QueryValue, b: QueryValue) => compare(b, a);
    const canonical = canonicalOf(argument.type, types);
    return () => new ExtremePart(ordered, canonical);
  }
  const make = (): Retractable => {
    const accumulator = retractable(made.makeAccumulator());
    if (accumulator === undefined) throw new TypeError(`${made.name} takes nothing away`);
    return accumulator;
  };
  return isDistinct ? () => new DistinctPart(make()) : () => new PlainPart(make());
}

class PlainPart implements GroupPart {
  readonly #accumulator: Retractable;
  readonly bytes = 0;

  constructor(accumulator: Retractable) {
    this.#accumulator = accumulator;
  }

  add(value: QueryValue): void {
    this.#accumulator.add(value);
  }

  remove(value: QueryValue): void {
    this.#accumulator.remove(value);
  }

  finish(): QueryValue {
    return this.#accumulator.finish();
  }
}

/** Keeps each distinct value once, with a count that decides when it is added and removed. */
class DistinctPart implements GroupPart {
  readonly #accumulator: Retractable;
  readonly #counts = new Map<KeyPart, number>();
  bytes = 0;

  constructor(accumulator: Retractable) {
    this.#accumulator = accumulator;
  }

  add(value: QueryValue): void {
    const key = keyPartOf(value);
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count + 1);
    if (count > 0) return;
    this.#accumulator.add(value);
    this.bytes += valueBytes + sizeOf(value);
  }

  remove(value: QueryValue): void {
    const key = keyPartOf(value);
    const count = this.#counts.get(key) ?? 0;
    if (count > 1) {
      this.#counts.set(key, count - 1);
      return;
    }
    this.#counts.delete(key);
    this.#accumulator.remove(value);
    this.bytes -= valueBytes + sizeOf(value);
  }

  finish(): QueryValue {
    return this.#accumulator.finish();
  }
}

/** MIN or MAX: keeps the first values in its order, so the next one is known when one goes. */
export class ExtremePart implements GroupPart {
  readonly #values: OrderedBag<QueryValue>;
  readonly #canonical: (value: QueryValue) => QueryValue;

  constructor(
    compare: (a: QueryValue, b: QueryValue) => number,
    canonical: (value: QueryValue) => QueryValue,
  ) {
    this.#values = new OrderedBag(compare, keptValues, sizeOf);
    this.#canonical = canonical;
  }

  get bytes(): number {
    return orderedBytes + this.#values.bytes;
  }

  add(value: QueryValue): void {
    this.#values.add(value);
  }

  remove(value: QueryValue): void {
    this.#values.remove(value);
  }

  finish(): QueryValue {
    const [first] = this.#values.entries;
    return first === undefined ? null : this.#canonical(first.item);
  }

  /** True when no known values are left: call `restart`, then add all existing values. */
  get isShort(): boolean {
    return this.#values.isShortOf(1);
  }

  restart(): void {
    this.#values.restart();
  }
}

function sizeOf(value: QueryValue): number {
  if (typeof value === 'string') return 2 * value.length;
  return value instanceof Uint8Array ? value.length : 8;
}

const keptValues = 8;
/** Measured on Node 20. */
const valueBytes = 64;
const orderedBytes = 150;
