import type { OutputColumn } from '../sql/check/typed.ts';
import { layoutOfRows } from '../sql/expressions/row-layout.ts';
import type { QueryValue } from '../sql/functions/function.ts';
import { orderOf, valueReaderOf } from '../sql/functions/value-codec.ts';
import type { RowShape } from '../store/row-shape.ts';
import type { Typespace } from '../values/type.ts';
import type { WindowShape } from './incremental-shape.ts';
import { OrderedBag } from './ordered-bag.ts';
import { RowBag } from './row-bag.ts';
import { type RowSet, RowSetBuilder } from './row-set.ts';
import { eachPicked, type SourceChanges } from './source-changes.ts';

/** Passes rows to `visit` as `bytes[start, end)` until it returns false. */
export type RowFeed = (visit: (bytes: Uint8Array, start: number, end: number) => boolean) => void;

export interface WindowFill {
  /** The rows come in the order of the keys. */
  readonly isOrdered: boolean;
  /** Receives the bytes kept so far; can throw. */
  readonly keep: (bytes: number) => void;
}

/** A row; the columns after the shown ones are its order keys. */
interface WindowRow {
  readonly bytes: Uint8Array;
  /** End of the columns that are shown. */
  readonly shownEnd: number;
  readonly keys: readonly QueryValue[];
}

/**
 * ORDER BY, LIMIT and OFFSET, kept up to date. Values compare as `orderOf` says; ties are
 * ordered by their bytes, so that the rows of the window follow from its input rows and from
 * nothing else.
 *
 * Besides the rows before its end it keeps a reserve after them. When rows leave, others move up;
 * only when the reserve is used up must the rows be read again (`isShort`, `fill`).
 */
export class Window {
  readonly #shownCount: number;
  readonly #shape: RowShape;
  readonly #keys: readonly KeyReader[];
  readonly #compareKeys: (a: WindowRow, b: WindowRow) => number;
  readonly #offset: number;
  readonly #end: number;
  readonly #rows: OrderedBag<WindowRow>;
  #shown = new Map<WindowRow, number>();
  /** Number of entries before the end of the window. */
  #entriesToEnd = Number.POSITIVE_INFINITY;

  constructor({ columns, shownCount, order, limit, offset }: WindowShape, types: Typespace) {
    this.#shownCount = shownCount;
    this.#shape = layoutOfRows(columns, types).shape;
    const compares = order.map((key, at) => {
      const { type } = columns[shownCount + at] as OutputColumn;
      return orderOf(type, types, key);
    });
    this.#keys = columns.slice(shownCount).map((column) => keyReaderOf(column, types));
    this.#offset = offset;
    this.#end = offset + limit;
    this.#compareKeys = (a, b) => {
      for (let at = 0; at < compares.length; at++) {
        const compare = compares[at] as (typeof compares)[number];
        const order = compare(a.keys[at] as QueryValue, b.keys[at] as QueryValue);
        if (order !== 0) return order;
      }
      return 0;
    };
    const reserve = Math.max(reserveMin, Math.floor(this.#end / 4));
    this.#rows = new OrderedBag<WindowRow>(
      (a, b) => this.#compareKeys(a, b) || compareBytes(a.bytes, b.bytes),
      this.#end + reserve,
      ({ bytes }) => windowRowBytes + bytes.length,
    );
  }

  get bytes(): number {
    return this.#rows.bytes + 64 * this.#shown.size;
  }

  /** Applies a change of the input rows. */
  apply({ inserts, deletes }: SourceChanges): void {
    this.#each(deletes, (row) => this.#rows.remove(row));
    this.#each(inserts, (row) => this.#rows.add(row));
  }

  get isShort(): boolean {
    return this.#rows.isShortOf(this.#end);
  }

  /** Replaces all rows. Throws what `keep` throws. */
  fill(feed: RowFeed, { isOrdered, keep }: WindowFill): void {
    let count = 0;
    let bytesSeen = 0;
    let last: WindowRow | undefined;
    let isCut = false;
    this.#rows.fill((add) => {
      feed((bytes, start, end) => {
        const row = this.#rowOf(bytes, start, end);
        const isEnough = isOrdered && count >= this.#rows.keptMax;
        // Rows with equal keys come in any order: all of them must be examined.
        isCut = isEnough && last !== undefined && this.#compareKeys(row, last) > 0;
        if (isCut) return false;
        add(row);
        last = row;
        count += 1;
        bytesSeen += windowRowBytes + row.bytes.length;
        // Beyond that number, some rows are dropped again.
        if (count <= this.#rows.keptMax) keep(bytesSeen);
        return true;
      });
    });
    if (isCut) this.#rows.boundByLast();
  }

  /** The change of the window since the last call. */
  takeChanges(): SourceChanges {
    const bag = new RowBag();
    if (this.#rows.takeChangedFrom() < this.#entriesToEnd) {
      const before = this.#shown;
      this.#show();
      for (const [row, count] of this.#shown) {
        const known = before.get(row) ?? 0;
        if (count !== known) bag.add(count - known, row.bytes, 0, row.shownEnd);
      }
      for (const [row, count] of before) {
        if (!this.#shown.has(row)) bag.add(-count, row.bytes, 0, row.shownEnd);
      }
    }
    const { gained, lost } = bag.surplus();
    return { inserts: gained, deletes: lost };
  }

  /** The rows of the window, in their order. */
  rows(): RowSet {
    const rows = new RowSetBuilder();
    for (const [{ bytes, shownEnd }, count] of this.#shown) {
      for (let copy = 0; copy < count; copy++) rows.add(bytes, 0, shownEnd);
    }
    return rows.finish();
  }

  #show(): void {
    this.#shown = new Map();
    let at = 0;
    let entry = 0;
    const { entries } = this.#rows;
    for (; entry < entries.length && at < this.#end; entry++) {
      const { item, count } = entries[entry] as (typeof entries)[number];
      const shown = Math.min(at + count, this.#end) - Math.max(at, this.#offset);
      if (shown > 0) this.#shown.set(item, shown);
      at += count;
    }
    // A window that is not full also shows rows that come after its last one.
    this.#entriesToEnd = at < this.#end ? Number.POSITIVE_INFINITY : entry;
  }

  #each(rows: RowSet, visit: (row: WindowRow) => void): void {
    eachPicked(rows, undefined, (start, end) => visit(this.#rowOf(rows.data, start, end)));
  }

  #rowOf(source: Uint8Array, start: number, end: number): WindowRow {
    const bytes = source.slice(start, end);
    let at = 0;
    for (let column = 0; column < this.#shownCount; column++) {
      at = this.#shape.skip(bytes, at, column);
    }
    const shownEnd = at;
    const keys = this.#keys.map((read, key) => {
      const value = read(bytes, at);
      at = this.#shape.skip(bytes, at, this.#shownCount + key);
      return value;
    });
    return { bytes, shownEnd, keys };
  }
}

type KeyReader = (bytes: Uint8Array, at: number) => QueryValue;

function keyReaderOf({ type, isNullable }: OutputColumn, types: Typespace): KeyReader {
  const read = valueReaderOf(type, types);
  if (!isNullable) return read;
  return (bytes, at) => (bytes[at] === 0 ? read(bytes, at + 1) : null);
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = (a[at] as number) - (b[at] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Minimum number of rows that are kept after the end of a window. */
const reserveMin = 16;
/** Measured on Node 20, like the other memory estimates here. */
const windowRowBytes = 240;
