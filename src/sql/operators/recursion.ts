import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { charge } from '../expressions/charge.ts';
import type { RowKey } from '../expressions/row-key.ts';
import { ByteSink, type RowSink } from '../expressions/row-sink.ts';
import { overBudget } from '../failure.ts';
import type { ExecutionState } from './execution-state.ts';
import { ended, paused, type Rows, rowReady, type Step } from './operator.ts';
import { DistinctRows, RowStore } from './row-store.ts';

export interface RecursionOptions {
  /** Under which the rows of a step are kept for the next one. */
  readonly number: string;
  /** For UNION: rows that were there before are left out. */
  readonly keyOf: RowKey | undefined;
}

/**
 * The rows of a base, then those of steps, each over the rows of the one before it, until a step
 * makes none.
 */
export class Recursion implements Rows {
  readonly #state: ExecutionState;
  readonly #base: Rows;
  readonly #step: Rows;
  readonly #options: RecursionOptions;
  readonly #seen: DistinctRows;
  readonly #sink = new ByteSink();
  /** What the present step reads, and what it has made. */
  #working: RowStore;
  #made: RowStore;
  #running: Rows;
  #stepCount = 0;

  constructor(state: ExecutionState, base: Rows, step: Rows, options: RecursionOptions) {
    this.#state = state;
    this.#base = base;
    this.#step = step;
    this.#options = options;
    this.#seen = new DistinctRows(state.budget);
    this.#working = new RowStore(state.budget);
    this.#made = new RowStore(state.budget);
    this.#running = base;
  }

  open(): void {
    this.#seen.clear();
    this.#working.clear();
    this.#made.clear();
    this.#running = this.#base;
    this.#stepCount = 0;
    this.#base.open();
  }

  next(): Step {
    for (;;) {
      const step = this.#running.next();
      if (step === paused) return paused;
      if (step === rowReady) {
        this.#sink.reset();
        this.#running.write(this.#sink);
        if (!this.#isNew()) continue;
        this.#made.add(this.#sink.bytes, 0, this.#sink.length);
        return rowReady;
      }
      if (this.#made.count === 0) return ended;
      this.#startStep();
    }
  }

  write(into: RowSink): void {
    into.append(this.#sink.bytes, 0, this.#sink.length);
  }

  #isNew(): boolean {
    const { keyOf } = this.#options;
    if (keyOf === undefined) return true;
    const before = this.#seen.rows.count;
    const { bytes, length } = keyOf(this.#sink);
    charge(this.#state, length);
    return this.#seen.add(bytes, 0, length) === before;
  }

  #startStep(): void {
    this.#stepCount++;
    if (this.#stepCount > limits.sqlRecursionStepsMax) {
      throw overBudget(
        `A recursive query takes more than ${limits.sqlRecursionStepsMax} steps; ` +
          'end it by a condition, or use UNION instead of UNION ALL',
      );
    }
    const read = this.#working;
    this.#working = this.#made;
    this.#made = read;
    this.#made.clear();
    this.#state.kept.set(this.#options.number, this.#working);
    this.#running = this.#step;
    this.#step.open();
  }
}

/** The rows that the step before this one has made. */
export class WorkingRows implements Rows {
  readonly #state: ExecutionState;
  readonly #number: string;
  #rows: RowStore | undefined;
  #at = -1;

  constructor(state: ExecutionState, number: string) {
    this.#state = state;
    this.#number = number;
  }

  open(): void {
    this.#rows = this.#state.kept.get(this.#number) as RowStore | undefined;
    this.#at = -1;
  }

  next(): Step {
    assert(this.#rows !== undefined, 'a step runs behind a base');
    const state = this.#state;
    if (--state.ticks <= 0 && state.mustPause()) return paused;
    this.#at++;
    return this.#at < this.#rows.count ? rowReady : ended;
  }

  write(into: RowSink): void {
    this.#rows?.write(this.#at, into);
  }
}
