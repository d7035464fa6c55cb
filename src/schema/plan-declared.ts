import { toHex } from '../values/hex.ts';
import type { DeclaredPlan } from './declared-plan.ts';
import { declaredText } from './declared-text.ts';
import type { MigrationDefinition, ModuleDefinition } from './definition.ts';
import { type FullTable, fullTablesOf } from './flatten.ts';
import { type Leg, type LegPlan, planLeg } from './migration-leg.ts';
import { breaks, type MigrationPlan, planMigration, reasonOf } from './migration-plan.ts';
import { stagesOf } from './migration-stages.ts';
import { inStepOrder, type MigrationStep } from './migration-steps.ts';
import { planCrons } from './plan-crons.ts';
import { planSchedule } from './plan-table-parts.ts';
import { planRowFilters, planViews } from './plan-views.ts';
import { schemaDifference } from './schema-difference.ts';
import { schemaHashOf } from './schema-hash.ts';

/** A migration that a database has applied. */
export interface AppliedMigration {
  readonly id: string;
  /** SHA-256 of the source text that it was applied with. */
  readonly hash: Uint8Array;
}

/**
 * How a database gets from its definition to that of a program with migrations, of which it has
 * applied some, in that order. If all are applied, or there are none, that is the automatic plan.
 * A new database needs no plan: it begins with the definition, and all migrations count as applied.
 */
export function planDeclared(
  old: ModuleDefinition,
  next: ModuleDefinition,
  applied: readonly AppliedMigration[],
): DeclaredPlan | MigrationPlan {
  const history = compareHistory(next.migrations, applied);
  if (typeof history === 'string') return { kind: 'manual', reason: history };
  const { firstPending } = history;
  const pending = next.migrations.slice(firstPending);
  const [first] = pending;
  if (first === undefined) return planMigration(old, next);
  if (first.fromHash !== schemaHashOf(old)) {
    return { kind: 'manual', reason: otherSchemaText(first, old) };
  }
  const legs = pending.map(({ id, steps, from }, at): Leg => {
    const to = pending[at + 1]?.from ?? next;
    const rest = { direction: 'up', steps, to } as const;
    return { ...rest, id, at: firstPending + at, from: at === 0 ? old : from };
  });
  return planOf({ old, next, legs, added: pending, removed: [] });
}

/**
 * What to say of applied migrations that the program which runs, `old`, carries, and the next one
 * does not, as where their files were deleted; `undefined`: there are none.
 */
export function goneMigrationsText(
  old: ModuleDefinition,
  next: ModuleDefinition,
  applied: readonly AppliedMigration[],
): string | undefined {
  const kept = new Set(next.migrations.map(({ id }) => id));
  const known = new Set(applied.map(({ id }) => id));
  const gone = old.migrations.flatMap(({ id }) => (known.has(id) && !kept.has(id) ? [id] : []));
  if (gone.length === 0) return undefined;
  return (
    `The program lacks migrations that this database has applied: ${gone.join(', ')}. Its rows ` +
    'stay as they are. But no database from before them can be updated to this program, and a ' +
    'roll back cannot undo them. Put their files back where one of these is needed'
  );
}

/**
 * How a database gets back from the program that it runs, `old`, to an earlier one, by the `down`
 * steps of the migrations that the earlier one lacks. The program that runs takes the rows through
 * them. If the earlier program has all that are applied, that is the automatic plan.
 */
export function planBack(
  old: ModuleDefinition,
  next: ModuleDefinition,
  applied: readonly AppliedMigration[],
): DeclaredPlan | MigrationPlan {
  const has = new Set(next.migrations.map(({ id }) => id));
  const newest = next.migrations.at(-1)?.id ?? '';
  const later = applied.filter(({ id }) => !has.has(id) && id > newest).map(({ id }) => id);
  const undone = withoutDeleted(later, old, next);
  if (undone.length === 0) return planDeclared(old, next, applied);
  const refused = (reason: string): MigrationPlan => ({ kind: 'manual', reason });
  const found: { readonly migration: MigrationDefinition; readonly at: number }[] = [];
  for (const id of undone.toReversed()) {
    const at = old.migrations.findIndex((migration) => migration.id === id);
    const migration = old.migrations[at];
    if (migration === undefined) {
      return refused(`migration ${id} cannot be undone: the program that runs does not have it`);
    }
    if (migration.down === undefined) {
      return refused(`migration ${id} cannot be undone: it declares no \`down\` steps`);
    }
    found.push({ migration, at });
  }
  const oldest = found.at(-1)?.migration;
  if (oldest !== undefined && oldest.fromHash !== schemaHashOf(next)) {
    const difference = schemaDifference(next, oldest.from);
    return refused(
      `the program has another schema than the one before migration ${oldest.id}: ${difference}`,
    );
  }
  const legs = found.map(({ migration, at }, order): Leg => {
    const { id, down = [], from } = migration;
    const before = order === 0 ? old : (found[order - 1]?.migration.from ?? old);
    const to = order === found.length - 1 ? next : from;
    return { id, at, direction: 'down', from: before, to, steps: down };
  });
  return planOf({ old, next, legs, added: [], removed: undone.toReversed() });
}

/**
 * Without the oldest, whose files both programs lack because they were deleted: what is left leads
 * to the earlier program's own schema, which is the proof that it is from after those.
 */
function withoutDeleted(
  undone: readonly string[],
  old: ModuleDefinition,
  next: ModuleDefinition,
): readonly string[] {
  const carried = new Set(old.migrations.map(({ id }) => id));
  const first = undone.findIndex((id) => carried.has(id));
  const rest = first < 0 ? [] : undone.slice(first);
  const oldest = old.migrations.find(({ id }) => id === rest[0]);
  const startsFrom = oldest === undefined ? schemaHashOf(old) : oldest.fromHash;
  return startsFrom === schemaHashOf(next) ? rest : undone;
}

/** Where the pending migrations begin, or why the program does not follow on the database. */
function compareHistory(
  migrations: readonly MigrationDefinition[],
  applied: readonly AppliedMigration[],
): { readonly firstPending: number } | string {
  const carried = new Map(migrations.map((migration) => [migration.id, migration]));
  // The oldest files may be gone: nobody needs them once every database is past them.
  const start = applied.findIndex(({ id }) => carried.has(id));
  const kept = start < 0 ? [] : applied.slice(start);
  for (const { id, hash } of kept) {
    const migration = carried.get(id);
    if (migration === undefined) {
      return (
        `migration ${id} was applied to this database, and the program lacks it: ` +
        `put migrations/${id}.ts and its schema file back`
      );
    }
    if (toHex(migration.hash) !== toHex(hash)) {
      return (
        `migration ${id} was edited after it was applied to this database: put its file back ` +
        'as it was, and write what else must change into a new migration'
      );
    }
  }
  const last = applied.at(-1)?.id;
  const known = new Set(applied.map(({ id }) => id));
  const early = migrations.find(({ id }) => last !== undefined && id < last && !known.has(id));
  if (early !== undefined) {
    return (
      `migration ${early.id} comes before ${last}, which is applied to this database: ` +
      'give it a number after that, and let `reducerdb migrate new` write what it starts from'
    );
  }
  return { firstPending: kept.length };
}

function otherSchemaText({ id, from }: MigrationDefinition, old: ModuleDefinition): string {
  return (
    `migration ${id} starts from another schema than the database has: ` +
    `${schemaDifference(old, from)}. Publish the programs between them first, or write the ` +
    'migration again from the schema of this database with `reducerdb migrate new`'
  );
}

interface Way {
  readonly old: ModuleDefinition;
  readonly next: ModuleDefinition;
  readonly legs: readonly Leg[];
  readonly added: readonly MigrationDefinition[];
  readonly removed: readonly string[];
}

function planOf({ old, next, legs, added, removed }: Way): DeclaredPlan | MigrationPlan {
  const plans: LegPlan[] = [];
  for (const leg of legs) {
    const plan = planLeg(leg);
    const { problems, refusals } = plan;
    if (problems.length + refusals.length > 0) {
      const lines = problems.map((problem) => `migration ${leg.id}: ${problem}`);
      const reasons = refusals.length === 0 ? lines : [...lines, reasonOf(refusals)];
      return { kind: 'manual', reason: reasons.join('\n') };
    }
    plans.push(plan);
  }
  const rest = [
    ...planSchedules(old, next, plans),
    ...planCrons(old, next),
    ...planViews(old, next),
    ...planRowFilters(old, next),
  ];
  const automatic = [...plans.flatMap((plan) => plan.automatic), ...rest];
  const breaksClients = breaks(automatic) || plans.some(breaksByItself);
  const end: MigrationStep[] = breaksClients ? [{ kind: 'disconnectClients' }] : [];
  const stages = stagesOf(plans).map((stage) => ({
    ...stage,
    automatic: inStepOrder(stage.isLast ? [...stage.automatic, ...rest, ...end] : stage.automatic),
  }));
  const shown = { plans, rest: inStepOrder([...rest, ...end]) };
  const text = declaredText(shown, 'plain');
  const colouredText = declaredText(shown, 'ansi');
  return { kind: 'declared', stages, added, removed, breaksClients, text, colouredText };
}

/** Rows that became others are not what clients hold; nor are names that changed. */
function breaksByItself({ leg, tables }: LegPlan): boolean {
  if (leg.steps.some(({ kind }) => kind === 'run')) return true;
  return tables.some(({ fate, draft }) => {
    if (fate.kind !== 'keep') return true;
    return fate.before !== fate.after || draft.columns.some(({ isRenamed }) => isRenamed);
  });
}

/** Schedules are compared by the tables that they belong to, whatever these are called. */
function planSchedules(
  old: ModuleDefinition,
  next: ModuleDefinition,
  plans: readonly LegPlan[],
): MigrationStep[] {
  const targets = new Map(fullTablesOf(next).map((full) => [full.table.name, full]));
  return fullTablesOf(old).flatMap((table) => {
    const target = lastOf(table, targets, plans);
    return target === undefined ? [] : planSchedule(table.table, target.table);
  });
}

function lastOf(
  { table }: FullTable,
  targets: ReadonlyMap<string, FullTable>,
  plans: readonly LegPlan[],
): FullTable | undefined {
  let name: string | undefined = table.name;
  for (const plan of plans) {
    name = name === undefined ? undefined : plan.byName.get(name)?.target?.table.name;
  }
  return targets.get(name ?? '');
}
