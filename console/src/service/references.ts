import type { DatabaseSchema, TableSchema } from './schema.ts';
import { typeName } from './types.ts';

/** A column whose values are keys of rows of another table, as its name says. */
export interface Reference {
  readonly from: { readonly table: string; readonly column: string };
  readonly to: { readonly table: string; readonly column: string };
}

/**
 * References are not declared: a column is taken for one if it is named after a table that has a
 * primary key of the same type (`customer_id`, and `customers` for the table).
 */
export function referencesOf({ tables }: DatabaseSchema): readonly Reference[] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  return tables.flatMap((table) =>
    table.columns.flatMap((column) => {
      const target = targetOf(column.name, byName);
      const key = target?.columns.find(({ name }) => name === target.primaryKey);
      if (target === undefined || key === undefined) return [];
      const isOwnKey = target === table && column.name === key.name;
      const held = column.type.kind === 'option' ? column.type.some() : column.type;
      if (isOwnKey || typeName(held) !== typeName(key.type)) return [];
      const from = { table: table.name, column: column.name };
      return [{ from, to: { table: target.name, column: key.name } }];
    }),
  );
}

function targetOf(
  column: string,
  byName: ReadonlyMap<string, TableSchema>,
): TableSchema | undefined {
  const stem = /^(.+)_id$/.exec(column)?.[1];
  if (stem === undefined) return undefined;
  // `parent_task_id` is a task, as far as there is no `parent_task`.
  const words = stem.split('_');
  for (let at = 0; at < words.length; at += 1) {
    const name = words.slice(at).join('_');
    const found = byName.get(name) ?? byName.get(`${name}s`) ?? byName.get(`${name}es`);
    if (found !== undefined) return found;
  }
  return undefined;
}
