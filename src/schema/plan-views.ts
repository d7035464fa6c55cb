import type { ModuleDefinition } from './definition.ts';
import { type FullView, fullViewsOf, rowFiltersOf } from './flatten.ts';
import type { MigrationStep } from './migration-steps.ts';
import { isSameSignature } from './view-signature.ts';

/**
 * Matches views by full canonical name. A view whose signature changed is dropped and created
 * again; its body is not compared, since it is evaluated again after every update.
 */
export function planViews(old: ModuleDefinition, next: ModuleDefinition): MigrationStep[] {
  const before = byName(old);
  const after = byName(next);
  const removed = [...before].filter(([name, view]) => !isSame(view, after.get(name)));
  const added = [...after].filter(([name, view]) => !isSame(view, before.get(name)));
  const stayed = [...after].flatMap(([name, view]) => {
    const match = before.get(name);
    return match !== undefined && isSame(view, match) ? planAttributes(match, view) : [];
  });
  return [
    ...removed.map(([, view]): MigrationStep => ({ kind: 'removeView', ...view })),
    ...added.map(([, view]): MigrationStep => ({ kind: 'addView', ...view })),
    ...stayed,
  ];
}

/** The row-level security texts added and removed; each text names its table. */
export function planRowFilters(old: ModuleDefinition, next: ModuleDefinition): MigrationStep[] {
  const before = rowFiltersOf(old);
  const after = rowFiltersOf(next);
  const removed = before.filter((sql) => !after.includes(sql));
  const added = after.filter((sql) => !before.includes(sql));
  return [
    ...removed.map((sql): MigrationStep => ({ kind: 'removeRowFilter', sql })),
    ...added.map((sql): MigrationStep => ({ kind: 'addRowFilter', sql })),
  ];
}

function byName(definition: ModuleDefinition): Map<string, FullView> {
  return new Map(fullViewsOf(definition).map((full) => [full.view.name, full]));
}

function isSame(one: FullView, other: FullView | undefined): boolean {
  if (other === undefined) return false;
  return isSameSignature(one.view, other.view, one.typespace, other.typespace);
}

function planAttributes({ view: old }: FullView, { view: next }: FullView): MigrationStep[] {
  const { name: table, sourceName } = next;
  const steps: MigrationStep[] = [];
  if (old.sourceName !== sourceName) {
    steps.push({ kind: 'changeTableSourceName', table, sourceName });
  }
  next.columns.forEach((column, position) => {
    const spelling = column.sourceName;
    if (old.columns[position]?.sourceName === spelling) return;
    const change = { table, column: column.name, sourceName: spelling };
    steps.push({ kind: 'changeColumnSourceName', ...change });
  });
  if (old.isPublic !== next.isPublic) {
    const [from, to] = next.isPublic
      ? (['private', 'public'] as const)
      : (['public', 'private'] as const);
    steps.push({ kind: 'changeAccess', table, from, to });
  }
  return steps;
}
