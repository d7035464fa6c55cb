import type { Catalog } from './catalog.ts';
import type { ModuleDefinition } from './definition.ts';
import { fullTablesOf } from './flatten.ts';
import type { TableId } from './ids.ts';
import { inStepOrder, type MigrationStep } from './migration-steps.ts';
import type { PlanRefusal } from './plan-columns.ts';
import { planCrons } from './plan-crons.ts';
import { planTables } from './plan-tables.ts';
import { planText } from './plan-text.ts';
import { planRowFilters, planViews } from './plan-views.ts';

/** How a database gets from one definition to the next, or why it cannot do so on its own. */
export type MigrationPlan =
  | {
      readonly kind: 'automatic';
      /** In execution order; empty if nothing that has rows changes. */
      readonly steps: readonly MigrationStep[];
      /** Whether connected clients must be disconnected. */
      readonly breaksClients: boolean;
      /** The plan as people read it, without colours; `planText` has them. */
      readonly text: string;
    }
  /** `reason` has one line for each change that cannot be made. */
  | { readonly kind: 'manual'; readonly reason: string };

/**
 * Compares two valid definitions. Tables and views are matched by full canonical name, so a rename
 * is a removal and an addition. Reducers, procedures, handlers, pure types, default values of
 * existing columns and the bodies of views are not compared: changing them needs no migration.
 */
export function planMigration(old: ModuleDefinition, next: ModuleDefinition): MigrationPlan {
  const tables = planTables(fullTablesOf(old), fullTablesOf(next));
  const rest = [...planCrons(old, next), ...planViews(old, next), ...planRowFilters(old, next)];
  if (tables.refusals.length > 0) return { kind: 'manual', reason: reasonOf(tables.refusals) };
  const steps = [...tables.steps, ...rest];
  const breaksClients = breaks(steps);
  if (breaksClients) steps.push({ kind: 'disconnectClients' });
  const ordered = inStepOrder(steps);
  return { kind: 'automatic', steps: ordered, breaksClients, text: planText(ordered, 'plain') };
}

/** One line for each refusal; then, in a line of its own, how a migration makes the changes. */
export function reasonOf(refusals: readonly PlanRefusal[]): string {
  const lines = refusals.map(({ text }) => text);
  const calls = [...new Set(refusals.flatMap(({ call }) => call ?? []))];
  if (calls.length === 0) return lines.join('\n');
  const shown = calls.slice(0, shownCallsMax).join(', ');
  const more = calls.length > shownCallsMax ? `, and ${calls.length - shownCallsMax} more` : '';
  return [...lines, `${declareWords} ${shown}${more}`].join('\n');
}

/** What the line begins with that names steps of migrations. */
export const declareWords = 'Declare it in a migration, which `reducerdb migrate new` writes:';

/** Steps that a refusal names. */
const shownCallsMax = 20;

/** Whether clients built for the old schema can no longer read what they receive. */
export function breaks(steps: readonly MigrationStep[]): boolean {
  return steps.some(({ kind }) => breakingKinds.has(kind));
}

const breakingKinds: ReadonlySet<MigrationStep['kind']> = new Set([
  'removeView',
  'removeRowFilter',
  'addRowFilter',
  'removeTable',
  'replaceEventTable',
  'addColumns',
]);

/**
 * The encoded values that existing rows get, by table id: one for each column that a plan adds to
 * the table, in column order. `catalog` is the one the plan leads to.
 */
export function addedDefaults(
  steps: readonly MigrationStep[],
  catalog: Catalog,
): ReadonlyMap<TableId, readonly Uint8Array[]> {
  const ids = new Map(catalog.tables.map((table) => [table.name, table.id]));
  const defaults = new Map<TableId, readonly Uint8Array[]>();
  for (const step of steps) {
    const id = step.kind === 'addColumns' ? ids.get(step.table) : undefined;
    if (step.kind !== 'addColumns' || id === undefined) continue;
    defaults.set(
      id,
      step.columns.map((column) => column.defaultBytes),
    );
  }
  return defaults;
}
