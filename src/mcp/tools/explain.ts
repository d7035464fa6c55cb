import type { SqlError } from '../../database/outcome.ts';
import { runStatement } from '../../doors/run-statement.ts';
import { firstRow, sqlRows } from '../../protocol/sql-result.ts';
import { list, parseAs, string } from '../../values/json-shape.ts';
import { databaseArgument } from '../database-argument.ts';
import { fenced } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import { readingOnly } from '../session.ts';
import { parametersProperty, sqlFailure, statementArgument } from '../statement.ts';
import { structuredJson } from '../structured.ts';
import { integerSchema, objectSchema, stringsSchema, type ToolSource } from '../tool.ts';

/** Shows the plan of a statement. */
export const explain: ToolSource = {
  name: 'explain',
  title: 'Explain SQL',
  description:
    'How one SQL statement would run: the steps of its plan, the indexes that they use and how ' +
    'many rows each expects. Nothing is run, except a SELECT after EXPLAIN ANALYZE, which is ' +
    'measured.',
  properties: {
    sql: { type: 'string', description: 'One SQL statement, with or without EXPLAIN before it.' },
    params: parametersProperty,
  },
  required: ['sql'],
  outputSchema: objectSchema({
    plan: stringsSchema,
    offset: integerSchema,
  }),
  takesDatabase: true,
  effect: 'reads',
  run: async (args, context) => {
    const name = databaseArgument(args, context);
    const statement = statementArgument(args);
    // EXPLAIN ANALYZE runs the statement, so it must not be able to write.
    const session = readingOnly(context.session);
    const { handle, caller, stay } = openDatabase(name, { ...context, session });
    const prefix = prefixOf(statement.sql);
    const request = { ...statement, sql: prefix + statement.sql, caller, confirmed: false };
    const wanted = { abandoned: context.signal, stay };
    const outcome = await runStatement(handle, request, wanted);
    if (outcome.kind === 'failed') throw sqlFailure(behind(prefix, outcome.error), fenced);
    const { rows } = sqlRows(outcome, firstRow, () => true);
    const plan = rows.map((row) => parseAs(row, list(string))[0] ?? '');
    return {
      texts: [plan.join('\n')],
      structured: structuredJson({ plan: JSON.stringify(plan), offset: String(outcome.offset) }),
    };
  },
};

/** Returns the prefix that explains a statement; empty if the statement has its own. */
function prefixOf(statement: string): string {
  return /^\s*explain\b/i.test(statement) ? '' : 'EXPLAIN ';
}

/** Shifts the error position by the prefix, which the caller did not write. */
function behind(prefix: string, error: SqlError): SqlError {
  const { place, message } = error;
  if (place?.line !== 1) return error;
  const column = Math.max(1, place.column - prefix.length);
  const said = (at: number) => `at Line: 1, Column ${at}`;
  return {
    ...error,
    message: message.replace(said(place.column), said(column)),
    place: { line: 1, column },
  };
}
