import { shownSchemaJson } from '../doors/shown-schema.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { badQuery, type Exchange, json, type Reply } from './exchange.ts';

/**
 * `GET /v1/database/:db/schema?version=9|10`: anyone can read it, private tables included; a
 * limited token only sees what it can use.
 */
export async function schema(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const version = schemaVersion(exchange);
  const { definition } = await database.handle.describe();
  return json(200, await shownSchemaJson(definition, callerOf(exchange), caller.rights, version));
}

/** The form of a schema, as the query names it. */
export function schemaVersion(exchange: Exchange): 9 | 10 {
  const version = exchange.query.oneOf('version', ['9', '10']);
  if (version === undefined) throw badQuery('missing field `version`');
  return version === '9' ? 9 : 10;
}
