import type { Catalog, TableSpec, ViewSpec } from '../schema/catalog.ts';
import type { ModuleDefinition, TableDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { isReadable } from '../schema/flatten.ts';
import type { TableId } from '../schema/ids.ts';
import { computedTables, hiddenTableIds } from '../schema/system-tables.ts';
import type { SqlSchema, UnreadableView } from '../sql/schema.ts';
import { filtersByTable } from './row-filters.ts';

/**
 * The names that statements can use in one version of a database's schema. `catalog` is the one
 * built from `definition`. It holds the ids, including those of views: they share one series with
 * the ids of tables and are never reused.
 *
 * Throws `RowFilterError` when a filter of the definition's row-level security is invalid.
 */
export function sqlSchemaOf(definition: ModuleDefinition, catalog: Catalog): SqlSchema {
  const stored = catalog.tables.filter(({ id }) => !hiddenTableIds.has(id));
  const tables = [...stored, ...computedTables, ...catalog.views.map(viewTable)];
  const views = new Map(catalog.views.map(({ id, isAnonymous }) => [id, { id, isAnonymous }]));
  const flat = flatDefinition(definition);
  const unreadable = flat.views
    .filter((view) => !isReadable(view))
    .map(({ name, sourceName, isPublic }): UnreadableView => {
      return { name, sourceName, access: isPublic ? 'public' : 'private' };
    });
  const { types } = catalog;
  const defaults = defaultsOf(flat.tables, stored);
  const unfiltered: SqlSchema = { tables, types, views, unreadable, defaults, filters: new Map() };
  return { ...unfiltered, filters: filtersByTable(definition, unfiltered) };
}

/** The defaults of columns, by table and position. */
function defaultsOf(
  declared: readonly TableDefinition[],
  tables: readonly TableSpec[],
): NonNullable<SqlSchema['defaults']> {
  const ofModule = tables.filter(({ kind }) => kind === 'user');
  const idByName = new Map(ofModule.map(({ id, name }) => [name, id]));
  const defaults = new Map<TableId, ReadonlyMap<number, Uint8Array>>();
  for (const { name, columns } of declared) {
    const id = idByName.get(name);
    const values = columns.flatMap(({ defaultBytes }, at) => {
      return defaultBytes === undefined ? [] : [[at, defaultBytes] as const];
    });
    if (id !== undefined && values.length > 0) defaults.set(id, new Map(values));
  }
  return defaults;
}

/** A view in the shape of a table: the rows of one of its instances. */
export function viewTable(view: ViewSpec): TableSpec {
  const { isAnonymous: _, ...shape } = view;
  return { ...shape, kind: 'view', isEvent: false, sequences: [], derivedIndexes: [] };
}
