import type { Rights } from '../database/outcome.ts';
import type { ModuleDefinition, TableDefinition } from '../schema/definition.ts';
import type { HostCaller } from './host-types.ts';
import { withTypesInUse } from './types-in-use.ts';

/**
 * What a caller is shown of a module. A limited token sees what it may use. A whole identity also
 * sees that there are private tables, by their names and columns, and lifecycle reducers, which the
 * interface promises to everybody; and those who may publish see all of it.
 */
export function shownDefinition(
  definition: ModuleDefinition,
  { capability }: HostCaller,
  rights: Rights,
): ModuleDefinition {
  if (capability !== undefined) return usableDefinition(definition, rights);
  return rights.readsProgram ? definition : declaredDefinition(definition, rights);
}

/** What somebody with these rights may read and call of a module. */
export function usableDefinition(definition: ModuleDefinition, rights: Rights): ModuleDefinition {
  const reads = (name: string, isPublic: boolean) => {
    return rights.tables?.has(name) !== false && (isPublic || rights.readsPrivateTables);
  };
  const reducers = definition.reducers.filter(({ name, lifecycle, visibility }) => {
    if (lifecycle !== undefined || rights.reducers?.has(name) === false) return false;
    return visibility !== 'private' || rights.callsPrivateReducers;
  });
  const tables = definition.tables.filter(({ name, access }) => reads(name, access === 'public'));
  return withTypesInUse({
    ...definition,
    tables: withSchedulesOf(tables, reducers),
    views: definition.views.filter(({ name, isPublic }) => reads(name, isPublic)),
    reducers,
    procedures: [],
    rowLevelSecurity: [],
    submodules: [],
  });
}

/** What whole identities are shown that may not publish. */
function declaredDefinition(definition: ModuleDefinition, rights: Rights): ModuleDefinition {
  const { readsPrivateTables, bypassesFilters } = rights;
  const reducers = definition.reducers.filter(({ lifecycle, visibility }) => {
    return lifecycle !== undefined || visibility !== 'private' || rights.callsPrivateReducers;
  });
  const procedures = definition.procedures.filter(({ visibility }) => visibility !== 'private');
  const tables = definition.tables.map((table) => {
    return readsPrivateTables || table.access === 'public' ? table : bareTable(table);
  });
  return withTypesInUse({
    ...definition,
    tables: withSchedulesOf(tables, reducers),
    views: definition.views.filter(({ isPublic }) => isPublic || readsPrivateTables),
    reducers,
    procedures,
    // Their texts name other tables.
    rowLevelSecurity: bypassesFilters ? definition.rowLevelSecurity : [],
    submodules: definition.submodules.map(({ namespace, module }) => {
      return { namespace, module: declaredDefinition(module, rights) };
    }),
  });
}

/** The name and the columns of a table, and nothing else of it. */
function bareTable(table: TableDefinition): TableDefinition {
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...column, defaultBytes: undefined })),
    primaryKey: undefined,
    indexes: [],
    constraints: [],
    sequences: [],
    schedule: undefined,
  };
}

/** A schedule would name a function that is not shown. */
function withSchedulesOf(
  tables: readonly TableDefinition[],
  functions: readonly { readonly name: string }[],
): readonly TableDefinition[] {
  const names = new Set(functions.map(({ name }) => name));
  return tables.map((table) => {
    if (table.schedule === undefined || names.has(table.schedule.functionName)) return table;
    return { ...table, schedule: undefined };
  });
}
