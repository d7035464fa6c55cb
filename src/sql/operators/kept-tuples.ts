import { present } from '../../assert.ts';
import { RefList } from '../../store/ref-list.ts';
import { offsetOf } from '../../store/row-heap.ts';
import type { RowRef } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { ExecutionState } from './execution-state.ts';
import { refBytes } from './held-bytes.ts';
import { rowReady, type Step, type Tuples } from './operator.ts';
import { RowStore } from './row-store.ts';

/** The rows of one slot, kept so that they can be shown again by number. */
export interface KeptTuples {
  readonly count: number;
  /** Forgets everything, so that `fill` starts from scratch. */
  open(): void;
  /** Collects the rows for which `accept` returns true, until `ended` or `paused`. */
  fill(accept?: () => boolean): Step;
  /** Puts a row into the slot. */
  show(number: number): void;
}

/** Keeps rows of a stored table: their refs are enough. */
export class KeptRefs implements KeptTuples {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #table: Table;
  readonly #slot: number;
  readonly #refs = new RefList();
  #taken = 0;

  constructor(state: ExecutionState, input: Tuples, table: Table, slot: number) {
    this.#state = state;
    this.#input = input;
    this.#table = table;
    this.#slot = slot;
  }

  get count(): number {
    return this.#refs.length;
  }

  open(): void {
    this.#state.budget.giveBack(this.#taken);
    this.#taken = 0;
    this.#refs.clear();
    this.#input.open();
  }

  fill(accept?: () => boolean): Step {
    const { refs, budget } = this.#state;
    const slot = this.#slot;
    for (;;) {
      const step = this.#input.next();
      if (step !== rowReady) return step;
      if (accept !== undefined && !accept()) continue;
      if ((this.#refs.length & 0xfff) === 0xfff) {
        this.#taken += refBytes * 0x1000;
        budget.take(refBytes * 0x1000);
      }
      this.#refs.push(refs[slot] as RowRef);
    }
  }

  show(number: number): void {
    const ref = this.#refs.at(number);
    const state = this.#state;
    const slot = this.#slot;
    state.pages[slot] = this.#table.pageOf(ref);
    state.rows[slot] = offsetOf(ref);
    state.refs[slot] = ref;
  }
}

/** Keeps computed rows: they are copied. */
export class KeptRows implements KeptTuples {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #slot: number;
  readonly #endOf: (bytes: Uint8Array, row: number) => number;
  readonly #rows: RowStore;

  constructor(
    state: ExecutionState,
    input: Tuples,
    slot: number,
    endOf: (bytes: Uint8Array, row: number) => number,
  ) {
    this.#state = state;
    this.#input = input;
    this.#slot = slot;
    this.#endOf = endOf;
    this.#rows = new RowStore(state.budget);
  }

  get count(): number {
    return this.#rows.count;
  }

  open(): void {
    this.#rows.clear();
    this.#input.open();
  }

  fill(accept?: () => boolean): Step {
    const state = this.#state;
    const slot = this.#slot;
    for (;;) {
      const step = this.#input.next();
      if (step !== rowReady) return step;
      if (accept !== undefined && !accept()) continue;
      const bytes = present(state.pages[slot], 'a computed row');
      const row = state.rows[slot] as number;
      this.#rows.add(bytes, row, this.#endOf(bytes, row));
    }
  }

  show(number: number): void {
    const state = this.#state;
    state.pages[this.#slot] = this.#rows.bytesOf(number);
    state.rows[this.#slot] = this.#rows.startOf(number);
  }
}
