import { assert } from '../../assert.ts';
import type { Evaluator, Frame } from '../expressions/frame.ts';
import { ByteSink, type RowSink } from '../expressions/row-sink.ts';
import type { QueryValue } from '../functions/function.ts';
import { Merge } from '../functions/merge.ts';
import type { ExecutionState } from './execution-state.ts';
import { bufferBytes, bytesOfValue, listBytes, objectBytes, slotBytes } from './held-bytes.ts';
import { ended, paused, type Rows, rowReady, type Step, type Tuples } from './operator.ts';
import { RowStore } from './row-store.ts';

export interface CompiledSortKey {
  readonly evaluate: Evaluator;
  /** The order of the answer, null and direction included. */
  readonly compare: (a: QueryValue, b: QueryValue) => number;
}

export interface CompiledSort {
  readonly keys: readonly CompiledSortKey[];
  readonly write: (frame: Frame, into: RowSink) => void;
}

/**
 * Sorts all rows. Pieces of the list are sorted as they fill up, then merged in twos until one is
 * left, so that it can pause anywhere.
 */
export class Sort implements Rows {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #sort: CompiledSort;
  readonly #rows: RowStore;
  readonly #sink = new ByteSink();
  /** By key, then by row. */
  #values: QueryValue[][] = [];
  #order: Int32Array = new Int32Array(0);
  #merge: Merge | undefined;
  #isCollected = false;
  #at = -1;
  #taken = 0;

  constructor(state: ExecutionState, input: Tuples, sort: CompiledSort) {
    this.#state = state;
    this.#input = input;
    this.#sort = sort;
    this.#rows = new RowStore(state.budget);
  }

  open(): void {
    this.#input.open();
    this.#rows.clear();
    this.#values = this.#sort.keys.map(() => []);
    this.#merge = undefined;
    this.#isCollected = false;
    this.#at = -1;
    this.#state.budget.giveBack(this.#taken);
    this.#taken = 0;
  }

  next(): Step {
    if (!this.#isCollected) {
      const step = this.#collect();
      if (step === paused) return paused;
      this.#isCollected = true;
      this.#merge = new Merge(this.#rows.count, this.#compare);
    }
    if (this.#merge !== undefined) {
      if (!this.#merge.run(this.#state)) return paused;
      this.#order = this.#merge.result;
      this.#merge = undefined;
    }
    this.#at++;
    return this.#at < this.#order.length ? rowReady : ended;
  }

  write(into: RowSink): void {
    this.#rows.write(this.#order[this.#at] as number, into);
  }

  #collect(): Step {
    const { keys, write } = this.#sort;
    const state = this.#state;
    for (;;) {
      const step = this.#input.next();
      if (step !== rowReady) return step;
      let bytes = orderBytes;
      for (let at = 0; at < keys.length; at++) {
        const key = keys[at] as CompiledSortKey;
        const value = key.evaluate(state);
        bytes += slotBytes + bytesOfValue(value);
        (this.#values[at] as QueryValue[]).push(value);
      }
      this.#taken += bytes;
      state.budget.take(bytes);
      this.#sink.reset();
      write(state, this.#sink);
      this.#rows.add(this.#sink.bytes, 0, this.#sink.length);
    }
  }

  /** Equal rows keep the order of their arrival. */
  readonly #compare = (a: number, b: number): number => {
    const { keys } = this.#sort;
    for (let at = 0; at < keys.length; at++) {
      const values = this.#values[at] as QueryValue[];
      const { compare } = keys[at] as CompiledSortKey;
      const order = compare(values[a] as QueryValue, values[b] as QueryValue);
      if (order !== 0) return order;
    }
    return a - b;
  };
}

export interface CompiledTop extends CompiledSort {
  /** How many rows are kept. */
  readonly countOf: (state: ExecutionState) => number;
  /**
   * Told the first key of the last row that is kept, once there are enough and whenever it changes:
   * the input may leave out rows whose key is behind it.
   */
  readonly leaveOutBehind?: ((first: QueryValue) => void) | undefined;
}

/** The number of a row, in the two lists that are merged. */
const orderBytes = 8;

interface TopRow {
  readonly values: readonly QueryValue[];
  readonly bytes: Uint8Array;
  /** Decides by arrival, for rows that are equal. */
  readonly number: number;
}

/** Keeps only the first rows of the order: a heap with the last of them on top. */
export class TopRows implements Rows {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #sort: CompiledTop;
  readonly #sink = new ByteSink();
  #heap: TopRow[] = [];
  #taken = 0;
  #count = 0;
  #seen = 0;
  #isCollected = false;
  #at = -1;

  constructor(state: ExecutionState, input: Tuples, sort: CompiledTop) {
    this.#state = state;
    this.#input = input;
    this.#sort = sort;
  }

  open(): void {
    this.#input.open();
    this.#state.budget.giveBack(this.#taken);
    this.#taken = 0;
    this.#heap = [];
    this.#count = this.#sort.countOf(this.#state);
    this.#seen = 0;
    this.#isCollected = false;
    this.#at = -1;
  }

  next(): Step {
    if (!this.#isCollected) {
      const step = this.#count === 0 ? ended : this.#collect();
      if (step === paused) return paused;
      this.#isCollected = true;
      this.#heap.sort((a, b) => this.#compareRows(a, b));
    }
    this.#at++;
    return this.#at < this.#heap.length ? rowReady : ended;
  }

  write(into: RowSink): void {
    const row = this.#heap[this.#at];
    assert(row !== undefined, 'there is a present row');
    into.append(row.bytes, 0, row.bytes.length);
  }

  #collect(): Step {
    const { keys, write, leaveOutBehind } = this.#sort;
    const state = this.#state;
    for (;;) {
      const step = this.#input.next();
      if (step !== rowReady) return step;
      const number = this.#seen++;
      const [last] = this.#heap;
      const isFull = this.#heap.length >= this.#count;
      let values: QueryValue[];
      if (isFull && last !== undefined) {
        // Most rows are rejected by their first key.
        const first = keys[0] as CompiledSortKey;
        const value = first.evaluate(state);
        const order = first.compare(value, last.values[0] as QueryValue);
        if (order > 0) continue;
        values = [value];
        for (let at = 1; at < keys.length; at++)
          values.push((keys[at] as CompiledSortKey).evaluate(state));
        if (order === 0 && this.#compareValues(values, last.values) >= 0) continue;
      } else {
        values = keys.map(({ evaluate }) => evaluate(state));
      }
      this.#sink.reset();
      write(state, this.#sink);
      const bytes = this.#sink.bytes.slice(0, this.#sink.length);
      const row = { values, bytes, number };
      this.#hold(row);
      if (last !== undefined && isFull) {
        this.#drop(last);
        this.#replaceLast(row);
      } else this.#push(row);
      const farthest = this.#heap.length < this.#count ? undefined : this.#heap[0]?.values[0];
      if (farthest !== undefined) leaveOutBehind?.(farthest);
    }
  }

  #compareValues(a: readonly QueryValue[], b: readonly QueryValue[]): number {
    const { keys } = this.#sort;
    for (let at = 0; at < keys.length; at++) {
      const { compare } = keys[at] as CompiledSortKey;
      const order = compare(a[at] as QueryValue, b[at] as QueryValue);
      if (order !== 0) return order;
    }
    return 0;
  }

  #compareRows(a: TopRow, b: TopRow): number {
    return this.#compareValues(a.values, b.values) || a.number - b.number;
  }

  #hold({ values, bytes }: TopRow): void {
    const held = topRowBytes(values) + bytes.length;
    this.#taken += held;
    this.#state.budget.take(held);
  }

  #drop({ values, bytes }: TopRow): void {
    const held = topRowBytes(values) + bytes.length;
    this.#taken -= held;
    this.#state.budget.giveBack(held);
  }

  #push(row: TopRow): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(row);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above] as TopRow;
      if (this.#compareRows(parent, row) >= 0) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = row;
  }

  #replaceLast(row: TopRow): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && this.#compareRows(right, heap[child] as TopRow) > 0) child++;
      const larger = heap[child] as TopRow;
      if (this.#compareRows(larger, row) <= 0) break;
      heap[at] = larger;
      at = child;
    }
    heap[at] = row;
  }
}

function topRowBytes(values: readonly QueryValue[]): number {
  let bytes = slotBytes + objectBytes + listBytes + bufferBytes;
  for (const value of values) bytes += slotBytes + bytesOfValue(value);
  return bytes;
}
