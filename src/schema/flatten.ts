import type { Typespace } from '../values/type.ts';
import type {
  ModuleDefinition,
  ScheduleDefinition,
  TableDefinition,
  ViewDefinition,
} from './definition.ts';

/** A module or submodule and the prefix of its names: `''`, `ns.`, `a.b.` … */
export interface DefinitionScope {
  readonly prefix: string;
  readonly module: ModuleDefinition;
}

/**
 * The root, then each submodule in declared order followed by its own submodules. The numbers that
 * call hooks take run through the scopes in this order.
 */
export function scopesOf(definition: ModuleDefinition, prefix = ''): DefinitionScope[] {
  const inner = definition.submodules.flatMap(({ namespace, module }) => {
    return scopesOf(module, `${prefix}${namespace}.`);
  });
  return [{ prefix, module: definition }, ...inner];
}

/** A table under its full names, with the typespace that its column types refer to. */
export interface FullTable {
  readonly table: TableDefinition;
  readonly typespace: Typespace;
}

/** All tables of a database, ascending by full canonical name. */
export function fullTablesOf(definition: ModuleDefinition): FullTable[] {
  const tables = scopesOf(definition).flatMap(({ prefix, module }) => {
    const { typespace } = module;
    return module.tables.map((table) => ({ table: prefixTable(table, prefix), typespace }));
  });
  return tables.sort((a, b) => (a.table.name < b.table.name ? -1 : 1));
}

/** A view under its full names, with the typespace that its column types refer to. */
export interface FullView {
  readonly view: ViewDefinition;
  readonly typespace: Typespace;
}

/**
 * The views of a database that statements can read, ascending by full canonical name. One with
 * parameters is declared, and is no more than that yet.
 */
export function fullViewsOf(definition: ModuleDefinition): FullView[] {
  const views = scopesOf(definition).flatMap(({ prefix, module }) => {
    const { typespace } = module;
    return module.views.filter(isReadable).map((view) => {
      const { name, sourceName } = view;
      return { view: { ...view, name: prefix + name, sourceName: prefix + sourceName }, typespace };
    });
  });
  return views.sort((a, b) => (a.view.name < b.view.name ? -1 : 1));
}

/** False for a view with parameters: there is no statement that gives them. */
export function isReadable({ params }: Pick<ViewDefinition, 'params'>): boolean {
  return params.elements.length === 0;
}

/**
 * Warnings for the publisher about routes that submodules declare, one line for each of those: only
 * the root's are served.
 */
export function ignoredRouteWarnings(definition: ModuleDefinition): string[] {
  return scopesOf(definition).flatMap(({ prefix, module }) => {
    if (prefix === '' || module.httpRoutes.length === 0) return [];
    const namespace = prefix.slice(0, -1);
    return (
      `The submodule under namespace '${namespace}' registers HTTP routes via a router. Route ` +
      "registrations in submodules are ignored. Only the root module's routes are served. Define " +
      "routes in the root module and call the submodule's HTTP handler functions via " +
      `\`ctx.as.${namespace}\`.`
    );
  });
}

/** The row-level security texts of a database. */
export function rowFiltersOf(definition: ModuleDefinition): string[] {
  return scopesOf(definition).flatMap(({ module }) => module.rowLevelSecurity);
}

/** Columns keep their names: they are looked up inside their table only. */
export function prefixTable(table: TableDefinition, prefix: string): TableDefinition {
  if (prefix === '') return table;
  const renamed = <Part extends { readonly name: string }>(part: Part): Part => {
    return { ...part, name: prefix + part.name };
  };
  return {
    ...renamed(table),
    sourceName: prefix + table.sourceName,
    indexes: table.indexes.map((index) => {
      return { ...renamed(index), sourceName: prefix + index.sourceName };
    }),
    constraints: table.constraints.map(renamed),
    sequences: table.sequences.map(renamed),
    derivedIndexes: table.derivedIndexes.map(renamed),
    schedule: prefixSchedule(table.schedule, prefix),
  };
}

function prefixSchedule(schedule: ScheduleDefinition | undefined, prefix: string) {
  if (schedule === undefined) return undefined;
  const { name, functionName } = schedule;
  return { ...schedule, name: prefix + name, functionName: prefix + functionName };
}
