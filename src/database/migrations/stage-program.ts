import type { MigrationCall, MigrationOutcome } from '../../module/migration-call.ts';
import type { ModuleRunner } from '../../module/runner.ts';
import type { PlannedStage } from '../../schema/declared-plan.ts';
import type { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';

type RowsOutcome = Extract<MigrationOutcome, { readonly kind: 'rows' | 'failed' }>;
type WholeOutcome = Exclude<MigrationOutcome, { readonly kind: 'rows' }>;

/** A program's code for one stage. */
export class StageProgram {
  readonly #runner: ModuleRunner;
  readonly #stage: PlannedStage;
  readonly #timestampMicros: bigint;
  readonly #calling: () => void;

  /** `calling` is called before the program's code runs, which has its time limit each time. */
  constructor(
    runner: ModuleRunner,
    stage: PlannedStage,
    timestampMicros: bigint,
    calling: () => void,
  ) {
    this.#runner = runner;
    this.#stage = stage;
    this.#timestampMicros = timestampMicros;
    this.#calling = calling;
  }

  rows(table: string, rows: Uint8Array, count: number, store: Store): RowsOutcome {
    const outcome = this.#call({ ...this.#stretch(), kind: 'rows', table, rows, count, store });
    if (outcome.kind === 'rows' || outcome.kind === 'failed') return outcome;
    throw new Error(`a program answered ${outcome.kind} where rows were asked for`);
  }

  whole(
    kind: 'run' | 'assert',
    step: number,
    store: Store,
    transaction?: Transaction,
  ): WholeOutcome {
    const outcome = this.#call({ ...this.#stretch(), kind, step, store }, transaction);
    if (outcome.kind !== 'rows') return outcome;
    throw new Error(`a program answered rows where a ${kind} was asked for`);
  }

  #stretch() {
    const { direction, first, last } = this.#stage;
    return { direction, first, last, timestampMicros: this.#timestampMicros };
  }

  #call(call: MigrationCall, transaction?: Transaction): MigrationOutcome {
    const { callMigration } = this.#runner;
    if (callMigration === undefined) throw new Error('the program has no code for its migrations');
    this.#calling();
    return callMigration.call(this.#runner, call, transaction);
  }
}
