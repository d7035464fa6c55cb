import { Kept, sharesIn } from '../../doors/kept.ts';
import { runStatement } from '../../doors/run-statement.ts';
import { inSlices } from '../../doors/slices.ts';
import { limits } from '../../limits.ts';
import { firstRow, sqlRowsSteps } from '../../protocol/sql-result.ts';
import type { JsonObject } from '../../values/json.ts';
import { utf8Length } from '../../values/utf8.ts';
import { databaseArgument } from '../database-argument.ts';
import { fenced } from '../fence.ts';
import { type OpenDatabase, openDatabase } from '../open-database.ts';
import { type RowDifference, rowDifference } from '../row-difference.ts';
import { RowWait } from '../row-wait.ts';
import { readingOnly } from '../session.ts';
import { sqlFailure, statementArgument } from '../statement.ts';
import { structuredJson } from '../structured.ts';
import {
  integerSchema,
  objectSchema,
  optionalIntegerArgument,
  optionalStringArgument,
  type ToolAnswer,
  type ToolContext,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';
import { WaitPlaces } from '../wait-places.ts';

const rowsSchema = { type: 'array', items: { type: 'array' } } as const;
const timeoutRange = { minimum: 1, maximum: limits.agentWaitSecondsMax };

/** The rows of a statement at one moment, each as JSON. */
interface Moment {
  readonly sql: string;
  readonly rows: readonly string[];
  readonly offset: bigint | number;
}

/** Waits until the rows of a statement change, for agents that cannot subscribe. */
export function waitForChangeTool(): ToolSource {
  const places = new WaitPlaces();
  const moments = new Kept<Moment>({
    countMax: limits.agentMomentsMax,
    callerCountMax: limits.callerMomentsMax,
    thingBytesMax: 2 * limits.agentTextBytesMax,
    bytesMax: limits.agentMomentsBytesMax,
    millisMax: limits.agentMomentMillisMax,
  });
  return {
    name: 'wait_for_change',
    title: 'Wait for a change',
    description:
      'Waits until the rows of a SELECT change, and gives those that were added and removed. ' +
      'With `since` of an earlier answer it compares with that moment, so nothing is missed in ' +
      'between; without, with now. No rows: nothing changed in time.',
    properties: {
      sql: { type: 'string', description: 'One SELECT.' },
      since: { type: 'string', description: 'From an earlier answer to the same statement.' },
      timeout: {
        type: 'integer',
        ...timeoutRange,
        description: `Seconds to wait, ${limits.agentWaitSecondsUnasked} by default.`,
      },
    },
    required: ['sql'],
    outputSchema: objectSchema(
      { added: rowsSchema, removed: rowsSchema, offset: integerSchema },
      { since: { type: 'string' } },
    ),
    takesDatabase: true,
    effect: 'reads',
    run: async (args, context) => {
      const database = databaseArgument(args, context);
      const { sql } = statementArgument(args);
      const open = openDatabase(database, {
        ...context,
        session: readingOnly(context.session),
      });
      const { callerKey } = context.session;
      const { rights } = open.caller;
      const owner = [callerKey, open.database.identity, rights.key].join(' ');
      const shares = sharesIn(open.database, rights, callerKey);
      const since = sinceIn(args, moments, { owner, sql });
      const seconds = secondsIn(args);
      const free = places.take(callerKey);
      try {
        const change = await changeSince(since, { database, sql, open, context }, seconds);
        return answerOf(
          change,
          moments.put({ caller: owner, shares }, change.now, bytesOf(change.now)),
        );
      } finally {
        free();
      }
    },
  };
}

function secondsIn(args: JsonObject): number {
  const given = optionalIntegerArgument(args, 'timeout', timeoutRange);
  return given ?? limits.agentWaitSecondsUnasked;
}

function sinceIn(
  args: JsonObject,
  moments: Kept<Moment>,
  { owner, sql }: { readonly owner: string; readonly sql: string },
): Moment | undefined {
  const id = optionalStringArgument(args, 'since');
  if (id === undefined) return undefined;
  const found = moments.get(owner, id);
  if (found?.sql === sql) return found;
  throw new ToolFailure(
    'unknown since: it is too old, or of another statement, database or caller; ' +
      'wait again without `since`',
  );
}

interface Asked {
  readonly database: string;
  readonly sql: string;
  readonly open: OpenDatabase;
  readonly context: ToolContext;
}

interface Change extends RowDifference {
  readonly now: Moment;
}

async function changeSince(
  since: Moment | undefined,
  asked: Asked,
  seconds: number,
): Promise<Change> {
  const wait = await RowWait.begin(asked.database, asked.sql, asked.context);
  const late = new AbortController();
  // Held by its timer: only weak references would lead to a signal of `AbortSignal.timeout`, which
  // garbage collection takes away with its timer.
  const timer = setTimeout(() => late.abort(), seconds * 1_000);
  timer.unref();
  try {
    // A statement that is wrong fails here, with its reason.
    let now = await rowsOf(asked);
    if (wait === undefined) throw new ToolFailure('only a SELECT of tables and views can change');
    const before = since ?? now;
    const signal = AbortSignal.any([asked.context.signal, late.signal]);
    for (;;) {
      const difference = rowDifference(before.rows, now.rows);
      if (difference.added.length + difference.removed.length > 0) return { ...difference, now };
      const outcome = await wait.next(signal);
      if (outcome === 'tooLate') return { ...difference, now };
      if (outcome === 'ended') throw new ToolFailure('the database ended the wait; wait again');
      now = await rowsOf(asked);
    }
  } finally {
    clearTimeout(timer);
    wait?.close();
  }
}

async function rowsOf({ sql, open, context }: Asked): Promise<Moment> {
  const { handle, caller, stay } = open;
  const request = { sql, caller, confirmed: true };
  const outcome = await runStatement(handle, request, { abandoned: context.signal, stay });
  if (outcome.kind === 'failed') throw sqlFailure(outcome.error, fenced);
  let bytes = 0;
  const fits = (row: string, count: number) => {
    bytes += utf8Length(row);
    return count < limits.agentRowsMax && bytes <= limits.agentTextBytesMax;
  };
  const { rows } = await inSlices(sqlRowsSteps(outcome, firstRow, fits, 'plainCells'));
  if (rows.length < outcome.rowCount) {
    throw new ToolFailure('these are too many rows to be compared: narrow the statement');
  }
  return { sql, rows, offset: outcome.offset };
}

function bytesOf({ sql, rows }: Moment): number {
  return rows.reduce((sum, row) => sum + 2 * row.length, 2 * sql.length + 1_024);
}

/** Shows the change, as many rows as fit. */
function answerOf({ added, removed, now }: Change, since: string | undefined): ToolAnswer {
  let bytes = 0;
  const fit = (row: string) => {
    bytes += utf8Length(row) + 1;
    return bytes <= limits.agentTextBytesUnasked;
  };
  const shown = { added: added.filter(fit), removed: removed.filter(fit) };
  const structured = structuredJson({
    added: `[${shown.added.join(',')}]`,
    removed: `[${shown.removed.join(',')}]`,
    offset: String(now.offset),
    since: since === undefined ? undefined : JSON.stringify(since),
  });
  const more = added.length + removed.length - shown.added.length - shown.removed.length;
  const rest = more === 0 ? [] : [`${more} more rows came or went, which are not shown.`];
  return { texts: [fenced(structured), ...rest], structured };
}
