import type { Transaction } from '../../store/transaction.ts';
import { type ExecutionRequest, stateOf } from './execution.ts';
import type { ExecutionState } from './execution-state.ts';
import { paused } from './operator.ts';
import { PausableRun } from './pausable-run.ts';
import type { Change, CompiledWrite, WriteOutcome } from './write.ts';

/**
 * One run of a write that lets others through while it finds what to change:
 *
 * ```
 *  run ──paused──▶ run ──▶ … ──found──▶ catchUp ──true──▶ write
 *       others write             nobody writes from here on
 * ```
 *
 * Before the first pause the tables are pinned, so that what is found is that of one moment;
 * `catchUp` makes it that of the present. The maker of an execution disposes of it.
 */
export class WriteExecution {
  readonly #state: ExecutionState;
  readonly #change: Change;
  readonly #run: PausableRun;

  /** It pauses only after it has looked at `rowsInOneGo` rows. Throws `SqlFailure`. */
  constructor(compiled: CompiledWrite, request: ExecutionRequest, rowsInOneGo: number) {
    this.#state = stateOf(compiled.plan, request, rowsInOneGo);
    this.#change = compiled.make(this.#state);
    this.#run = new PausableRun(this.#state, compiled.stages, () => this.#change.find());
  }

  /** Throws `SqlFailure`, or what a pin throws when its rows were taken away meanwhile. */
  run(): 'found' | 'paused' {
    return this.#run.slice() === paused ? 'paused' : 'found';
  }

  /** From now on it runs in one go. */
  stopPausing(): void {
    this.#state.stopPausing();
  }

  /**
   * Makes what was found what a run of this moment would find. False: it cannot, because rows that
   * others wrote decide about it as a whole, or they are more than `rowsMax`. Throws like `run`.
   */
  catchUp(rowsMax: number): boolean {
    const { pins } = this.#run;
    const [pin] = pins;
    if (pin === undefined || pins.every(({ isUnchanged }) => isUnchanged)) return true;
    const { revise } = this.#change;
    const later = pin.laterRows();
    if (revise === undefined || later.countUpTo(rowsMax + 1) > rowsMax) return false;
    this.#state.sources = [later];
    this.#inOneGo(revise);
    return true;
  }

  /** Makes the changes. When it throws, the caller rolls the transaction back. */
  write(transaction: Transaction): WriteOutcome {
    this.#state.sources = undefined;
    this.dispose();
    return this.#inOneGo(() => this.#change.write(transaction));
  }

  /** Lets the pinned rows go; a second time does nothing. */
  dispose(): void {
    this.#run.dispose();
  }

  #inOneGo<Result>(work: () => Result): Result {
    const { budget } = this.#state;
    this.stopPausing();
    budget.startSlice();
    try {
      return work();
    } finally {
      budget.endSlice();
    }
  }
}
