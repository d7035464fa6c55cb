import { present } from '../assert.ts';
import { check } from '../sql/check/check.ts';
import { invalid, SqlFailure } from '../sql/failure.ts';
import type { SqlSchema } from '../sql/schema.ts';
import { toDialect } from '../sql/syntax/dialect.ts';
import { parse } from '../sql/syntax/parse.ts';

/** A filter of row-level security that no database can have; `message` is for the publisher. */
export class RowFilterError extends Error {
  override readonly name = 'RowFilterError';
}

/**
 * The texts of row-level security by the id of the table whose rows each lets through. Each text is
 * checked as the database's owner would write it; whether its other tables are visible to a caller
 * is decided when the caller asks. Throws `RowFilterError` at the first that is wrong.
 */
export function filtersByTable(
  texts: readonly string[],
  schema: SqlSchema,
): ReadonlyMap<number, readonly string[]> {
  const filters = new Map<number, string[]>();
  const seen = new Set<string>();
  for (const text of texts) {
    if (seen.has(text)) throw wrong('An RLS rule is defined twice', text);
    seen.add(text);
    const id = returnedTable(text, schema);
    const table = schema.tables.find((other) => other.id === id);
    if (table?.kind === 'view') {
      const advice = 'Let the view itself decide which rows a caller sees.';
      throw wrong(`Cannot define RLS rule on view: ${table.name}. ${advice}`, text);
    }
    if (table?.access === 'private') {
      throw wrong(
        `Cannot define RLS rule on private table: ${table.name}. ` +
          'Please make table public if you wish to restrict access using RLS.',
        text,
      );
    }
    filters.set(id, [...(filters.get(id) ?? []), text]);
  }
  return filters;
}

function returnedTable(text: string, schema: SqlSchema): number {
  try {
    return checkFilter(text, schema);
  } catch (error) {
    if (error instanceof SqlFailure) throw wrong(error.message, text);
    throw error;
  }
}

function checkFilter(text: string, schema: SqlSchema): number {
  const catalog = { ...schema, views: [], nextId: 0 };
  const typed = check(toDialect(parse(text)), catalog, { identity: 0n, isOwner: true });
  if (typed.kind !== 'select') throw invalid('Unsupported: Non-SELECT queries');
  if (typed.output.kind !== 'row') {
    throw invalid(
      'Column projections are not supported in subscriptions; ' +
        'Subscriptions must return a table type',
    );
  }
  return present(typed.relations[typed.output.relation], 'relation of a filter').table.id;
}

function wrong(message: string, text: string): RowFilterError {
  return new RowFilterError(`${message} (in the RLS rule \`${text}\`)`);
}
