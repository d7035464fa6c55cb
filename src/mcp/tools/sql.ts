import type { Caller, SqlOutcome } from '../../database/outcome.ts';
import { sharesIn } from '../../doors/kept.ts';
import { runStatement } from '../../doors/run-statement.ts';
import { inSlices } from '../../doors/slices.ts';
import { limits } from '../../limits.ts';
import { firstRow, sqlRowsSteps } from '../../protocol/sql-result.ts';
import { TypeWords } from '../../schema/type-words.ts';
import type { JsonObject } from '../../values/json.ts';
import { type Caps, capProperties, capsIn, fitting } from '../caps.ts';
import type { CursorOwner, Cursors, RowsLeft } from '../cursors.ts';
import { databaseArgument } from '../database-argument.ts';
import { asData, dataNotes, holdText } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import { readRows, rowsArguments } from '../read-rows.ts';
import { parametersProperty, sqlFailure, statementArgument } from '../statement.ts';
import { structuredJson } from '../structured.ts';
import {
  integerSchema,
  objectSchema,
  optionalStringArgument,
  type ToolAnswer,
  type ToolContext,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

export type StatementResult = Extract<SqlOutcome, { kind: 'result' }>;

/** Runs one SQL statement, or continues with the rows of an earlier one. */
export function sqlTool(cursors: Cursors<StatementResult>): ToolSource {
  return {
    name: 'sql',
    title: 'Run SQL',
    description: `${readWords}; writes need ownership of the database. ${moreWords}`,
    readOnlyDescription: `${readWords}; nothing can be written. ${moreWords}`,
    properties: {
      sql: {
        type: 'string',
        description:
          'One SQL statement. Identities and bytes are written 0x…, times as text in quotes; ' +
          ':sender is you.',
      },
      confirmed: { type: 'boolean', description: 'Wait for durability; true unless set to false.' },
    },
    moreProperties: {
      params: parametersProperty,
      ...capProperties,
      cursor: {
        type: 'string',
        description: 'From a truncated answer to the same statement: gives the next rows.',
      },
    },
    unlisted: rowsArguments,
    required: ['sql'],
    outputSchema,
    takesDatabase: true,
    effect: 'mayWrite',
    run: async (args, context) => {
      const { owner, rows, caps, cursor, meta } = await statementRows(args, context, cursors);
      const page = await pageAnswer(context, rows, caps, (next) =>
        cursor === undefined
          ? cursors.keep(owner, { ...rows, from: next })
          : cursors.advance(owner, cursor, next),
      );
      return { ...page, meta };
    },
  };
}

const readWords =
  'Runs one SQL statement and returns its rows as JSON. Reads see public tables, those of the ' +
  'owner private ones, too';

const moreWords =
  'Joins, aggregates, subqueries, CTEs and EXPLAIN are there. A long answer says how to get the ' +
  'rest. Values of $1, $2, … may come in one more argument, the array `params`. With ' +
  '`confirmed`, the answer waits until what it shows is durable.';

const outputSchema = objectSchema(
  {
    results: {
      type: 'array',
      items: objectSchema(
        {
          columns: {
            type: 'array',
            items: objectSchema({ name: { type: 'string' }, type: { type: 'string' } }),
          },
          rows: { type: 'array', items: { type: 'array' } },
          offset: integerSchema,
        },
        { affected: { type: 'integer' } },
      ),
    },
    truncated: { type: 'boolean' },
  },
  { cursor: { type: 'string' } },
);

interface StatementRows {
  readonly owner: CursorOwner;
  readonly rows: RowsLeft<StatementResult>;
  readonly caps: Caps;
  /** The cursor of the rows; `undefined` if the statement has just run. */
  readonly cursor: string | undefined;
  readonly meta?: Readonly<Record<string, string>> | undefined;
}

async function statementRows(
  args: JsonObject,
  context: ToolContext,
  cursors: Cursors<StatementResult>,
): Promise<StatementRows> {
  const name = databaseArgument(args, context);
  const statement = statementArgument(args);
  const cursor = optionalStringArgument(args, 'cursor');
  const open = openDatabase(name, context);
  const { database, caller, stay } = open;
  const caps = capsIn(args, plan.test(statement.sql) ? {} : caller.rights, context.session);
  const { callerKey } = context.session;
  const who = [callerKey, database.identity, caller.rights.key].join(' ');
  const shares = sharesIn(database, caller.rights, callerKey);
  const owner = { caller: who, shares, statement: statement.sql };
  if (cursor !== undefined) {
    const rows = cursors.find(owner, cursor);
    if (rows === undefined) {
      // The leader may have it.
      context.session.offer?.passOn();
      throw unknownCursor();
    }
    return { owner, rows, caps, cursor };
  }
  const request = {
    ...statement,
    caller: unbounded(caller),
    ...(caps.millisMax === undefined ? {} : { millisMax: caps.millisMax }),
    confirmed: args.get('confirmed') !== false,
  };
  const wanted = { abandoned: context.signal, stay };
  const { answer, meta } = await readRows(args, context, open, async (handle) => {
    const outcome = await runStatement(handle, request, wanted);
    if (outcome.kind === 'failed') {
      throw sqlFailure(outcome.error, (data) => asData(context.session, data));
    }
    return { answer: outcome, offset: outcome.offset };
  });
  return { owner, rows: { result: answer, from: firstRow }, caps, cursor, meta };
}

/** Lines of a plan are not rows of a table: the row limit of a limited token is not about them. */
const plan = /^\s*explain\b/i;

/** Lifts the row limit of a limited token, which caps the pages instead. */
function unbounded(caller: Caller): Caller {
  const { rowsMax, ...rights } = caller.rights;
  if (rowsMax === undefined) return caller;
  return { ...caller, rights: { ...rights, key: `${rights.key} in pages` } };
}

function unknownCursor(): ToolFailure {
  return new ToolFailure(
    'unknown cursor: it is too old, or of another statement, database or caller; ' +
      'run the statement again without `cursor`',
  );
}

/** Creates a result page; `keep` returns a cursor for the remaining rows, if they can be kept. */
async function pageAnswer(
  { session }: ToolContext,
  { result, from }: RowsLeft<StatementResult>,
  caps: Caps,
  keep: (next: RowsLeft['from']) => string | undefined,
): Promise<ToolAnswer> {
  const { rows, next } = await inSlices(sqlRowsSteps(result, from, fitting(caps), 'plainCells'));
  const isTruncated = next.row < result.rowCount;
  const cursor = isTruncated ? keep(next) : undefined;
  const results = resultsJson(result, rows);
  const structured = structuredJson({
    results,
    truncated: String(isTruncated),
    cursor: cursor === undefined ? undefined : JSON.stringify(cursor),
  });
  const hasText = rows.length > 0 && holdText(result.columns, result.types);
  const texts = [results, ...(hasText ? dataNotes(session) : [])];
  if (!isTruncated) return { texts, structured };
  const shown = `Rows ${from.row + 1} to ${next.row} of ${result.rowCount}.`;
  return { texts: [...texts, `${shown} ${adviceFor(cursor)}`], structured };
}

/** Writes an array of one result: `[{"columns":[{"name","type"}],"rows":[[…]],"offset":7}]`. */
function resultsJson(result: StatementResult, rows: readonly string[]): string {
  const { columns, types: typespace, offset, inserted, deleted, updated } = result;
  const words = new TypeWords({ typespace, types: [] });
  const named = columns.map(({ name, type }, at) => {
    return { name: name ?? String(at), type: clipped(words.of(type)) };
  });
  const affected = inserted + deleted + updated;
  const isWrite = affected > 0 || columns.length === 0;
  return (
    `[{"columns":${JSON.stringify(named)},"rows":[${rows.join(',')}],"offset":${offset}` +
    `${isWrite ? `,"affected":${affected}` : ''}}]`
  );
}

function clipped(type: string): string {
  const { agentTypeCharactersMax: most } = limits;
  return type.length <= most ? type : `${type.slice(0, most - 1)}…`;
}

function adviceFor(cursor: string | undefined): string {
  return cursor === undefined
    ? 'The rest is too large to be kept: narrow the statement, or ask for parts with ' +
        'ORDER BY, LIMIT and OFFSET.'
    : `For the next ones, send the same statement again with \`cursor\`: "${cursor}".`;
}
