import type { Transaction } from '../../store/transaction.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import { paused } from '../operators/operator.ts';
import { type ExecutionRequest, stateOf } from './execution.ts';
import { PausableRun } from './pausable-run.ts';
import type { WriteOutcome } from './results.ts';
import type { Change, CompiledWrite } from './write.ts';

/**
 * One run of a write that lets others run while it finds what to change:
 *
 * ```
 *  run ──paused──▶ run ──▶ … ──found──▶ catchUp ──true──▶ write
 *       others write             no one writes from here on
 * ```
 *
 * Before the first pause the tables are pinned, so that the rows found are a snapshot of one
 * moment; `catchUp` brings them up to the present. The code that makes an execution disposes of it.
 */
export class WriteExecution {
  readonly #state: ExecutionState;
  readonly #change: Change;
  readonly #run: PausableRun;

  /** Pauses only after it has looked at `rowsInOneGo` rows. Throws `SqlFailure`. */
  constructor(compiled: CompiledWrite, request: ExecutionRequest, rowsInOneGo: number) {
    this.#state = stateOf(compiled.plan, request, rowsInOneGo);
    this.#change = compiled.make(this.#state);
    this.#run = new PausableRun(this.#state, compiled.stages, () => this.#change.find());
  }

  /** Throws `SqlFailure`, or what a pin throws that was revoked meanwhile. */
  run(): 'found' | 'paused' {
    return this.#run.slice() === paused ? 'paused' : 'found';
  }

  /** Makes it run in one go. */
  stopPausing(): void {
    this.#state.stopPausing();
  }

  /**
   * Brings the rows found to what a run of this moment would find. Returns false if it cannot,
   * because rows written by others decide about the whole, or are more than `rowsMax`. Throws like
   * `run`.
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

  /** Releases the pinned rows; a second call does nothing. */
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
