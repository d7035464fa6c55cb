import type { TableSpec } from '../../schema/catalog.ts';
import { editDistance, nearestNames } from '../../values/nearest-names.ts';
import { isVisible, type Rights } from '../rights.ts';
import type { SqlSchema } from '../schema.ts';

/**
 * The table or view that `name` means to a caller with these rights: canonical names first, then
 * those of the module's source. A table that the caller may not read takes no part in the search,
 * so every name behaves as it would in a database without that table.
 */
export function visibleTable(
  schema: SqlSchema,
  rights: Rights,
  name: string,
): TableSpec | undefined {
  let bySource: TableSpec | undefined;
  for (const table of schema.tables) {
    if (!isVisible(table, rights)) continue;
    if (table.name === name) return table;
    if (table.sourceName === name) bySource ??= table;
  }
  return bySource;
}

/** True if the caller may know a view of this name, which has parameters. */
export function isUnreadable({ unreadable }: SqlSchema, rights: Rights, name: string): boolean {
  if (unreadable === undefined) return false;
  return unreadable.some((view) => {
    return isVisible(view, rights) && (view.name === name || view.sourceName === name);
  });
}

/** Names of the tables that the caller may read: hints must not mention any others. */
export function visibleTableNames(schema: SqlSchema, rights: Rights): readonly string[] {
  return schema.tables.filter((table) => isVisible(table, rights)).map(({ name }) => name);
}

/** "Did you mean `users`?", if one of `names` is close to what was written. */
export function nameHint(written: string, names: readonly string[]): string | undefined {
  const others = names.filter((name) => name !== written);
  const [nearest] = nearestNames(written, others);
  // Two changes turn almost any word of three letters into any other one.
  const reach = written.length <= 3 ? 1 : Math.max(2, Math.floor(written.length / 3));
  if (nearest === undefined || editDistance(written, nearest) > reach) return undefined;
  return `Did you mean \`${nearest}\`?`;
}
