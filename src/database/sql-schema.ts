import type { Catalog, TableSpec, ViewSpec } from '../schema/catalog.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { rowFiltersOf } from '../schema/flatten.ts';
import { computedTables } from '../schema/system-tables.ts';
import type { SqlSchema } from '../sql/schema.ts';
import { filtersByTable } from './row-filters.ts';

/**
 * What statements may name in one version of a database's schema. `catalog` is the one that
 * `definition` led to. It holds the ids, those of views too: they are of one series with the ids of
 * tables, and none is used again for anything else.
 *
 * Throws `RowFilterError` when a filter of the definition's row-level security is wrong.
 */
export function sqlSchemaOf(definition: ModuleDefinition, catalog: Catalog): SqlSchema {
  const tables = [...catalog.tables, ...computedTables, ...catalog.views.map(viewTable)];
  const views = new Map(catalog.views.map(({ id, isAnonymous }) => [id, { isAnonymous }]));
  const unfiltered: SqlSchema = { tables, types: catalog.types, views, filters: new Map() };
  return { ...unfiltered, filters: filtersByTable(rowFiltersOf(definition), unfiltered) };
}

/** A view in the shape of a table: what one of its instances holds. */
export function viewTable(view: ViewSpec): TableSpec {
  const { isAnonymous: _, ...shape } = view;
  return { ...shape, kind: 'view', isEvent: false, sequences: [] };
}
