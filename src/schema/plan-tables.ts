import type { FullTable } from './flatten.ts';
import type { MigrationStep } from './migration-steps.ts';
import type { PlanRefusal } from './plan-columns.ts';
import { planTable } from './plan-table-parts.ts';

/** Changes of tables, which are matched by full canonical name. Not in execution order. */
export function planTables(old: readonly FullTable[], next: readonly FullTable[]): TablesPlan {
  const before = byName(old);
  const after = byName(next);
  const steps: MigrationStep[] = [];
  const refusals: PlanRefusal[] = [];
  for (const [name, table] of before) {
    const match = after.get(name);
    const plan = match === undefined ? undefined : planTable(table, match);
    steps.push(...(plan?.steps ?? [{ kind: 'removeTable' as const, table: name }]));
    refusals.push(...(plan?.refusals ?? []));
  }
  for (const [name, table] of after) {
    if (!before.has(name)) steps.push({ kind: 'addTable', ...table });
  }
  return { steps, refusals };
}

export interface TablesPlan {
  readonly steps: readonly MigrationStep[];
  readonly refusals: readonly PlanRefusal[];
}

function byName(tables: readonly FullTable[]): Map<string, FullTable> {
  return new Map(tables.map((full) => [full.table.name, full]));
}
