import { offsetOf } from '../../store/row-heap.ts';
import type { RowRef, RowRefs } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { BytesTest } from '../expressions/bytes-test.ts';
import type { ExecutionState } from './execution-state.ts';
import { ended, paused, rowReady, type Step, type Tuples } from './operator.ts';
import { type Sieve, TableScan, type TableSlot } from './table-source.ts';

/** Rows near to what is wanted, found by a search so wide; `undefined`: look at all rows. */
export type NearFinder = (state: ExecutionState, width: number) => RowRefs | undefined;

export interface NearestOptions {
  readonly find: NearFinder;
  /** How many rows are wanted. */
  readonly countOf: (state: ExecutionState) => number;
  readonly sieve: Sieve;
}

/** The width of the first search, how it grows, and where looking at all rows is better. */
const firstWidth = 128;
const growthFactor = 8;
const widthMax = 4_096;
const shareMax = 0.25;

/**
 * Returns rows near to what is wanted, among them the nearest ones, in no order. When conditions
 * leave too few of them it searches wider, and in the end looks at all rows.
 */
export class NearestScan implements Tuples {
  readonly #state: ExecutionState;
  readonly #table: Table;
  readonly #place: TableSlot;
  readonly #options: NearestOptions;
  readonly #all: TableScan;
  readonly #shown = new Set<RowRef>();
  #bytesTest: BytesTest | undefined;
  /** `undefined`: all rows are looked at. */
  #refs: RowRefs | undefined;
  #at = 0;
  #width = 0;
  #wanted = 0;
  #passed = 0;

  constructor(state: ExecutionState, place: TableSlot, options: NearestOptions) {
    this.#state = state;
    this.#table = state.table(place.number);
    this.#place = place;
    this.#options = options;
    this.#all = new TableScan(state, place, options.sieve);
  }

  open(): void {
    this.#shown.clear();
    this.#passed = 0;
    this.#wanted = this.#options.countOf(this.#state);
    this.#bytesTest = this.#options.sieve.bytesTest?.(this.#state);
    this.#search(Math.max(firstWidth, this.#wanted * 2));
  }

  next(): Step {
    for (;;) {
      const refs = this.#refs;
      if (refs === undefined) return this.#nextOfAll();
      if (this.#at < refs.length) {
        const step = this.#nextOf(refs);
        if (step !== ended) return step;
      }
      if (this.#passed >= this.#wanted) return ended;
      for (const ref of refs) this.#shown.add(ref as RowRef);
      this.#search(this.#width * growthFactor);
    }
  }

  #search(width: number): void {
    const { number } = this.#place;
    const { rowCount } = this.#state.sources?.[number] ?? this.#table;
    const isNarrow = width <= widthMax && width <= rowCount * shareMax;
    const found = isNarrow ? this.#options.find(this.#state, width) : undefined;
    this.#refs = found?.filter((ref) => !this.#shown.has(ref as RowRef));
    this.#width = width;
    this.#at = 0;
    if (found === undefined) this.#all.open();
  }

  #nextOf(refs: RowRefs): Step {
    const state = this.#state;
    const { slot } = this.#place;
    const { condition } = this.#options.sieve;
    while (this.#at < refs.length) {
      if (--state.ticks <= 0 && state.mustPause()) return paused;
      const ref = refs[this.#at++] as RowRef;
      const page = this.#table.pageOf(ref);
      const row = offsetOf(ref);
      if (this.#bytesTest?.(page, row) === false) continue;
      state.pages[slot] = page;
      state.rows[slot] = row;
      state.refs[slot] = ref;
      if (condition !== undefined && !condition(state)) continue;
      this.#passed++;
      return rowReady;
    }
    return ended;
  }

  #nextOfAll(): Step {
    for (;;) {
      const step = this.#all.next();
      if (step !== rowReady) return step;
      if (!this.#shown.has(this.#state.refs[this.#place.slot] as RowRef)) return step;
    }
  }
}
