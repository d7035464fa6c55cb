import type { AlgebraicType, NamedType, ProductType, Typespace } from '../values/type.ts';
import type { ModuleDefinition, TableDefinition } from './definition.ts';
import { type DefinitionScope, prefixTable, scopesOf } from './flatten.ts';

/**
 * The definition as one module: everything that its submodules declare stands beside its own, under
 * full names (`guilds.member`) and in the order of `scopesOf`, so that the position of a reducer is
 * its number. Without submodules it is the definition itself. Made once for each definition.
 */
export function flatDefinition(definition: ModuleDefinition): ModuleDefinition {
  if (definition.submodules.length === 0) return definition;
  const made = known.get(definition) ?? flattened(definition);
  known.set(definition, made);
  return made;
}

const known = new WeakMap<ModuleDefinition, ModuleDefinition>();

function flattened(definition: ModuleDefinition): ModuleDefinition {
  const scopes: DefinitionScope[] = [];
  const counts = { refs: 0, sender: 0, anonymous: 0 };
  for (const { prefix, module } of scopesOf(definition)) {
    scopes.push({ prefix, module: prefixed(module, prefix, { ...counts }) });
    counts.refs += module.typespace.types.length;
    for (const { isAnonymous } of module.views) counts[isAnonymous ? 'anonymous' : 'sender'] += 1;
  }
  const all = <Part>(partsOf: (module: ModuleDefinition) => readonly Part[]): readonly Part[] =>
    scopes.flatMap(({ module }) => partsOf(module));
  const byName = (a: { readonly name: string }, b: { readonly name: string }) =>
    a.name < b.name ? -1 : 1;
  return {
    version: definition.version,
    typespace: { types: all(({ typespace }) => typespace.types) },
    sourceTypespace: { types: all(({ sourceTypespace }) => sourceTypespace.types) },
    types: all(({ types }) => types),
    tables: all(({ tables }) => tables).toSorted(byName),
    reducers: all(({ reducers }) => reducers),
    procedures: all(({ procedures }) => procedures),
    views: all(({ views }) => views),
    // Those of submodules have no numbers.
    httpHandlers: definition.httpHandlers,
    httpRoutes: definition.httpRoutes,
    rowLevelSecurity: all(({ rowLevelSecurity }) => rowLevelSecurity),
    crons: all(({ crons }) => crons).toSorted(byName),
    // Submodules have none.
    env: definition.env,
    migrations: definition.migrations,
    submodules: [],
  };
}

/** What precedes a module: types, and views of both kinds. */
interface Before {
  readonly refs: number;
  readonly sender: number;
  readonly anonymous: number;
}

function prefixed(module: ModuleDefinition, prefix: string, before: Before): ModuleDefinition {
  const by = before.refs;
  const renamed = <Part extends { readonly name: string; readonly sourceName: string }>(
    part: Part,
  ): Part => ({ ...part, name: prefix + part.name, sourceName: prefix + part.sourceName });
  const scope = prefix.split('.').slice(0, -1);
  return {
    ...module,
    typespace: shiftedTypespace(module.typespace, by),
    sourceTypespace: shiftedTypespace(module.sourceTypespace, by),
    types: module.types.map((type) => ({
      ...type,
      scope: [...scope, ...type.scope],
      sourceScope: [...scope, ...type.sourceScope],
      ref: type.ref + by,
    })),
    tables: module.tables.map((table) => shiftedTable(prefixTable(table, prefix), by)),
    reducers: module.reducers.map((reducer) => ({
      ...renamed(reducer),
      params: shiftedProduct(reducer.params, by),
      returns: reducer.returns && shifted(reducer.returns, by),
      throws: reducer.throws && shifted(reducer.throws, by),
    })),
    procedures: module.procedures.map((procedure) => ({
      ...renamed(procedure),
      params: shiftedProduct(procedure.params, by),
      returnType: shifted(procedure.returnType, by),
    })),
    views: module.views.map((view) => ({
      ...renamed(view),
      index: view.index + before[view.isAnonymous ? 'anonymous' : 'sender'],
      params: shiftedProduct(view.params, by),
      returnType: shifted(view.returnType, by),
      columns: view.columns.map((column) => ({ ...column, type: shifted(column.type, by) })),
    })),
    crons: module.crons.map(renamed),
  };
}

function shiftedTable(table: TableDefinition, by: number): TableDefinition {
  return {
    ...table,
    rowTypeRef: table.rowTypeRef + by,
    columns: table.columns.map((column) => ({ ...column, type: shifted(column.type, by) })),
  };
}

function shiftedTypespace({ types }: Typespace, by: number): Typespace {
  return { types: types.map((type) => shifted(type, by)) };
}

/** The type with its refs moved by `by`. */
export function shifted(type: AlgebraicType, by: number): AlgebraicType {
  switch (type.kind) {
    case 'ref':
      return { kind: 'ref', ref: type.ref + by };
    case 'array':
      return { kind: 'array', element: shifted(type.element, by) };
    case 'product':
      return shiftedProduct(type, by);
    case 'sum':
      return { kind: 'sum', variants: shiftedAll(type.variants, by) };
    default:
      return type;
  }
}

function shiftedProduct({ elements }: ProductType, by: number): ProductType {
  return { kind: 'product', elements: shiftedAll(elements, by) };
}

function shiftedAll(parts: readonly NamedType[], by: number): NamedType[] {
  return parts.map((part) => ({ ...part, type: shifted(part.type, by) }));
}
