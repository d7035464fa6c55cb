import type { ModuleDefinition } from '../schema/definition.ts';
import { scopesOf } from '../schema/flatten.ts';
import type { TableId } from '../schema/ids.ts';
import { SqlFailure } from '../sql/failure.ts';
import { checkFilter, costlyFilters } from '../sql/published.ts';
import type { SqlSchema } from '../sql/schema.ts';

/** A row-level security filter that no database can have; `message` is for the publisher. */
export class RowFilterError extends Error {
  override readonly name = 'RowFilterError';
}

/**
 * The row-level security filters by the id of the table whose rows they let through. Each is
 * checked as if the database's owner had written it; whether its other tables are visible to a
 * caller is decided when the caller runs a query. Throws `RowFilterError` at the first invalid one.
 *
 * Those of a submodule name tables in full, too, and filter its own alone: a short name could mean
 * a table of the root, and leave the submodule's own unfiltered.
 */
export function filtersByTable(
  definition: ModuleDefinition,
  schema: SqlSchema,
): ReadonlyMap<TableId, readonly string[]> {
  const filters = new Map<TableId, string[]>();
  const seen = new Set<string>();
  const names = new Map(schema.tables.map(({ id, name }) => [id, name]));
  for (const { prefix, text } of writtenFilters(definition)) {
    if (seen.has(text)) throw wrong('An RLS rule is defined twice', text);
    seen.add(text);
    const id = returnedTable(text, schema);
    if (names.get(id)?.startsWith(prefix) !== true) {
      const namespace = prefix.slice(0, -1);
      const advice = `Write their full names, such as ${prefix}NAME.`;
      throw wrong(`Submodule \`${namespace}\` can filter its own tables only. ${advice}`, text);
    }
    if (schema.views.has(id)) {
      const advice = 'Let the view itself decide which rows a caller sees.';
      throw wrong(`Cannot define RLS rule on a view. ${advice}`, text);
    }
    filters.set(id, [...(filters.get(id) ?? []), text]);
  }
  return filters;
}

function writtenFilters(definition: ModuleDefinition) {
  return scopesOf(definition).flatMap(({ prefix, module }) => {
    return module.rowLevelSecurity.map((text) => ({ prefix, text }));
  });
}

/** Warnings for the publisher about valid filters that make reads slow; one line each. */
export function filterWarnings(schema: SqlSchema): readonly string[] {
  return costlyFilters(schema).map(
    ({ table, count }) =>
      `\`${table.name}\` has ${count} row filters, of which one joins: duplicate rows are ` +
      'removed at each read, and watched queries keep the rows of each caller in memory. ' +
      "Filters without a join cost neither; EXPLAIN AS '<identity>' SELECT … shows the plan.",
  );
}

function returnedTable(text: string, schema: SqlSchema): TableId {
  try {
    return checkFilter(text, schema).tableId;
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    const { message, hint } = error.error;
    throw wrong(hint === undefined ? message : `${message} ${hint}`, text);
  }
}

function wrong(message: string, text: string): RowFilterError {
  return new RowFilterError(`${message} (in the RLS rule \`${text}\`)`);
}
