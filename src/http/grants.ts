import { type Role, roles } from '../database/rights.ts';
import { identityToHex } from '../values/identity.ts';
import { jsonObject } from './body.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, empty, HttpError, json, type Reply, text } from './exchange.ts';
import { pathIdentity } from './path-identity.ts';

/** `GET /v1/database/:db/grants`: lists the role of each identity. */
export function listGrants(exchange: Exchange, { host }: HttpContext): Reply {
  const grants = host.grants.list(callerOf(exchange), host.database(targetOf(exchange)));
  const body = grants.map(({ identity, role, grantedBy, grantedMicros }) => ({
    identity: identityToHex(identity),
    role,
    granted_by: identityToHex(grantedBy),
    granted_at: Number(grantedMicros),
  }));
  return json(200, JSON.stringify({ grants: body }));
}

/** `PUT /v1/database/:db/grants/:identity` with `{"role":"reader"}`. */
export async function putGrant(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  const identity = pathIdentity(exchange);
  host.access.require(callerOf(exchange), database, 'grant');
  const { role } = await jsonObject(exchange);
  if (!isRole(role)) {
    throw new HttpError(text(422, `\`role\` must be one of ${roles.join(', ')}`));
  }
  await host.grants.grant(callerOf(exchange), database, identity, role);
  return empty(200);
}

/** `DELETE /v1/database/:db/grants/:identity`. */
export async function removeGrant(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  await host.grants.revoke(callerOf(exchange), database, pathIdentity(exchange));
  return empty(200);
}

function isRole(value: unknown): value is Role {
  return roles.some((role) => role === value);
}
