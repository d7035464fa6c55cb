import { present } from '../../assert.ts';
import { offsetOf } from '../../store/row-heap.ts';
import { noRow, type RowRef, type RowRefs } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { BytesTest } from '../expressions/bytes-test.ts';
import type { Test } from '../expressions/frame.ts';
import type { ExecutionState } from './execution-state.ts';
import { ended, paused, rowReady, type Step, type Tuples } from './operator.ts';

/** The filter applied to the rows of a table. */
export interface Sieve {
  /** Tests the bytes of the row alone, with the values of one execution. */
  readonly bytesTest: ((state: ExecutionState) => BytesTest) | undefined;
  /** Tests the frame, with the row in its slot. */
  readonly condition: Test | undefined;
}

/** A table, and the slot that holds its rows. */
export interface TableSlot {
  readonly number: number;
  readonly slot: number;
}

/** Returns all rows of a table, in storage order. */
export class TableScan implements Tuples {
  readonly #state: ExecutionState;
  readonly #table: Table;
  readonly #number: number;
  readonly #slot: number;
  readonly #sieve: Sieve;
  readonly #condition: Test | undefined;
  #bytesTest: BytesTest | undefined;
  #ref: RowRef = noRow;

  constructor(state: ExecutionState, { number, slot }: TableSlot, sieve: Sieve) {
    this.#state = state;
    this.#table = state.table(number);
    this.#number = number;
    this.#slot = slot;
    this.#sieve = sieve;
    this.#condition = sieve.condition;
  }

  open(): void {
    this.#ref = noRow;
    this.#bytesTest = this.#sieve.bytesTest?.(this.#state);
  }

  next(): Step {
    const state = this.#state;
    const table = this.#table;
    const source = state.sources?.[this.#number] ?? table;
    const bytesTest = this.#bytesTest;
    const condition = this.#condition;
    const slot = this.#slot;
    const { pages, rows } = state;
    let ref = this.#ref;
    for (;;) {
      if (--state.ticks <= 0 && state.mustPause()) {
        this.#ref = ref;
        return paused;
      }
      ref = source.nextRow(ref);
      if (ref === noRow) return ended;
      const page = table.pageOf(ref);
      const row = offsetOf(ref);
      if (bytesTest !== undefined && !bytesTest(page, row)) continue;
      pages[slot] = page;
      rows[slot] = row;
      state.refs[slot] = ref;
      if (condition !== undefined && !condition(state)) continue;
      this.#ref = ref;
      return rowReady;
    }
  }
}

/**
 * Finds the rows to look at; `undefined`: too many, look at all of them. With `countMax` it may
 * stop at that count; if it returns fewer, they are all.
 */
export type RefFinder = (state: ExecutionState, countMax?: number) => RowRefs | undefined;

/** Rows fetched first from a range: often no more are needed. */
const firstCount = 64;
const growthFactor = 32;
const wholeCount = 100_000;

/** Returns the rows that an index gives, in its order. */
export class RefScan implements Tuples {
  readonly #state: ExecutionState;
  readonly #table: Table;
  readonly #slot: number;
  readonly #find: RefFinder;
  readonly #isPartial: boolean;
  readonly #sieve: Sieve;
  readonly #all: TableScan;
  #bytesTest: BytesTest | undefined;
  #refs: RowRefs | undefined;
  #at = 0;
  /** How many rows were requested; infinite: all. */
  #countMax = Number.POSITIVE_INFINITY;

  constructor(state: ExecutionState, place: TableSlot, options: RefScanOptions) {
    this.#state = state;
    this.#table = state.table(place.number);
    this.#slot = place.slot;
    this.#find = options.find;
    this.#isPartial = options.isPartial;
    this.#sieve = options.sieve;
    this.#all = new TableScan(state, place, options.sieve);
  }

  open(): void {
    this.#countMax = this.#isPartial ? firstCount : Number.POSITIVE_INFINITY;
    this.#refs = this.#find(this.#state, this.#isPartial ? firstCount : undefined);
    this.#at = 0;
    if (this.#refs === undefined) this.#all.open();
    else this.#bytesTest = this.#sieve.bytesTest?.(this.#state);
  }

  next(): Step {
    let refs = this.#refs;
    if (refs === undefined) return this.#all.next();
    const state = this.#state;
    const table = this.#table;
    const slot = this.#slot;
    const bytesTest = this.#bytesTest;
    const { condition } = this.#sieve;
    for (;;) {
      if (this.#at >= refs.length) {
        if (refs.length < this.#countMax) return ended;
        refs = this.#fetchMore(refs);
        continue;
      }
      if (--state.ticks <= 0 && state.mustPause()) return paused;
      const ref = refs[this.#at++] as RowRef;
      const page = table.pageOf(ref);
      const row = offsetOf(ref);
      if (bytesTest !== undefined && !bytesTest(page, row)) continue;
      state.pages[slot] = page;
      state.rows[slot] = row;
      state.refs[slot] = ref;
      if (condition === undefined || condition(state)) return rowReady;
    }
  }

  /** Finds the range again, and more of it; rows returned before are not returned again. */
  #fetchMore(shown: RowRefs): RowRefs {
    this.#countMax *= growthFactor;
    const isWhole = this.#countMax > wholeCount || this.#state.sources !== undefined;
    if (isWhole) this.#countMax = Number.POSITIVE_INFINITY;
    const found = present(
      this.#find(this.#state, isWhole ? undefined : this.#countMax),
      'the rows of a range',
    );
    // After a pause, equal keys may be in another order.
    const known = this.#state.sources === undefined ? undefined : new Set(shown);
    this.#refs = known === undefined ? found : found.filter((ref) => !known.has(ref));
    this.#at = known === undefined ? shown.length : 0;
    return this.#refs;
  }
}

export interface RefScanOptions {
  readonly find: RefFinder;
  /** Whether the finder respects `countMax`. */
  readonly isPartial: boolean;
  readonly sieve: Sieve;
}

/** Returns the only row that a unique index can give. */
export class UniqueLookup implements Tuples {
  readonly #state: ExecutionState;
  readonly #table: Table;
  readonly #slot: number;
  readonly #find: (state: ExecutionState) => RowRef;
  readonly #sieve: Sieve;
  #ref: RowRef = noRow;

  constructor(
    state: ExecutionState,
    { number, slot }: TableSlot,
    find: (state: ExecutionState) => RowRef,
    sieve: Sieve,
  ) {
    this.#state = state;
    this.#table = state.table(number);
    this.#slot = slot;
    this.#find = find;
    this.#sieve = sieve;
  }

  open(): void {
    this.#ref = this.#find(this.#state);
  }

  next(): Step {
    const ref = this.#ref;
    if (ref === noRow) return ended;
    const state = this.#state;
    if (--state.ticks <= 0 && state.mustPause()) return paused;
    this.#ref = noRow;
    const page = this.#table.pageOf(ref);
    const row = offsetOf(ref);
    const bytesTest = this.#sieve.bytesTest?.(state);
    if (bytesTest !== undefined && !bytesTest(page, row)) return ended;
    const slot = this.#slot;
    state.pages[slot] = page;
    state.rows[slot] = row;
    state.refs[slot] = ref;
    const { condition } = this.#sieve;
    return condition === undefined || condition(state) ? rowReady : ended;
  }
}
