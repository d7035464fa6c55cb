import type { RowSink } from '../expressions/row-sink.ts';
import type { Measurement } from '../plan/measurements.ts';
import type { ExecutionState } from './execution-state.ts';
import type { Maker } from './maker.ts';
import { type Operator, type Rows, rowReady, type Step } from './operator.ts';

/** Puts a meter around a step of a plan: what it does is added to `measurement`. */
export function metered<Made extends Operator>(
  make: Maker<Made>,
  measurement: Measurement,
): Maker<Made> {
  // A metered step of rows also writes them; a step of tuples is never asked to.
  return (state) => new Meter(state, make(state), measurement) as Operator as Made;
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
