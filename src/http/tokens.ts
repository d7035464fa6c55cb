import type { Capability } from '../auth/capability.ts';
import { networkOf } from '../auth/client-address.ts';
import { limits } from '../limits.ts';
import { isTokenFeature, tokenFeatures } from '../protocol/agent-features.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { identityToHex } from '../values/identity.ts';
import { jsonObject } from './body.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, empty, HttpError, json, type Reply, text } from './exchange.ts';

/**
 * `POST /v1/database/:db/tokens`: a token for this database alone, with the caller's rights
 * narrowed. Fields, all optional: `tables`, `reducers` (names), `read_only`, `sql_writes`,
 * `max_rows`, `max_bytes`, `features` (of the MCP server), `expires_seconds`.
 */
export async function createToken(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const { host, tokens } = context;
  const database = host.database(targetOf(exchange));
  const caller = callerOf(exchange);
  host.access.require(caller, database, 'createToken');
  const request = await jsonObject(exchange);
  const flat = flatDefinition((await database.handle.describe()).definition);
  const capability: Capability = {
    database: database.identity,
    by: caller.identity,
    ...names(request, 'tables', (name) => tableNamed(flat, name)),
    ...names(request, 'reducers', (name) => reducerNamed(flat, name)),
    readOnly: flag(request, 'read_only'),
    sqlWrites: flag(request, 'sql_writes'),
    ...answerLimits(count(request, 'max_rows'), count(request, 'max_bytes')),
    ...names(request, 'features', featureNamed),
  };
  if (capability.sqlWrites && capability.tables === undefined) {
    throw unfit('`sql_writes` needs `tables`: the tables in which rows may be changed');
  }
  if (capability.readOnly && capability.features?.includes('write-by-preview') === true) {
    throw unfit('`read_only` and the feature `write-by-preview` exclude each other');
  }
  const issued = await tokens.issueLimited(capability, count(request, 'expires_seconds'));
  const { tokenId: id, token, identity, expiresAt } = issued;
  await host.grants.noteToken(caller, database, { id, capability, expiresAt });
  const body = { id, token, identity: identityToHex(identity), expires_at: expiresAt ?? null };
  return json(200, JSON.stringify(body));
}

/** `GET /v1/database/:db/tokens`: lists the valid ones, without the tokens themselves. */
export function listTokens(exchange: Exchange, { host }: HttpContext): Reply {
  const issued = host.grants.tokens(callerOf(exchange), host.database(targetOf(exchange)));
  const body = issued.map(({ id, issuedBy, capability, issuedMicros, untilMicros }) => ({
    id,
    issued_by: identityToHex(issuedBy),
    issued_at: seconds(issuedMicros),
    expires_at: untilMicros === 0n ? null : seconds(untilMicros),
    ...(JSON.parse(capability) as object),
  }));
  return json(200, JSON.stringify({ tokens: body }));
}

/** `DELETE /v1/database/:db/tokens/:id`: the token is rejected afterwards. */
export async function revokeToken(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  await host.grants.revokeToken(callerOf(exchange), database, exchange.params.id ?? '');
  return empty(200);
}

/** `POST /v1/identity/revoke`: the token that was presented is rejected afterwards. */
export function giveUpToken(exchange: Exchange, context: HttpContext): Promise<Reply> {
  return endToken(exchange, context);
}

/** Revokes the token that was presented; a client can do that now and then. */
export async function endToken(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const caller = callerOf(exchange);
  const { tokenId, isStandIn, expiresAt } = await context.tokens.verify(caller.token);
  // A stand-in may have leaked through an address, and must not revoke the original token.
  if (isStandIn) throw new HttpError(text(400, 'This token stands for another; give up that one'));
  const seconds = context.rates.ofGivenUpTokens.take(networkOf(caller.address ?? ''));
  if (seconds > 0) {
    const words = 'Too many tokens were given up from this address';
    throw new HttpError(text(429, words, { 'retry-after': String(seconds) }));
  }
  await context.host.grants.giveUpToken(caller, tokenId, expiresAt);
  return empty(200);
}

function seconds(micros: bigint): number {
  return Number(micros / 1_000_000n);
}

/** Reads a list of names; `canonical` returns the name that the database uses, or throws. */
function names(
  request: Record<string, unknown>,
  field: 'tables' | 'reducers' | 'features',
  canonical: (name: string) => string,
): { readonly [name in typeof field]?: readonly string[] } {
  const value = request[field];
  if (value === undefined || value === null) return {};
  const isList = Array.isArray(value) && value.every((name) => typeof name === 'string');
  if (!isList) throw unfit(`\`${field}\` must be an array of names`);
  if (value.length > limits.capabilityNamesMax) {
    throw unfit(`\`${field}\` has at most ${limits.capabilityNamesMax} names`);
  }
  return { [field]: [...new Set(value.map(canonical))] };
}

function tableNamed({ tables, views }: ModuleDefinition, name: string): string {
  const found = named([...tables, ...views], name);
  if (found === undefined) throw unfit(`\`tables\`: there is no table or view \`${name}\``);
  return found.name;
}

/** Procedures count as reducers, and so do HTTP handlers that look at tokens. */
function reducerNamed(definition: ModuleDefinition, name: string): string {
  const { reducers, procedures, httpHandlers } = definition;
  const handlers = httpHandlers.filter(({ auth }) => auth !== 'none');
  const found = named(reducers, name);
  const other = named(procedures, name) ?? named(handlers, name);
  if (found === undefined && other !== undefined) return other.name;
  if (found === undefined) throw unfit(`\`reducers\`: there is no reducer \`${name}\``);
  if (found.lifecycle === undefined) return found.name;
  throw unfit(`\`reducers\`: nobody calls the lifecycle reducer \`${name}\``);
}

function featureNamed(word: string): string {
  if (isTokenFeature(word)) return word;
  throw unfit(`\`features\`: there is no \`${word}\`; there are ${tokenFeatures.join(', ')}`);
}

/** Finds an item by the name in the database, or else by the name in the module's source. */
function named<Item extends { readonly name: string; readonly sourceName: string }>(
  items: readonly Item[],
  name: string,
): Item | undefined {
  return items.find((item) => item.name === name) ?? items.find((item) => item.sourceName === name);
}

function flag(request: Record<string, unknown>, field: string): boolean {
  const value = request[field] ?? false;
  if (typeof value !== 'boolean') throw unfit(`\`${field}\` must be true or false`);
  return value;
}

function count(request: Record<string, unknown>, field: string): number | undefined {
  const value = request[field];
  if (value === undefined || value === null) return undefined;
  const isCount = typeof value === 'number' && Number.isInteger(value) && value > 0;
  if (!isCount || value > 0xffff_ffff)
    throw unfit(`\`${field}\` must be a whole number above zero`);
  return value;
}

function answerLimits(
  rowsMax: number | undefined,
  bytesMax: number | undefined,
): Pick<Capability, 'rowsMax' | 'bytesMax'> {
  return {
    ...(rowsMax !== undefined && { rowsMax }),
    ...(bytesMax !== undefined && { bytesMax }),
  };
}

function unfit(detail: string): HttpError {
  return new HttpError(text(422, detail));
}
