import { present } from '../../assert.ts';
import type { TablePin } from '../../store/table-pin.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import { ended, paused, type Step } from '../operators/operator.ts';
import type { Stage } from '../operators/stages.ts';

/**
 * A part of a statement that runs in slices: its stages, then its own work. Before the first pause
 * the tables are pinned, so that the rows are a snapshot of one moment.
 */
export class PausableRun {
  readonly #state: ExecutionState;
  readonly #stages: readonly Stage[];
  readonly #goOn: () => Step;
  #stage = 0;
  #pins: readonly TablePin[] = [];
  #hasPaused = false;

  /** `goOn` is called repeatedly until it returns anything but `paused`. */
  constructor(state: ExecutionState, stages: readonly Stage[], goOn: () => Step) {
    this.#state = state;
    this.#stages = stages;
    this.#goOn = goOn;
  }

  /** Of its tables, once it has paused; none after `dispose`. */
  get pins(): readonly TablePin[] {
    return this.#pins;
  }

  /**
   * Runs until it is done or the slice of the budget is over. Throws `SqlFailure`, or what a pin
   * throws that was revoked meanwhile; the pins are released then.
   */
  slice(): typeof paused | typeof ended {
    const { budget } = this.#state;
    budget.startSlice();
    try {
      // Also a statement that reads no table goes on where it paused.
      if (this.#hasPaused || this.#pins.length > 0) this.#resume();
      const step = this.#go();
      if (step !== paused) return ended;
      this.pin();
      this.#hasPaused = true;
      return paused;
    } catch (error) {
      this.dispose();
      throw error;
    } finally {
      budget.endSlice();
    }
  }

  /** Pins the rows to this moment, whenever it runs. */
  pin(): void {
    if (this.#pins.length > 0) return;
    this.#pins = this.#state.tables.map((table) => table.pin());
    this.#state.sources = this.#pins;
  }

  /** Releases the pinned rows; a second call does nothing. */
  dispose(): void {
    for (const pin of this.#pins) pin.release();
    this.#pins = [];
  }

  #go(): Step {
    while (this.#stage < this.#stages.length) {
      const stage = present(this.#stages[this.#stage], 'a stage');
      if (stage.run(this.#state) === paused) return paused;
      this.#stage++;
    }
    return this.#goOn();
  }

  #resume(): void {
    for (const pin of this.#pins) pin.requireValid();
    this.#state.resume();
  }
}
