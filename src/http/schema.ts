import { leaderPlace } from '../doors/read-place.ts';
import { checkWishHere } from '../doors/read-wish.ts';
import { shownSchemaJson } from '../doors/shown-schema.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { badQuery, type Exchange, json, type Reply } from './exchange.ts';
import { wishIn } from './reading.ts';

/**
 * `GET /v1/database/:db/schema?version=9|10`: anyone can read it, private tables included; a
 * limited token only sees what it can use.
 */
export async function schema(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const version = schemaVersion(exchange);
  const given = wishIn(exchange);
  const { copy } = exchange;
  if (copy === undefined) await checkWishHere(given, database);
  const { definition } = await (copy?.handle ?? database.handle).describe();
  const shown = await shownSchemaJson(definition, callerOf(exchange), caller.rights, version);
  return json(200, shown, leaderPlace(database));
}

/** The form of a schema, as the query names it. */
export function schemaVersion(exchange: Exchange): 9 | 10 {
  const version = exchange.query.oneOf('version', ['9', '10']);
  if (version === undefined) throw badQuery('missing field `version`');
  return version === '9' ? 9 : 10;
}
