import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { DeclaredPlan } from '../../schema/declared-plan.ts';
import { planBack } from '../../schema/plan-declared.ts';
import { noRow } from '../../store/row-ref.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import { toHex } from '../../values/hex.ts';
import { nothingBroken } from '../broken-parts.ts';
import type { DatabaseCore } from '../core.ts';
import type { ChangedRows, TrialBack } from '../trial-report.ts';
import type { ProgramUpdate } from '../update-program.ts';
import { MigrationRun, memoryFault } from './migration-run.ts';
import { appliedMigrations } from './migration-table.ts';
import type { RunBounds } from './run-bounds.ts';
import { Trial } from './trial.ts';
import type { Workshop } from './workshop.ts';

/** What a trial has made, from which there should be a way back. */
export interface MadeByTrial {
  readonly plan: DeclaredPlan;
  readonly run: MigrationRun;
  readonly bounds: RunBounds;
  readonly workshop: Workshop;
  readonly update: Pick<ProgramUpdate, 'loaded' | 'timestampMicros' | 'calling'>;
}

/** The way back from what a trial has made, or the report that there is none. */
export function wayBackFrom(core: DatabaseCore, made: MadeByTrial): WayBack | TrialBack {
  const { plan, update, workshop } = made;
  const applied = [...appliedMigrations(core.store), ...plan.added];
  const back = planBack(update.loaded.definition, core.program.definition, applied);
  const migrations = plan.added.map(({ id }) => id).toReversed();
  if (back.kind === 'manual') return impossible(migrations, back.reason);
  assert(back.kind === 'declared', 'migrations that a trial applies are to be undone');
  const fault = core.freeBytes && memoryFault(workshop.store, back, core.freeBytes());
  if (fault !== undefined) return impossible(migrations, fault);
  return new WayBack(core, made, back);
}

/** The `down` steps on what a trial has made. */
export class WayBack {
  readonly run: MigrationRun;
  /** True if its rows are to be taken beside the turns. */
  readonly isLarge: boolean;
  readonly #core: DatabaseCore;
  readonly #plan: DeclaredPlan;
  readonly #trial: Trial;
  /** False if commits may have come since the trial has begun. */
  readonly #isOfNow: boolean;

  constructor(core: DatabaseCore, made: MadeByTrial, plan: DeclaredPlan) {
    const { workshop, update, bounds } = made;
    const { store } = workshop;
    const isSliced = isByRow(made.plan) && isByRow(plan) && areOwn(workshop, plan);
    const trial = new Trial(core, { plan, broken: nothingBroken }, store);
    this.#core = core;
    this.#plan = plan;
    this.#trial = trial;
    this.run = new MigrationRun(core, {
      ...{ plan, runner: update.loaded.runner, samples: trial, isTrial: true, goesOn: true },
      ...{ timestampMicros: update.timestampMicros, calling: update.calling, bounds },
      onAssertion: (id, text, holds) => trial.asserted(id, text, holds),
      made: { store, renewed: () => (this.isLarge ? made.run.finishAgain().store : store) },
    });
    this.isLarge = isSliced && this.run.isLarge;
    this.#isOfNow = !made.run.isLarge && !this.isLarge;
  }

  /** `workshop`: the tables as they come back; `failure`: why they do not. */
  report(end: { readonly workshop?: Workshop; readonly failure?: Error }): TrialBack {
    const { tables, conflicts, sampledTo, assertions, failure, millis } = this.#trial.report(
      end,
      this.isLarge,
    );
    const { workshop } = end;
    const changed = workshop === undefined ? [] : this.#changedRows(workshop.store);
    const found = { tables, conflicts, sampledTo, assertions, failure, millis };
    return { ...found, isTried: true, migrations: this.#plan.removed.toReversed(), changed };
  }

  #changedRows(then: Store): ChangedRows[] | undefined {
    return this.#isOfNow ? changedRows(this.#core.store, then) : undefined;
  }
}

/** Whether rows depend on nothing but one row each, so that commits can come in between. */
function isByRow({ stages }: DeclaredPlan): boolean {
  return stages.length === 1 && stages.every(({ whole }) => whole.length === 0);
}

/** Whether nobody else changes the tables that the plan rewrites. */
function areOwn({ store, states }: Workshop, { stages }: DeclaredPlan): boolean {
  return (stages[0]?.tables ?? []).every((planned) => {
    if (planned.kind !== 'rewrite') return true;
    const table = store.tableByName(planned.before);
    return table !== undefined && states.get(table.id)?.kind !== 'kept';
  });
}

function impossible(migrations: readonly string[], failure: string): TrialBack {
  const nothing = { tables: [], conflicts: [], assertions: [], sampledTo: -1, millis: 0 };
  return { ...nothing, isTried: false, migrations, failure, changed: [] };
}

/** Rows of tables of the module that `then` does not have in the same form. */
function changedRows(now: Store, then: Store): ChangedRows[] | undefined {
  const pairs = [...now.tables].flatMap((table): [Table, Table | undefined][] => {
    if (table.spec.kind !== 'user') return [];
    const other = then.tableByName(table.spec.name);
    return other?.heap === table.heap ? [] : [[table, other]];
  });
  const rowCount = pairs.reduce((sum, [table, other]) => {
    return sum + table.rowCount + (other?.rowCount ?? 0);
  }, 0);
  if (rowCount > 2 * limits.trialComparedRowsMax) return undefined;
  return pairs.flatMap(([table, other]) => {
    const rows = missingRows(table, other);
    return rows === 0 ? [] : [{ table: table.spec.name, rows }];
  });
}

function missingRows(table: Table, other: Table | undefined): number {
  const counts = new Map<string, number>();
  if (other !== undefined) {
    for (const row of rowTexts(other)) counts.set(row, (counts.get(row) ?? 0) + 1);
  }
  let missing = 0;
  for (const row of rowTexts(table)) {
    const count = counts.get(row) ?? 0;
    if (count === 0) missing++;
    else counts.set(row, count - 1);
  }
  return missing;
}

function* rowTexts(table: Table): Generator<string> {
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const start = table.offsetOf(ref);
    yield toHex(table.pageOf(ref).subarray(start, start + table.lengthOf(ref)));
  }
}
