import { setImmediate as nextTurn } from 'node:timers/promises';
import { unreachable } from '../assert.ts';
import type { SqlError, SqlRequest } from '../database/outcome.ts';
import { isExplain, type PlanStep, planTree } from '../doors/plan-tree.ts';
import { leaderPlace } from '../doors/read-place.ts';
import { checkWishHere } from '../doors/read-wish.ts';
import { runStatement } from '../doors/run-statement.ts';
import { positionIn } from '../doors/sql-position.ts';
import { Stay } from '../doors/stay.ts';
import { limits } from '../limits.ts';
import {
  SqlParametersError,
  type SqlParameterValues,
  sqlParametersFromJson,
} from '../protocol/sql-parameters.ts';
import {
  firstRow,
  type SqlResult,
  sqlBodyType,
  sqlResultPieces,
  sqlRows,
} from '../protocol/sql-result.ts';
import {
  JsonError,
  JsonObject,
  type JsonShape,
  type JsonValue,
  parseJson,
} from '../values/json.ts';
import { parseBody, textBody } from './body.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import {
  badQuery,
  type Exchange,
  HttpError,
  hintedText,
  json,
  type Reply,
  text,
} from './exchange.ts';
import { wantsPlainValues } from './negotiation.ts';
import { wishIn } from './reading.ts';

/**
 * `POST /v1/database/:db/sql`: one statement in the body, its result as JSON. Parameter values come
 * as JSON in the query (`params`), or beside the statement in a body of `sqlBodyType`. Who asks for
 * plain values, in the query or by `accept`, gets each row as an object in the plain form. In a
 * cluster a read can be answered from the copy of the host that has the request.
 */
export async function sql(exchange: Exchange, { host, cluster }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const confirmed = exchange.query.boolean('confirmed', true);
  const inQuery = parametersInQuery(exchange);
  const shape = shapeOf(exchange);
  const given = wishIn(exchange);
  const { copy } = exchange;
  if (copy === undefined) await checkWishHere(given, database);
  const explains = exchange.query.oneOf('explain', ['json']) !== undefined;
  const { statement, parameters = inQuery } = await statementIn(exchange);
  if (explains && !isExplain(statement)) throw notExplained();
  const request = {
    caller,
    sql: statement,
    ...(parameters === undefined ? {} : { parameters }),
    ...partsFor(statement, callerOf(exchange), { host, cluster }),
    confirmed,
  };
  const stay = new Stay(host, { caller: callerOf(exchange), database, rights: caller.rights });
  const { abandoned } = exchange;
  const outcome = await runStatement(copy?.handle ?? database.handle, request, { abandoned, stay });
  const seen = outcome.kind === 'result' ? outcome.offset : undefined;
  if (copy !== undefined) copy.offset = seen ?? copy.offset;
  const place = leaderPlace(database, seen);
  if (outcome.kind === 'failed') {
    const reply = failure(outcome.error);
    const isPlain = wantsPlainValues(exchange.header('accept'));
    const told = isPlain ? plainFailure(reply, statement, outcome.error) : reply;
    return { ...told, headers: { ...told.headers, ...place } };
  }
  const { rows, micros } = outcome;
  const headers = { 'spacetime-execution-duration-micros': String(micros), ...place };
  if (explains) return json(200, JSON.stringify({ plan: planOf(outcome) }), headers);
  const pieces = sqlResultPieces(outcome, limits.answerPieceCharacters, shape);
  let text = '';
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    text += next.value;
    if (text.length < limits.answerAtOnceCharacters) continue;
    return { ...json(200, '', headers), body: inTurns(text, pieces), heldBytes: rows.length };
  }
  return json(200, text, headers);
}

/** What `st_cluster` shows: to operators alone, and not to the owner of the database. */
function partsFor(
  statement: string,
  caller: ReturnType<typeof callerOf>,
  { host, cluster }: Pick<HttpContext, 'host' | 'cluster'>,
): Pick<SqlRequest, 'cluster'> {
  const isAsked = cluster !== undefined && /\bst_cluster\b/i.test(statement);
  return isAsked && host.access.isOperator(caller) ? { cluster: cluster.parts() } : {};
}

function notExplained(): HttpError {
  const words = '`explain=json` is for statements that begin with EXPLAIN';
  return new HttpError(text(400, words));
}

/** The plan that EXPLAIN wrote as lines. */
function planOf(result: SqlResult): PlanStep | undefined {
  const { rows } = sqlRows(result, firstRow, () => true, 'plainCells');
  return planTree(rows.map((row) => String((JSON.parse(row) as unknown[])[0])));
}

function shapeOf(exchange: Exchange): JsonShape {
  const asked = exchange.query.oneOf('values', ['plain']);
  return asked ?? (wantsPlainValues(exchange.header('accept')) ? 'plain' : 'positional');
}

/** Streams a result, yielding between pieces: a few bytes of rows can become a long text. */
function inTurns(begun: string, pieces: Iterator<string, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(begun)),
    async pull(controller) {
      await nextTurn();
      const { done, value } = pieces.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
}

interface StatementBody {
  readonly statement: string;
  readonly parameters?: SqlParameterValues;
}

/** Reads the statement; a body of any other content type is the bare statement. */
async function statementIn(exchange: Exchange): Promise<StatementBody> {
  const type = exchange.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  const body = await textBody(exchange, ': invalid utf-8 sequence');
  if (type !== sqlBodyType) return { statement: body };
  const request = await parseBody(body);
  const statement = request instanceof JsonObject ? request.get('sql') : undefined;
  if (!(request instanceof JsonObject) || typeof statement !== 'string') {
    throw new HttpError(text(400, `a body of ${sqlBodyType} is {"sql": "…", "params": […]}`));
  }
  const params = request.get('params');
  if (params === undefined || params === null) return { statement };
  return { statement, parameters: readParameters(params, (words) => text(400, words)) };
}

function parametersInQuery(exchange: Exchange): SqlParameterValues | undefined {
  const params = exchange.query.string('params');
  if (params === undefined) return undefined;
  try {
    return readParameters(parseJson(params), (words) => badQuery(`params: ${words}`).reply);
  } catch (error) {
    if (error instanceof JsonError) throw badQuery(`params: ${error.message}`);
    throw error;
  }
}

function readParameters(json: JsonValue, refuse: (words: string) => Reply): SqlParameterValues {
  try {
    return sqlParametersFromJson(json);
  } catch (error) {
    if (error instanceof SqlParametersError) throw new HttpError(refuse(error.message));
    throw error;
  }
}

/** The same error for those who want the plain form: an object, with the place of the fault. */
function plainFailure({ status, headers = {} }: Reply, sql: string, error: SqlError): Reply {
  const hint = 'hint' in error ? error.hint : undefined;
  const body = { error: error.message, hint, position: positionIn(sql, error) };
  const { 'content-type': _, ...rest } = headers;
  return json(status, JSON.stringify(body), rest);
}

/** Returns the bare error text, with its position (`line:column`) and advice as headers. */
function failure(error: SqlError): Reply {
  const { place, hint, message } = error;
  const headers = {
    ...(place === undefined ? {} : { 'reducerdb-error-place': `${place.line}:${place.column}` }),
  };
  switch (error.code) {
    case 'sql.noTable':
    case 'sql.notAuthorized':
    case 'sql.invalid':
    case 'sql.invalidParameter':
    case 'sql.noHistory':
    case 'sql.overBudget':
      return hintedText(400, message, hint, headers);
    case 'sql.busy':
      return hintedText(503, message, hint, { ...headers, 'retry-after': '1' });
    case 'quota.exceeded':
      return text(507, error.message);
    case 'sql.internal':
      return text(500, message);
    case 'connection.refused':
      return text(403, message);
    default:
      return unreachable(error);
  }
}
