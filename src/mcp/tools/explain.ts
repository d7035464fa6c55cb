import { firstRow, sqlRows } from '../../protocol/sql-result.ts';
import { fenced } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import { readingOnly } from '../session.ts';
import { parametersProperty, runStatement, sqlFailure, statementArgument } from '../statement.ts';
import { structuredJson } from '../structured.ts';
import {
  databaseArgument,
  integerSchema,
  objectSchema,
  stringsSchema,
  type ToolSource,
} from '../tool.ts';

/** Shows how a statement would run. */
export const explain: ToolSource = {
  name: 'explain',
  title: 'Explain SQL',
  description:
    'How one SQL statement would run: the steps of its plan, the indexes that they use and how ' +
    'many rows each expects. Nothing runs, but for a SELECT behind EXPLAIN ANALYZE, which is ' +
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
    // EXPLAIN ANALYZE runs what it explains, so a write must not be able to write.
    const session = readingOnly(context.session);
    const { handle, caller } = openDatabase(name, { ...context, session });
    const request = { ...statement, sql: explained(statement.sql), caller, confirmed: false };
    const outcome = await runStatement(handle, request, context.signal);
    if (outcome.kind === 'failed') throw sqlFailure(outcome.error, fenced);
    const { rows } = sqlRows(outcome, firstRow, () => true);
    const plan: readonly string[] = rows.map((row) => JSON.parse(row)[0]);
    return {
      texts: [plan.join('\n')],
      structured: structuredJson({ plan: JSON.stringify(plan), offset: String(outcome.offset) }),
    };
  },
};

function explained(statement: string): string {
  return /^\s*explain\b/i.test(statement) ? statement : `EXPLAIN ${statement}`;
}
