import { present } from '../../assert.ts';
import type { MigrationOutcome } from '../../module/migration-call.ts';
import type { ModuleRunner } from '../../module/runner.ts';
import type { Catalog } from '../../schema/catalog.ts';
import { catalogOfStage } from '../../schema/catalog-of-stage.ts';
import type { PlannedStage, WholeStep } from '../../schema/declared-plan.ts';
import type { TableId } from '../../schema/ids.ts';
import { addedDefaults } from '../../schema/migration-plan.ts';
import { MigrationError } from '../../store/migrate.ts';
import { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import { continueSequences, copiedTable, sharedTable } from '../../store/table-copies.ts';
import { type AssertedTables, assertedStatement } from './assert-statement.ts';
import { idsText, stepFailure } from './migration-failure.ts';
import { StageProgram } from './stage-program.ts';
import { oldTablesOf, StageRows, type StageRowsOptions } from './stage-rows.ts';
import { TableStates } from './table-state.ts';

export interface WorkshopOptions extends Omit<AssertedTables, 'definition' | 'catalog' | 'store'> {
  /** The tables that serve; they are only read. */
  readonly serving: Store;
  readonly runner: ModuleRunner;
  /** Called before the program's code runs. */
  readonly calling: () => void;
  readonly samples?: StageRowsOptions['samples'];
  readonly grown: StageRowsOptions['grown'];
  /** Called between steps; throws where it is not to go on. */
  readonly look: () => void;
  /** Called with each assertion that was tried. */
  readonly onAssertion?: ((id: string, text: string, holds: boolean) => void) | undefined;
  /** True if an assertion that does not hold is no failure. */
  readonly goesOn?: boolean;
}

/**
 * Tables beside those that serve, taken from stage to stage. Rows and indexes that stay are shared
 * and only read; where a `run` may write, it gets copies. So whatever goes wrong, nothing has
 * happened.
 */
export class Workshop {
  readonly states: TableStates;
  readonly #options: WorkshopOptions;
  #store: Store;
  #isFirst = true;

  constructor(options: WorkshopOptions) {
    const { serving } = options;
    this.#options = options;
    this.states = new TableStates(serving.catalog);
    const { catalog } = serving;
    this.#store = Store.of(
      catalog,
      [...serving.tables].map((table) => sharedTable(table, catalog)),
    );
  }

  /** The tables as far as it is. */
  get store(): Store {
    return this.#store;
  }

  /** Bytes of the rows of all tables of the module. */
  get rowBytes(): number {
    const user = [...this.#store.tables].filter(({ spec }) => spec.kind === 'user');
    return user.reduce((sum, { heap }) => sum + heap.usedBytes, 0);
  }

  /** The rows of the next stage, to be taken in one go. */
  rowsOf(stage: PlannedStage): StageRows {
    const before = this.#store;
    const catalog = catalogOfStage(stage, before.catalog);
    const { grown } = this.#options;
    // Rows of later stages are nobody's rows of now.
    const samples = this.#isFirst ? this.#options.samples : undefined;
    const program = this.#programOf(stage);
    return new StageRows({ stage, before, catalog, program, samples, grown, isOnline: false });
  }

  /** Carries out a stage whose rows were taken. Throws `MigrationError`. */
  complete(stage: PlannedStage, rows: StageRows, catalog: Catalog, isStaged: boolean): void {
    this.#isFirst = false;
    const before = this.#store;
    const defaults = addedDefaults(stage.automatic, catalog);
    const tables = new Map<TableId, Table>();
    for (const [id, { table }] of rows.drafts) {
      requireMade(stage, table.spec.name);
      const old = before.table(id);
      continueSequences(table, old);
      tables.set(id, table);
    }
    const dropped = new Set<TableId>();
    for (const planned of stage.tables) {
      if (planned.kind === 'keep' || planned.kind === 'remove') continue;
      dropped.add(present(before.tableByName(planned.before), 'a table that goes').id);
    }
    const catalogBefore = before.catalog;
    const old = oldTablesOf(before);
    before.prepareMigration(catalog, defaults, { tables, dropped }).apply();
    const kind = isStaged ? ('staged' as const) : ('made' as const);
    const made = new Map([...tables.keys()].map((id) => [id, kind]));
    this.states.advance(catalogBefore, catalog, made, defaults);
    this.#options.look();
    if (stage.whole.some((step) => step.kind === 'run')) this.#copyShared(made);
    for (const step of stage.whole) {
      this.#options.look();
      this.#whole(stage, step, old);
    }
  }

  /** A `run` may write to every table, and what serves must not see that. */
  #copyShared(made: ReadonlyMap<TableId, unknown>): void {
    const { catalog } = this.#store;
    const copies = new Map<TableId, Table>();
    for (const table of this.#store.tables) {
      const isShared = table.spec.kind === 'user' && !made.has(table.id) && table.rowCount > 0;
      if (isShared) copies.set(table.id, copiedTable(table, catalog));
    }
    this.#store
      .prepareMigration(catalog, new Map(), { tables: copies, dropped: new Set() })
      .apply();
  }

  #whole(stage: PlannedStage, step: WholeStep, old: readonly Table[]): void {
    if (step.kind === 'run') this.#run(stage, step, old);
    else this.#assert(stage, step, old);
  }

  #run(stage: PlannedStage, { step }: WholeStep, old: readonly Table[]): void {
    const store = this.#storeWith(old);
    const transaction = store.begin();
    const outcome = this.#programOf(stage).whole('run', step, store, transaction);
    if (outcome.kind !== 'done') {
      transaction.rollback();
      throw stepFailure(stage, ...failureOf(outcome, 'run'));
    }
    const changes = transaction.commit(true)?.tables ?? [];
    this.#options.look();
    const own = changes.filter(({ tableId }) => this.#store.table(tableId)?.spec.isEvent === false);
    this.states.change(own);
  }

  #assert(stage: PlannedStage, { step, text, sql }: WholeStep, old: readonly Table[]): void {
    const holds = sql === undefined ? this.#holds(stage, step, old) : this.#statement(stage, sql);
    this.#options.onAssertion?.(idsText(stage.ids), text, holds);
    if (holds || this.#options.goesOn === true) return;
    throw stepFailure(stage, 'assert', `it does not hold: ${text}`);
  }

  #holds(stage: PlannedStage, step: number, old: readonly Table[]): boolean {
    const outcome = this.#programOf(stage).whole('assert', step, this.#storeWith(old));
    if (outcome.kind === 'failed') throw stepFailure(stage, ...failureOf(outcome, 'assert'));
    return outcome.kind === 'done';
  }

  #statement(stage: PlannedStage, sql: string): boolean {
    const { catalog } = this.#store;
    const asked = { ...this.#options, definition: stage.after, catalog, store: this.#store };
    const asserted = assertedStatement(sql, asked);
    if ('fault' in asserted) throw stepFailure(stage, 'assert', `${asserted.fault} (in: ${sql})`);
    return asserted.holds;
  }

  /** The tables after by their names, and those before as `old.NAME`. */
  #storeWith(old: readonly Table[]): Store {
    const { catalog } = this.#store;
    const own = [...this.#store.tables].filter(({ spec }) => spec.kind === 'user');
    const tables = [...own, ...old];
    return Store.of({ ...catalog, tables: tables.map(({ spec }) => spec) }, tables);
  }

  #programOf(stage: PlannedStage): StageProgram {
    const { runner, nowMicros, calling } = this.#options;
    return new StageProgram(runner, stage, nowMicros, calling);
  }
}

function failureOf(
  outcome: Exclude<MigrationOutcome, { readonly kind: 'rows' | 'done' }>,
  step: string,
): [step: string, message: string] {
  if (outcome.kind === 'failed') return [outcome.step, outcome.message];
  return [step, 'the program refused it'];
}

function requireMade({ tables }: PlannedStage, name: string): void {
  const isKept = tables.some((table) => table.kind === 'keep' && table.after === name);
  if (!isKept) return;
  throw new MigrationError(
    `Table \`${name}\` has rows of its own: rows of another cannot go into it`,
  );
}
