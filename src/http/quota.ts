import { Refusal } from '../database/outcome.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import {
  databaseQuotas,
  identityQuotas,
  type QuotaName,
  type QuotaUse,
} from '../host/registry/quota-limits.ts';
import { asOwner } from '../values/identity-roles.ts';
import { jsonObject } from './body.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, empty, HttpError, json, type Reply, text } from './exchange.ts';
import { pathIdentity } from './path-identity.ts';

/** `GET /v1/quota/:identity`: use and limits, for the identity itself and for operators. */
export function identityQuota(exchange: Exchange, { host }: HttpContext): Reply {
  const caller = callerOf(exchange);
  const identity = pathIdentity(exchange);
  const isOwn = caller.identity === identity && caller.capability === undefined;
  if (!isOwn) host.access.requireOperator(caller, 'view quotas');
  return usesReply(host.quotas.ofIdentity(asOwner(identity)));
}

/** `PUT /v1/quota/:identity` with `{"databases-per-identity":50}`, for operators. */
export async function putIdentityQuota(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  host.access.requireOperator(callerOf(exchange), 'set quota');
  const subject = asOwner(pathIdentity(exchange));
  const amounts = amountsIn(await jsonObject(exchange), identityQuotas);
  await host.quotas.set(callerOf(exchange), { subject, owner: subject }, amounts);
  return empty(200);
}

/** `GET /v1/database/:db/quota`: use and limits of a database, for its admins. */
export async function databaseQuota(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  host.access.require(callerOf(exchange), database, 'viewQuota');
  await untilMeasured(database);
  return usesReply(host.quotas.ofDatabase(database));
}

/** `PUT /v1/database/:db/quota` with `{"row-bytes":1048576}`, for operators. */
export async function putDatabaseQuota(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { identity: subject, owner } = host.database(targetOf(exchange));
  host.access.requireOperator(callerOf(exchange), 'set quota');
  const amounts = amountsIn(await jsonObject(exchange), databaseQuotas);
  await host.quotas.set(callerOf(exchange), { subject, owner }, amounts);
  return empty(200);
}

/** Waits until the size of a database is known, after opening; a broken one keeps its last size. */
async function untilMeasured({ handle }: HostedDatabase): Promise<void> {
  // One that sleeps is as it was.
  if (handle.statistics().state === 'asleep') return;
  try {
    await handle.describe();
  } catch (error) {
    if (!(error instanceof Refusal) || error.body.code === 'database.opening') throw error;
  }
}

function usesReply(uses: readonly QuotaUse[]): Reply {
  const shown = uses.map(({ name, used, limit }) => [name, { used, limit: limit ?? null }]);
  return json(200, JSON.stringify({ quotas: Object.fromEntries(shown) }));
}

/** Reads an amount, `null` for no limit, or `"default"` for the configured one. */
function amountsIn(
  body: Readonly<Record<string, unknown>>,
  names: readonly QuotaName[],
): ReadonlyMap<QuotaName, number | null | undefined> {
  const amounts = new Map<QuotaName, number | null | undefined>();
  for (const [key, value] of Object.entries(body)) {
    const name = names.find((one) => one === key);
    if (name === undefined) {
      throw new HttpError(text(422, `\`${key}\` is not a quota here; one of ${names.join(', ')}`));
    }
    if (value === 'default') amounts.set(name, undefined);
    else if (value === null) amounts.set(name, null);
    else if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) {
      amounts.set(name, value);
    } else {
      const words = `\`${key}\` must be a whole number, null for any amount, or "default"`;
      throw new HttpError(text(422, words));
    }
  }
  return amounts;
}
