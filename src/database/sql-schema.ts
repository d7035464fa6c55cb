import type { Catalog, TableSpec, ViewSpec } from '../schema/catalog.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import type { SqlSchema, SqlView } from '../sql/schema.ts';

/**
 * What statements may name in one version of a database's schema. `catalog` is the one that
 * `definition` led to: it holds the ids, also those of views, which live in one id space with
 * those of tables and are never used again for anything else.
 */
export function sqlSchemaOf(_definition: ModuleDefinition, catalog: Catalog): SqlSchema {
  const views = catalog.views.map(viewTable);
  return {
    tables: [...catalog.tables, ...views],
    types: catalog.types,
    views: new Map(
      catalog.views.map(({ id, isAnonymous }): [number, SqlView] => [id, { isAnonymous }]),
    ),
    filters: new Map(),
  };
}

/** A view in the shape of a table: also the shape of the rows that one of its instances holds. */
export function viewTable(view: ViewSpec): TableSpec {
  const { id, name, sourceName, access, columns, primaryKey, indexes, constraints } = view;
  return {
    id,
    name,
    sourceName,
    kind: 'view',
    access,
    isEvent: false,
    columns,
    primaryKey,
    indexes,
    constraints,
    sequences: [],
  };
}
