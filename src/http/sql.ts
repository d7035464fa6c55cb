import { unreachable } from '../assert.ts';
import type { SqlError } from '../database/outcome.ts';
import { temporaryConnection } from '../host/temporary-connection.ts';
import { sqlResultJson } from '../protocol/sql-result.ts';
import { textBody } from './body.ts';
import { type HttpContext, openTarget } from './context.ts';
import { type Exchange, json, type Reply, text } from './exchange.ts';

/** `POST /v1/database/:db/sql`: one statement in the body, its result as JSON. */
export async function sql(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const confirmed = exchange.query.boolean('confirmed', true);
  const statement = await textBody(exchange, ': invalid utf-8 sequence');
  const outcome = await database.handle.query({
    caller,
    connection: temporaryConnection(),
    sql: statement,
    confirmed,
  });
  if (outcome.kind === 'failed') return failure(outcome.error);
  const headers = { 'spacetime-execution-duration-micros': String(outcome.micros) };
  return json(200, sqlResultJson(outcome), headers);
}

function failure(error: SqlError): Reply {
  switch (error.code) {
    case 'sql.noTable':
    case 'sql.notAuthorized':
    case 'sql.invalid':
    case 'sql.overBudget':
      return text(400, error.message);
    case 'connection.refused':
      return text(403, error.message);
    default:
      return unreachable(error);
  }
}
