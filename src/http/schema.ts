import { schemaJson } from '../schema/schema-json.ts';
import { type HttpContext, targetOf } from './context.ts';
import { badQuery, type Exchange, json, type Reply } from './exchange.ts';

/** `GET /v1/database/:db/schema?version=9|10`: anyone may read it, private tables included. */
export async function schema(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { handle } = host.database(targetOf(exchange));
  const version = exchange.query.oneOf('version', ['9', '10']);
  if (version === undefined) throw badQuery('missing field `version`');
  const { definition } = await handle.describe();
  return json(200, schemaJson(definition, version === '9' ? 9 : 10));
}
