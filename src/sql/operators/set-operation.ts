import { charge } from '../expressions/charge.ts';
import type { RowKey } from '../expressions/row-key.ts';
import { ByteSink, type RowSink } from '../expressions/row-sink.ts';
import type { ExecutionState } from './execution-state.ts';
import { slotBytes } from './held-bytes.ts';
import { ended, paused, type Rows, rowReady, type Step } from './operator.ts';
import { DistinctRows } from './row-store.ts';

/** Returns one query's rows, then the other's. */
export class Concatenation implements Rows {
  readonly #left: Rows;
  readonly #right: Rows;
  #isRight = false;

  constructor(left: Rows, right: Rows) {
    this.#left = left;
    this.#right = right;
  }

  open(): void {
    this.#left.open();
    this.#isRight = false;
  }

  next(): Step {
    if (!this.#isRight) {
      const step = this.#left.next();
      if (step !== ended) return step;
      this.#isRight = true;
      this.#right.open();
    }
    return this.#right.next();
  }

  write(into: RowSink): void {
    (this.#isRight ? this.#right : this.#left).write(into);
  }
}

export interface SetOptions {
  readonly isExcept: boolean;
  readonly isAll: boolean;
  readonly keyOf: RowKey;
}

/** INTERSECT and EXCEPT: counts the rows on the right, then filters those on the left. */
export class SetDifference implements Rows {
  readonly #state: ExecutionState;
  readonly #left: Rows;
  readonly #right: Rows;
  readonly #options: SetOptions;
  readonly #seen: DistinctRows;
  readonly #sink = new ByteSink();
  /** By number of the row: its copies on the right that are not yet used up. */
  #counts: number[] = [];
  #isCounted = false;
  #taken = 0;

  constructor(state: ExecutionState, left: Rows, right: Rows, options: SetOptions) {
    this.#state = state;
    this.#left = left;
    this.#right = right;
    this.#options = options;
    this.#seen = new DistinctRows(state.budget);
  }

  open(): void {
    this.#seen.clear();
    this.#counts = [];
    this.#state.budget.giveBack(this.#taken);
    this.#taken = 0;
    this.#isCounted = false;
    this.#right.open();
    this.#left.open();
  }

  next(): Step {
    if (!this.#isCounted) {
      if (this.#countRight() === paused) return paused;
      this.#isCounted = true;
    }
    for (;;) {
      const step = this.#left.next();
      if (step !== rowReady) return step;
      this.#sink.reset();
      this.#left.write(this.#sink);
      if (this.#isWanted()) return rowReady;
    }
  }

  write(into: RowSink): void {
    into.append(this.#sink.bytes, 0, this.#sink.length);
  }

  #countRight(): Step {
    const sink = this.#sink;
    for (;;) {
      const step = this.#right.next();
      if (step !== rowReady) return step;
      sink.reset();
      this.#right.write(sink);
      const { bytes, length } = this.#options.keyOf(sink);
      charge(this.#state, length);
      const number = this.#seen.add(bytes, 0, length);
      if (number === this.#counts.length) {
        this.#taken += slotBytes;
        this.#state.budget.take(slotBytes);
      }
      this.#counts[number] = (this.#counts[number] ?? 0) + 1;
    }
  }

  #isWanted(): boolean {
    const { isExcept, isAll, keyOf } = this.#options;
    const { bytes, length } = keyOf(this.#sink);
    charge(this.#state, length);
    const counts = this.#counts;
    if (!isExcept) {
      const number = this.#seen.find(bytes, 0, length);
      const count = number < 0 ? 0 : (counts[number] as number);
      if (count === 0) return false;
      counts[number] = isAll ? count - 1 : 0;
      return true;
    }
    if (isAll) {
      const number = this.#seen.find(bytes, 0, length);
      const count = number < 0 ? 0 : (counts[number] as number);
      if (count > 0) counts[number] = count - 1;
      return count === 0;
    }
    // A row that was returned counts as a row of the right side afterwards.
    const before = this.#seen.rows.count;
    return this.#seen.add(bytes, 0, length) === before;
  }
}
