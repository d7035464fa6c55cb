import { offsetOf } from '../../../store/row-heap.ts';
import { noRow, type RowRef, type RowRefs } from '../../../store/row-ref.ts';
import type { Table } from '../../../store/table.ts';
import type { ExecutionState } from './execution-state.ts';
import type { Frame } from './frame.ts';
import { ended, paused, rowReady, type Step, type Tuples } from './operator.ts';
import type { Predicate } from './predicate.ts';

/** What the rows of a table are sifted by. */
export interface Sieve {
  /** Over the bytes of the row alone. */
  readonly predicate: ((state: ExecutionState) => Predicate | undefined) | undefined;
  /** Over the frame, the row being in its slot. */
  readonly condition: ((frame: Frame) => boolean) | undefined;
}

/** Which table, and which slot shows its rows. */
export interface TableSlot {
  readonly number: number;
  readonly slot: number;
}

/** All rows of a table, in storage order. */
export class TableScan implements Tuples {
  readonly #state: ExecutionState;
  readonly #table: Table;
  readonly #number: number;
  readonly #slot: number;
  readonly #sieve: Sieve;
  readonly #condition: ((frame: Frame) => boolean) | undefined;
  #predicate: Predicate | undefined;
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
    this.#predicate = this.#sieve.predicate?.(this.#state);
  }

  next(): Step {
    const state = this.#state;
    const table = this.#table;
    const source = state.pins?.[this.#number] ?? table;
    const predicate = this.#predicate;
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
      if (predicate !== undefined && !predicate(page, row)) continue;
      pages[slot] = page;
      rows[slot] = row;
      state.refs[slot] = ref;
      if (condition !== undefined && !condition(state)) continue;
      this.#ref = ref;
      return rowReady;
    }
  }
}

/** Finds the rows to look at; `undefined`: too many, look at all of them. */
export type RefFinder = (state: ExecutionState) => RowRefs | undefined;

/** The rows that an index gives, in its order. */
export class RefScan implements Tuples {
  readonly #state: ExecutionState;
  readonly #table: Table;
  readonly #slot: number;
  readonly #find: RefFinder;
  readonly #sieve: Sieve;
  readonly #all: TableScan;
  #predicate: Predicate | undefined;
  #refs: RowRefs | undefined;
  #at = 0;

  constructor(state: ExecutionState, place: TableSlot, options: RefScanOptions) {
    this.#state = state;
    this.#table = state.table(place.number);
    this.#slot = place.slot;
    this.#find = options.find;
    this.#sieve = options.sieve;
    this.#all = new TableScan(state, place, options.sieve);
  }

  open(): void {
    this.#refs = this.#find(this.#state);
    this.#at = 0;
    if (this.#refs === undefined) this.#all.open();
    else this.#predicate = this.#sieve.predicate?.(this.#state);
  }

  next(): Step {
    const refs = this.#refs;
    if (refs === undefined) return this.#all.next();
    const state = this.#state;
    const table = this.#table;
    const slot = this.#slot;
    const predicate = this.#predicate;
    const { condition } = this.#sieve;
    while (this.#at < refs.length) {
      if (--state.ticks <= 0 && state.mustPause()) return paused;
      const ref = refs[this.#at++] as number;
      const page = table.pageOf(ref);
      const row = offsetOf(ref);
      if (predicate !== undefined && !predicate(page, row)) continue;
      state.pages[slot] = page;
      state.rows[slot] = row;
      state.refs[slot] = ref;
      if (condition === undefined || condition(state)) return rowReady;
    }
    return ended;
  }
}

export interface RefScanOptions {
  readonly find: RefFinder;
  readonly sieve: Sieve;
}

/** The only row that a unique index can give. */
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
    const predicate = this.#sieve.predicate?.(state);
    if (predicate !== undefined && !predicate(page, row)) return ended;
    const slot = this.#slot;
    state.pages[slot] = page;
    state.rows[slot] = row;
    state.refs[slot] = ref;
    const { condition } = this.#sieve;
    return condition === undefined || condition(state) ? rowReady : ended;
  }
}
