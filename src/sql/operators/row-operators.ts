import type { RowRef } from '../../store/row-ref.ts';
import { charge } from '../expressions/charge.ts';
import type { Frame, Test } from '../expressions/frame.ts';
import type { RowKey } from '../expressions/row-key.ts';
import { ByteSink, type RowSink } from '../expressions/row-sink.ts';
import type { ExecutionState } from './execution-state.ts';
import { ended, paused, type Rows, rowReady, type Step, type Tuples } from './operator.ts';
import { DistinctRows, RowStore } from './row-store.ts';

/** Returns one tuple without slots. */
export class OneTuple implements Tuples {
  readonly #state: ExecutionState;
  #isShown = false;

  constructor(state: ExecutionState) {
    this.#state = state;
  }

  open(): void {
    this.#isShown = false;
  }

  next(): Step {
    if (this.#isShown) return ended;
    // A query can unite very many of these, and each can have long values.
    if (--this.#state.ticks <= 0 && this.#state.mustPause()) return paused;
    this.#isShown = true;
    return rowReady;
  }
}

export class NoTuples implements Tuples {
  open(): void {
    // There is nothing to start.
  }

  next(): Step {
    return ended;
  }
}

/** Returns at most one tuple of its input. */
export class FirstTuple implements Tuples {
  readonly #input: Tuples;
  #isShown = false;

  constructor(input: Tuples) {
    this.#input = input;
  }

  open(): void {
    this.#input.open();
    this.#isShown = false;
  }

  next(): Step {
    if (this.#isShown) return ended;
    const step = this.#input.next();
    if (step === rowReady) this.#isShown = true;
    return step;
  }
}

export class Filter implements Tuples {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #condition: Test;

  constructor(state: ExecutionState, input: Tuples, condition: Test) {
    this.#state = state;
    this.#input = input;
    this.#condition = condition;
  }

  open(): void {
    this.#input.open();
  }

  next(): Step {
    for (;;) {
      const step = this.#input.next();
      if (step !== rowReady || this.#condition(this.#state)) return step;
    }
  }
}

/** Encodes tuples as rows. */
export class Projection implements Rows {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #write: (frame: Frame, into: RowSink) => void;

  constructor(state: ExecutionState, input: Tuples, write: (frame: Frame, into: RowSink) => void) {
    this.#state = state;
    this.#input = input;
    this.#write = write;
  }

  open(): void {
    this.#input.open();
  }

  next(): Step {
    return this.#input.next();
  }

  write(into: RowSink): void {
    this.#write(this.#state, into);
  }
}

/** Copies the whole rows of a stored table as they are. */
export class TableProjection implements Rows {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #number: number;
  readonly #slot: number;

  constructor(
    state: ExecutionState,
    input: Tuples,
    { number, slot }: { readonly number: number; readonly slot: number },
  ) {
    this.#state = state;
    this.#input = input;
    this.#number = number;
    this.#slot = slot;
  }

  open(): void {
    this.#input.open();
  }

  next(): Step {
    return this.#input.next();
  }

  write(into: RowSink): void {
    const { refs, rows, pages } = this.#state;
    const slot = this.#slot;
    const row = rows[slot] as number;
    const length = this.#state.table(this.#number).lengthOf(refs[slot] as RowRef);
    into.append(pages[slot] as Uint8Array, row, row + length);
  }
}

/** Returns the number of rows of a table. */
export class TableCount implements Rows {
  readonly #state: ExecutionState;
  readonly #number: number;
  readonly #bytes = new Uint8Array(8);
  #isShown = false;

  constructor(state: ExecutionState, number: number) {
    this.#state = state;
    this.#number = number;
  }

  open(): void {
    this.#isShown = false;
  }

  next(): Step {
    if (this.#isShown) return ended;
    this.#isShown = true;
    return rowReady;
  }

  write(into: RowSink): void {
    const { sources } = this.#state;
    const { rowCount } = sources?.[this.#number] ?? this.#state.table(this.#number);
    new DataView(this.#bytes.buffer).setBigUint64(0, BigInt(rowCount), true);
    into.append(this.#bytes, 0, 8);
  }
}

/** Returns the encoded rows of a query as the tuples of a slot. */
export class DerivedSource implements Tuples {
  readonly #state: ExecutionState;
  readonly #rows: Rows;
  readonly #slot: number;
  readonly #condition: Test | undefined;
  readonly #sink = new ByteSink();

  constructor(
    state: ExecutionState,
    rows: Rows,
    { slot, condition }: { readonly slot: number; readonly condition: Test | undefined },
  ) {
    this.#state = state;
    this.#rows = rows;
    this.#slot = slot;
    this.#condition = condition;
  }

  open(): void {
    this.#rows.open();
  }

  next(): Step {
    const state = this.#state;
    const sink = this.#sink;
    for (;;) {
      const step = this.#rows.next();
      if (step !== rowReady) return step;
      sink.reset();
      this.#rows.write(sink);
      state.pages[this.#slot] = sink.bytes;
      state.rows[this.#slot] = 0;
      if (this.#condition === undefined || this.#condition(state)) return rowReady;
    }
  }
}

/** The rows of a query that is computed once for an execution and read any number of times. */
export class SharedRows {
  readonly rows: RowStore;
  readonly #source: Rows;
  readonly #sink = new ByteSink();
  #isOpen = false;
  #isFilled = false;

  constructor(state: ExecutionState, source: Rows) {
    this.rows = new RowStore(state.budget);
    this.#source = source;
  }

  /** Returns `ended` once all rows are computed. */
  fill(): Step {
    if (this.#isFilled) return ended;
    if (!this.#isOpen) this.#source.open();
    this.#isOpen = true;
    for (;;) {
      const step = this.#source.next();
      if (step === paused) return paused;
      if (step === ended) break;
      this.#sink.reset();
      this.#source.write(this.#sink);
      this.rows.add(this.#sink.bytes, 0, this.#sink.length);
    }
    this.#isFilled = true;
    return ended;
  }
}

/** A common table, or a query that would be recomputed too often, as the tuples of a slot. */
export class SharedSource implements Tuples {
  readonly #state: ExecutionState;
  readonly #shared: () => SharedRows;
  readonly #slot: number;
  readonly #condition: Test | undefined;
  #rows: SharedRows | undefined;
  #at = 0;

  constructor(
    state: ExecutionState,
    shared: () => SharedRows,
    { slot, condition }: { readonly slot: number; readonly condition: Test | undefined },
  ) {
    this.#state = state;
    this.#shared = shared;
    this.#slot = slot;
    this.#condition = condition;
  }

  open(): void {
    this.#at = 0;
  }

  next(): Step {
    const state = this.#state;
    this.#rows ??= this.#shared();
    if (this.#rows.fill() === paused) return paused;
    const { rows } = this.#rows;
    const { count } = rows;
    while (this.#at < count) {
      if (--state.ticks <= 0 && state.mustPause()) return paused;
      const at = this.#at++;
      state.pages[this.#slot] = rows.bytesOf(at);
      state.rows[this.#slot] = rows.startOf(at);
      if (this.#condition === undefined || this.#condition(state)) return rowReady;
    }
    return ended;
  }
}

export class Distinct implements Rows {
  readonly #state: ExecutionState;
  readonly #rows: Rows;
  readonly #keyOf: RowKey;
  readonly #seen: DistinctRows;
  readonly #sink = new ByteSink();

  constructor(state: ExecutionState, rows: Rows, keyOf: RowKey) {
    this.#state = state;
    this.#rows = rows;
    this.#keyOf = keyOf;
    this.#seen = new DistinctRows(state.budget);
  }

  open(): void {
    this.#rows.open();
    this.#seen.clear();
  }

  next(): Step {
    const sink = this.#sink;
    for (;;) {
      const step = this.#rows.next();
      if (step !== rowReady) return step;
      sink.reset();
      this.#rows.write(sink);
      const before = this.#seen.rows.count;
      const { bytes, length } = this.#keyOf(sink);
      charge(this.#state, length);
      if (this.#seen.add(bytes, 0, length) === before) return rowReady;
    }
  }

  write(into: RowSink): void {
    into.append(this.#sink.bytes, 0, this.#sink.length);
  }
}

export class Limit implements Rows {
  readonly #state: ExecutionState;
  readonly #rows: Rows;
  readonly #bounds: (state: ExecutionState) => LimitBounds;
  #skip = 0;
  #left = 0;

  constructor(state: ExecutionState, rows: Rows, bounds: (state: ExecutionState) => LimitBounds) {
    this.#state = state;
    this.#rows = rows;
    this.#bounds = bounds;
  }

  open(): void {
    const { limit, offset } = this.#bounds(this.#state);
    this.#skip = offset;
    this.#left = limit;
    if (limit > 0) this.#rows.open();
  }

  next(): Step {
    if (this.#left === 0) return ended;
    for (;;) {
      const step = this.#rows.next();
      if (step !== rowReady) return step;
      if (this.#skip > 0) {
        this.#skip--;
        continue;
      }
      this.#left--;
      return rowReady;
    }
  }

  write(into: RowSink): void {
    this.#rows.write(into);
  }
}

export interface LimitBounds {
  /** Infinity means all. */
  readonly limit: number;
  readonly offset: number;
}
