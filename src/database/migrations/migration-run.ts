import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { ModuleRunner } from '../../module/runner.ts';
import { encodeCatalog } from '../../schema/catalog-codec.ts';
import { catalogOfStage } from '../../schema/catalog-of-stage.ts';
import type { DeclaredPlan, PlannedStage } from '../../schema/declared-plan.ts';
import { MigrationError } from '../../store/migrate.ts';
import type { Store } from '../../store/store.ts';
import { bytesText } from '../../values/bytes-text.ts';
import { asCaller } from '../../values/identity-roles.ts';
import type { DatabaseCore } from '../core.ts';
import { Refusal, refusal } from '../outcome.ts';
import { type PreparedMigration, preparedMigration } from './prepared-migration.ts';
import { type MadeRows, RunBounds } from './run-bounds.ts';
import { StageProgram } from './stage-program.ts';
import { NeedsStandstill, StageRows, type StageRowsOptions } from './stage-rows.ts';
import { StagedWriter } from './staged-writer.ts';
import { Workshop, type WorkshopOptions } from './workshop.ts';

export interface MigrationRunOptions
  extends Pick<WorkshopOptions, 'samples' | 'onAssertion' | 'goesOn'> {
  readonly plan: DeclaredPlan;
  /** The program whose code takes the rows: the new one, or on the way back the one that serves. */
  readonly runner: ModuleRunner;
  readonly timestampMicros: bigint;
  /** Called before the program's code runs. */
  readonly calling: () => void;
  /** True if nothing is to be swapped in, so that nothing is logged. */
  readonly isTrial?: boolean;
  /** Absent: it has bounds of its own, and nobody abandons it. */
  readonly bounds?: RunBounds;
  /** What it begins with, if not with the tables that serve. */
  readonly made?: MadeTables;
}

/** The tables that another run has made, which serve nobody. */
export interface MadeTables {
  readonly store: Store;
  /** Called when the rest is done at once: the tables that stay may have changed meanwhile. */
  readonly renewed: () => Store;
}

/**
 * One declared migration, from the first row to tables that can be swapped in:
 *
 * ```
 *  begin ──▶ slice … slice ──isReady──▶ complete ──▶ swap            few rows: complete alone
 *               └── commits of others, which are taken up ──┘
 *  cancel at any moment before the swap: nothing has happened
 * ```
 */
export class MigrationRun {
  readonly rowCount: number;
  readonly #core: DatabaseCore;
  readonly #options: MigrationRunOptions;
  readonly #bounds: RunBounds;
  #rows: StageRows | undefined;
  #writer: StagedWriter | undefined;
  /** Rows that the program takes at once, so that a batch is a part of a slice. */
  #batchRows: number;
  /** The rows of the last stage that was completed. */
  #completed: StageRows | undefined;

  constructor(core: DatabaseCore, options: MigrationRunOptions) {
    this.#core = core;
    this.#options = options;
    this.#bounds = options.bounds ?? new RunBounds(core);
    this.#batchRows = Math.min(firstBatchRows, core.migrationSizes.batchRows);
    this.rowCount = rewrittenRows(this.#store, this.#firstStage);
  }

  get #store(): Store {
    return this.#options.made?.store ?? this.#core.store;
  }

  /** True if its rows are to be taken beside the turns. */
  get isLarge(): boolean {
    return this.rowCount > this.#core.migrationSizes.onlineRowsMin;
  }

  /** How far it is. */
  get progress(): { readonly table: string; readonly done: number; readonly total: number } {
    const rows = this.#rows;
    const done = Math.min(rows?.done ?? 0, this.rowCount);
    const before = rows?.current ?? '';
    const planned = this.#firstStage.tables.find((table) => table.before === before);
    const after = planned?.kind === 'rewrite' ? planned.after : undefined;
    return { table: after ?? before, done, total: this.rowCount };
  }

  /** True when little enough is left for `complete`. */
  get isReady(): boolean {
    const rows = this.#rows;
    return rows?.isRead === true && rows.backlog <= this.#core.migrationSizes.lastRowsMax;
  }

  /** Begins to follow the tables. Called between transactions. */
  begin(): void {
    assert(this.#rows === undefined, 'a migration begins once');
    const { log } = this.#core;
    const store = this.#store;
    const stage = this.#firstStage;
    const catalog = catalogOfStage(stage, store.catalog);
    if (this.#options.isTrial !== true)
      this.#writer = new StagedWriter(log, encodeCatalog(catalog));
    const { runner, timestampMicros, calling, samples } = this.#options;
    const program = new StageProgram(runner, stage, timestampMicros, calling);
    const rest: StageRowsOptions = {
      ...{ stage, before: store, catalog, program, samples, isOnline: true },
      grown: (made) => this.#grown(made),
      log: this.#writer,
    };
    this.#rows = new StageRows(rest);
    for (const source of this.#rows.sources) source.table.changes.watcher = source;
  }

  /**
   * Takes rows for a slice, and appends them to the log. Throws `MigrationError`, or
   * `NeedsStandstill` if they have to be taken in one go.
   */
  slice(): void {
    const { clock, migrationSizes } = this.#core;
    const { sliceMillis } = migrationSizes;
    const rows = present(this.#rows, 'the rows of a migration that has begun');
    const startedAt = clock.monotonicMillis();
    let at = startedAt;
    while (rows.step(this.#batchRows)) {
      const now = clock.monotonicMillis();
      this.#pace(now - at, sliceMillis);
      at = now;
      if (at - startedAt >= sliceMillis) break;
    }
    if (rows.backlog > limits.migrationBacklogRowsMax) {
      const waiting = `${rows.backlog} changed rows wait`;
      const message = `Other calls change rows faster than the migration takes them: ${waiting}`;
      throw new Refusal({ code: 'migration.failed', message });
    }
    this.#writer?.flush();
  }

  /** Batches that take about a quarter of a slice. */
  #pace(took: number, millis: number): void {
    if (took > millis / 2) this.#batchRows = Math.max(1, this.#batchRows >> 1);
    else if (took < millis / 8) {
      this.#batchRows = Math.min(this.#core.migrationSizes.batchRows, this.#batchRows * 2);
    }
  }

  /** Gives everything up. */
  cancel(): void {
    for (const { table } of this.#rows?.sources ?? []) table.changes.watcher = undefined;
    this.#rows = undefined;
  }

  /**
   * Takes what is left, carries out the rest, and returns what is to be swapped in; nothing has
   * happened yet. Throws `MigrationError`. Nothing may be written meanwhile.
   */
  complete(): PreparedMigration {
    const workshop = this.finish();
    const { store, log } = this.#core;
    return preparedMigration(workshop, store, log, this.#writer?.run ?? 0);
  }

  /** Like `complete`, but returns the tables that were made. */
  finish(): Workshop {
    return this.#bounds.inStandstill(() => {
      const { plan, made } = this.#options;
      const workshop = this.#workshopOver(made?.renewed() ?? this.#core.store);
      for (const stage of plan.stages) this.#complete(workshop, stage);
      this.#bounds.look();
      return workshop;
    });
  }

  /**
   * What `finish` has made, with the tables of this moment where it keeps them. Only for plans of
   * one stage without whole steps, whose rows depend on nothing else.
   */
  finishAgain(): Workshop {
    const workshop = this.#workshopOver(this.#core.store);
    const catalog = catalogOfStage(this.#firstStage, workshop.store.catalog);
    const rows = present(this.#completed, 'the rows of a migration that is finished');
    workshop.complete(this.#firstStage, rows, catalog, true);
    return workshop;
  }

  #workshopOver(serving: Store): Workshop {
    const { runner, timestampMicros, calling, samples, onAssertion, goesOn } = this.#options;
    const { owner, clock, statementMillisMax } = this.#core;
    return new Workshop({
      ...{ serving, runner, calling, samples, onAssertion, goesOn: goesOn ?? false },
      ...{ owner: asCaller(owner), nowMicros: timestampMicros, millisMax: statementMillisMax },
      now: () => clock.monotonicMillis(),
      ...{ grown: (made) => this.#grown(made), look: () => this.#bounds.look() },
    });
  }

  /** Rows that are too many are not made to the end. */
  #grown(made: MadeRows): void {
    this.#bounds.grown(made);
    this.#requireQuota(made.rowBytes);
  }

  #requireQuota(rowBytes: number): void {
    const fault = this.#core.quota.faultOfRows(this.#core, rowBytes);
    if (fault === undefined) return;
    throw this.#options.isTrial ? new MigrationError(fault) : refusal('quota.exceeded', fault);
  }

  #complete(workshop: Workshop, stage: PlannedStage): void {
    const online = stage === this.#firstStage ? this.#takeOnline() : undefined;
    const rows = online ?? this.#takeAll(workshop.rowsOf(stage));
    const catalog = catalogOfStage(stage, workshop.store.catalog);
    workshop.complete(stage, rows, catalog, online !== undefined);
    this.#completed = rows;
  }

  /** The rows that were taken beside the turns; `undefined`: it has to begin again. */
  #takeOnline(): StageRows | undefined {
    const rows = this.#rows;
    if (rows === undefined) return undefined;
    try {
      this.#takeAll(rows);
      this.#writer?.flush();
      return rows;
    } catch (error) {
      if (!(error instanceof NeedsStandstill)) throw error;
      return undefined;
    } finally {
      this.cancel();
    }
  }

  /** What is left, in batches between which it looks whether to go on. */
  #takeAll(rows: StageRows): StageRows {
    const { clock, migrationSizes } = this.#core;
    let at = clock.monotonicMillis();
    while (rows.step(this.#batchRows)) {
      const now = clock.monotonicMillis();
      this.#pace(now - at, Math.max(migrationSizes.sliceMillis, standstillPaceMillis));
      at = now;
    }
    rows.requireWhole();
    return rows;
  }

  get #firstStage(): PlannedStage {
    return present(this.#options.plan.stages[0], 'the first stage of a migration');
  }
}

const firstBatchRows = 32;
/** While writers are stopped, a batch takes a part of that. */
const standstillPaceMillis = 50;

function rewrittenRows(store: Store, { tables }: PlannedStage): number {
  return tables.reduce((sum, table) => {
    if (table.kind !== 'rewrite') return sum;
    return sum + (store.tableByName(table.before)?.rowCount ?? 0);
  }, 0);
}

/**
 * Refuses a migration for which there is not enough memory: the rows and indexes that are rewritten
 * exist twice until the swap. `freeBytes`: what the machine has.
 */
export function requireMemory(
  { store }: DatabaseCore,
  plan: DeclaredPlan,
  freeBytes: number,
): void {
  const message = memoryFault(store, plan, freeBytes);
  if (message !== undefined) throw new Refusal({ code: 'migration.failed', message });
}

/** Why there is not enough memory; `undefined`: there is. `store`: what it begins with. */
export function memoryFault(
  store: Store,
  plan: DeclaredPlan,
  freeBytes: number,
): string | undefined {
  const needed = neededBytes(store, plan);
  if (needed <= freeBytes) return undefined;
  return (
    `The migration needs about ${bytesText(needed)} of memory, because the tables that it ` +
    `rewrites exist twice for a while, and ${bytesText(freeBytes)} are free. Free memory, or ` +
    'divide the migration into several that rewrite fewer tables each'
  );
}

/** Bytes of the tables that are rewritten, or that a `run` gets copies of. */
export function neededBytes(store: Store, { stages }: DeclaredPlan): number {
  const [first] = stages;
  const isCopied = stages.some(({ whole }) => whole.some(({ kind }) => kind === 'run'));
  let bytes = 0;
  for (const table of store.tables) {
    if (table.spec.kind !== 'user') continue;
    const planned = first?.tables.find(({ before }) => before === table.spec.name);
    const isMade = planned?.kind === 'rewrite' || (isCopied && planned?.kind === 'keep');
    if (isMade) bytes += table.memory().totalBytes;
  }
  return bytes;
}
