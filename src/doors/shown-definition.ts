import type { Rights } from '../database/outcome.ts';
import type { HostCaller } from '../host/registry/host-caller.ts';
import type {
  ModuleDefinition,
  ProcedureDefinition,
  TableDefinition,
} from '../schema/definition.ts';
import { isReadable } from '../schema/flatten.ts';
import { withTypesInUse } from './types-in-use.ts';

/**
 * The part of a module that a caller can see. A limited token sees what it can use. A whole
 * identity also sees that private tables exist, by their names and columns, and lifecycle reducers,
 * which the interface promises to everyone; those who can publish see all of it.
 */
export function shownDefinition(
  definition: ModuleDefinition,
  { capability }: HostCaller,
  rights: Rights,
): ModuleDefinition {
  if (capability !== undefined) return usableDefinition(definition, rights);
  return rights.readsProgram ? definition : declaredDefinition(definition, rights);
}

/**
 * The part of a module that a caller with these rights can read and call. Rights name what is in a
 * submodule by its full name, which begins with `prefix`.
 */
export function usableDefinition(
  definition: ModuleDefinition,
  rights: Rights,
  prefix = '',
): ModuleDefinition {
  const reads = (name: string, isPublic: boolean) => {
    return rights.tables?.has(prefix + name) !== false && (isPublic || rights.readsPrivateTables);
  };
  const calls = ({ name, visibility }: Pick<ProcedureDefinition, 'name' | 'visibility'>) => {
    if (rights.reducers?.has(prefix + name) === false) return false;
    return visibility !== 'private' || rights.callsPrivateReducers;
  };
  const reducers = definition.reducers.filter((reducer) => {
    return reducer.lifecycle === undefined && calls(reducer);
  });
  const procedures = definition.procedures.filter(calls);
  const functions = [...reducers, ...procedures];
  const tables = definition.tables.filter(({ name, access }) => reads(name, access === 'public'));
  return withTypesInUse({
    ...definition,
    tables: withSchedulesOf(tables, functions),
    crons: cronsOf(definition, functions),
    env: [],
    views: definition.views.filter((view) => isReadable(view) && reads(view.name, view.isPublic)),
    reducers,
    procedures,
    rowLevelSecurity: [],
    submodules: definition.submodules
      .map(({ namespace, module }) => {
        return { namespace, module: usableDefinition(module, rights, `${prefix}${namespace}.`) };
      })
      // The name of one in which nothing is shown would say that it exists.
      .filter(({ module }) => showsAnything(module)),
  });
}

function showsAnything(shown: ModuleDefinition): boolean {
  const { tables, views, reducers, procedures, submodules } = shown;
  return [tables, views, reducers, procedures, submodules].some(({ length }) => length > 0);
}

/** The definition shown to whole identities that cannot publish. */
function declaredDefinition(definition: ModuleDefinition, rights: Rights): ModuleDefinition {
  const { readsPrivateTables, bypassesFilters } = rights;
  const reducers = definition.reducers.filter(({ lifecycle, visibility }) => {
    return lifecycle !== undefined || visibility !== 'private' || rights.callsPrivateReducers;
  });
  const procedures = definition.procedures.filter(({ visibility }) => {
    return visibility !== 'private' || rights.callsPrivateReducers;
  });
  const functions = [...reducers, ...procedures];
  const tables = definition.tables.map((table) => {
    return readsPrivateTables || table.access === 'public' ? table : bareTable(table);
  });
  return withTypesInUse({
    ...definition,
    tables: withSchedulesOf(tables, functions),
    crons: cronsOf(definition, functions),
    env: [],
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

/** A table reduced to its name and its columns. */
function bareTable(table: TableDefinition): TableDefinition {
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...column, defaultBytes: undefined })),
    primaryKey: undefined,
    indexes: [],
    constraints: [],
    sequences: [],
    derivedIndexes: [],
    schedule: undefined,
  };
}

/** Leaves out schedules that would name a function that is not shown. */
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

function cronsOf(
  { crons }: ModuleDefinition,
  functions: readonly { readonly name: string }[],
): ModuleDefinition['crons'] {
  const names = new Set(functions.map(({ name }) => name));
  return crons.filter(({ name }) => names.has(name));
}
