import type { RowSink } from './compile-output.ts';
import type { ExecutionState } from './execution-state.ts';
import type { Maker } from './maker.ts';
import { type Operator, type Rows, rowReady, type Step } from './operator.ts';

/** The measured work of one step of a plan, for EXPLAIN ANALYZE. */
export interface Measurement {
  /** Number of rows that it returned. */
  rows: number;
  /** Number of times it was opened. */
  loops: number;
  /** Milliseconds spent in it, including the steps inside it. */
  millis: number;
}

/** Puts a meter around every step of a plan that is compiled with it. */
export class Measurements {
  readonly #byStep = new Map<object, Measurement>();

  of(step: object): Measurement {
    const known = this.#byStep.get(step);
    if (known !== undefined) return known;
    const measurement: Measurement = { rows: 0, loops: 0, millis: 0 };
    this.#byStep.set(step, measurement);
    return measurement;
  }

  around<Made extends Operator>(step: object, make: Maker<Made>): Maker<Made> {
    const measurement = this.of(step);
    // A metered step of rows also writes them; a step of tuples is never asked to.
    return (state) => new Meter(state, make(state), measurement) as Operator as Made;
  }
}

class Meter implements Rows {
  readonly #state: ExecutionState;
  readonly #inner: Operator;
  readonly #measurement: Measurement;

  constructor(state: ExecutionState, inner: Operator, measurement: Measurement) {
    this.#state = state;
    this.#inner = inner;
    this.#measurement = measurement;
  }

  open(): void {
    const { budget } = this.#state;
    const start = budget.now();
    this.#measurement.loops++;
    this.#inner.open();
    this.#measurement.millis += budget.now() - start;
  }

  next(): Step {
    const { budget } = this.#state;
    const start = budget.now();
    const step = this.#inner.next();
    this.#measurement.millis += budget.now() - start;
    if (step === rowReady) this.#measurement.rows++;
    return step;
  }

  write(into: RowSink): void {
    (this.#inner as Rows).write(into);
  }
}
