import type { Rights } from '../database/outcome.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import type { HostCaller } from './host-types.ts';

/**
 * What a caller is shown of a module: everybody all of it, private tables and reducers too, but a
 * limited token what it may use. Types stay, as what is left refers to them.
 */
export function shownDefinition(
  definition: ModuleDefinition,
  { capability }: HostCaller,
  rights: Rights,
): ModuleDefinition {
  return capability === undefined ? definition : usableDefinition(definition, rights);
}

/** What somebody with these rights may read and call of a module. */
export function usableDefinition(definition: ModuleDefinition, rights: Rights): ModuleDefinition {
  const reads = (name: string, isPublic: boolean) => {
    return rights.tables?.has(name) !== false && (isPublic || rights.readsPrivateTables);
  };
  return {
    ...definition,
    tables: definition.tables.filter(({ name, access }) => reads(name, access === 'public')),
    views: definition.views.filter(({ name, isPublic }) => reads(name, isPublic)),
    reducers: definition.reducers.filter(({ name, lifecycle, visibility }) => {
      if (lifecycle !== undefined || rights.reducers?.has(name) === false) return false;
      return visibility !== 'private' || rights.callsPrivateReducers;
    }),
    procedures: [],
    rowLevelSecurity: [],
  };
}
