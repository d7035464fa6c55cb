import { Range } from '../declare/range.ts';
import {
  type ClientIndex,
  type ClientTable,
  keyReader,
  type Row,
  type RowKey,
} from './client-schema.ts';
import { nativeOrderOf } from './native-order.ts';

/** A row of the cache with its bookkeeping. Updates replace `row`; the entry stays. */
export interface Entry {
  readonly key: RowKey;
  row: Row;
  /** Number of its derivations in all query sets together. */
  count: number;
}

/** Entries with equal values in the index's columns. */
interface Bucket {
  readonly values: readonly unknown[];
  readonly entries: Set<Entry>;
}

/**
 * One index over the rows of one table: exact values through a map, ranges through the buckets in
 * order. The order is built on first use, and updated on each later use.
 */
export class TableIndex {
  readonly definition: ClientIndex;
  readonly #buckets = new Map<RowKey, Bucket>();
  readonly #keys: readonly ((value: unknown) => RowKey)[];
  readonly #orders: readonly ((a: unknown, b: unknown) => number)[];
  #sorted: Bucket[] = [];
  #unsorted: Bucket[] = [];
  #goneCount = 0;

  constructor(table: ClientTable, definition: ClientIndex) {
    this.definition = definition;
    const { columns, typespace } = table.parts;
    const types = definition.columns.map((key) => {
      const column = columns.find((each) => each.key === key);
      if (column === undefined) throw new TypeError(`no column ${key} for an index`);
      return column.type;
    });
    this.#keys = types.map((type) => keyReader(type, typespace));
    this.#orders = types.map((type) => nativeOrderOf(type, typespace));
  }

  add(entry: Entry): void {
    const values = this.definition.columns.map((column) => entry.row[column]);
    const key = this.#keyOf(values);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { values, entries: new Set() };
      this.#buckets.set(key, bucket);
      this.#unsorted.push(bucket);
    }
    bucket.entries.add(entry);
  }

  /** `row` is the row that the entry was added with. */
  remove(entry: Entry, row: Row): void {
    const key = this.#keyOf(this.definition.columns.map((column) => row[column]));
    const bucket = this.#buckets.get(key);
    bucket?.entries.delete(entry);
    if (bucket?.entries.size !== 0) return;
    this.#buckets.delete(key);
    this.#goneCount += 1;
  }

  /** Rows with these values in the leading columns; the last one given can be a `Range`. */
  *filter(bounds: unknown): Generator<Row, undefined, undefined> {
    const values = this.#orders.length > 1 && Array.isArray(bounds) ? bounds : [bounds];
    const isExact = values.length === this.#orders.length && !(values.at(-1) instanceof Range);
    for (const bucket of isExact ? this.#exactly(values) : this.#within(values)) {
      for (const entry of bucket.entries) yield entry.row;
    }
    return undefined;
  }

  #exactly(values: readonly unknown[]): Bucket[] {
    const bucket = this.#buckets.get(this.#keyOf(values));
    return bucket === undefined ? [] : [bucket];
  }

  /** Returns a copy: rows may change while the caller iterates. */
  #within(values: readonly unknown[]): Bucket[] {
    const last = values.at(-1);
    const range = last instanceof Range ? last : undefined;
    const prefix = range === undefined ? values : values.slice(0, -1);
    const order = this.#orders[prefix.length] ?? (() => 0);
    const { from, to } = range ?? new Range<unknown>();
    /** Negative before the range, zero inside it, positive after it. */
    const placeOf = ({ values: here }: Bucket): number => {
      const difference = this.#comparePrefix(here, prefix);
      if (difference !== 0) return difference;
      const value = here[prefix.length];
      if (from.tag !== 'unbounded') {
        const fromStart = order(value, from.value);
        if (fromStart < 0 || (fromStart === 0 && from.tag === 'excluded')) return -1;
      }
      if (to.tag === 'unbounded') return 0;
      const toEnd = order(value, to.value);
      return toEnd > 0 || (toEnd === 0 && to.tag === 'excluded') ? 1 : 0;
    };
    const sorted = this.#order();
    const found: Bucket[] = [];
    for (let at = firstNot(sorted, (bucket) => placeOf(bucket) < 0); at < sorted.length; at += 1) {
      const bucket = sorted[at] as Bucket;
      if (placeOf(bucket) > 0) break;
      found.push(bucket);
    }
    return found;
  }

  /** New buckets are sorted separately and merged: the old ones are already in order. */
  #order(): readonly Bucket[] {
    if (this.#unsorted.length > 0 || this.#goneCount * 2 > this.#sorted.length) {
      const compare = (a: Bucket, b: Bucket) => this.#comparePrefix(a.values, b.values);
      const all = [...this.#sorted, ...this.#unsorted.sort(compare)];
      this.#sorted = all.filter((bucket) => bucket.entries.size > 0).sort(compare);
      this.#unsorted = [];
      this.#goneCount = 0;
    }
    return this.#sorted;
  }

  #comparePrefix(values: readonly unknown[], prefix: readonly unknown[]): number {
    for (const [position, value] of prefix.entries()) {
      const difference = this.#orders[position]?.(values[position], value) ?? 0;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** With several columns each key is prefixed with its length, so that keys are unambiguous. */
  #keyOf(values: readonly unknown[]): RowKey {
    const [only] = this.#keys;
    if (this.#keys.length === 1 && only !== undefined) return only(values[0]);
    const keys = this.#keys.map((key, position) => String(key(values[position])));
    return keys.map((key) => `${key.length}:${key}`).join('');
  }
}

/** The first position whose item is not `before`, in a list where such items come first. */
function firstNot<Item>(items: readonly Item[], before: (item: Item) => boolean): number {
  let from = 0;
  let to = items.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (before(items[middle] as Item)) from = middle + 1;
    else to = middle;
  }
  return from;
}
