import { Refusal } from '../database/outcome.ts';
import { identityToHex } from '../values/identity.ts';
import { jsonBody, parseBody, textBody, wrongShape } from './body.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { detailedDatabases } from './database-details.ts';
import { type Exchange, HttpError, json, type Reply, text } from './exchange.ts';

/** `GET /v1/databases`: all databases of this host, for operators; others see some in detail. */
export function listDatabases(exchange: Exchange, context: HttpContext): Reply | Promise<Reply> {
  if (exchange.query.boolean('detail', false)) return detailedDatabases(exchange, context);
  const { host } = context;
  host.access.requireOperator(callerOf(exchange), 'list databases');
  const records = new Map(host.databases.map((record) => [record.identity, record]));
  const databases = host.statistics().databases.flatMap(({ identity, state }) => {
    const record = records.get(identity);
    if (record === undefined) return [];
    return {
      identity: identityToHex(identity),
      names: host.namesOf(identity),
      owner: identityToHex(record.owner),
      is_locked: record.isLocked,
      state,
    };
  });
  return json(200, JSON.stringify({ databases }));
}

/** `GET /v1/database/:db`. */
export function describeDatabase(exchange: Exchange, { host }: HttpContext): Reply {
  const database = host.database(targetOf(exchange));
  const { isPaused } = host.schedules.stateOf(database);
  // Only then, so that clients of other products read what they know.
  const paused = isPaused ? ',"schedules_paused":true' : '';
  const body =
    `{"database_identity":{"__identity__":"${hexNumber(database.identity)}"},` +
    `"owner_identity":{"__identity__":"${hexNumber(database.owner)}"},` +
    `"host_type":{"${database.hostType === 'js' ? 'Js' : 'Wasm'}":[]},` +
    `"initial_program":"${programHashText(database.initialProgram)}"${paused}}`;
  return json(200, body);
}

/** Writes a hash as a number: its bytes in reverse order, after `0x`, without leading zeros. */
function programHashText(hex: string): string {
  return hexNumber(BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`));
}

function hexNumber(value: bigint): string {
  return `0x${value.toString(16)}`;
}

/** `GET /v1/database/:db/identity`: resolves a name, without checking that the database exists. */
export function databaseIdentity(exchange: Exchange, { host }: HttpContext): Reply {
  return text(200, identityToHex(host.resolve(targetOf(exchange))));
}

/** `GET /v1/database/:db/names`. */
export function listNames(exchange: Exchange, { host }: HttpContext): Reply {
  const { identity } = host.database(targetOf(exchange));
  return json(200, JSON.stringify({ names: host.namesOf(identity) }));
}

/** `POST /v1/database/:db/names`: the body is the name itself. */
export async function addName(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const target = targetOf(exchange);
  host.database(target);
  const name = await textBody(exchange, ': invalid utf-8 sequence');
  try {
    const identity = await host.addName(callerOf(exchange), target, name);
    const success = { domain: name, database_identity: identityToHex(identity) };
    return json(200, JSON.stringify({ Success: success }));
  } catch (error) {
    throw nameError(error, name);
  }
}

/** `PUT /v1/database/:db/names`: a JSON array replaces all names at once. */
export async function replaceNames(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const target = targetOf(exchange);
  const { identity } = host.database(target);
  const names = await namesBody(exchange);
  try {
    await host.replaceNames(callerOf(exchange), target, names);
    return json(200, '"Success"');
  } catch (error) {
    if (error instanceof Refusal && error.body.code === 'caller.notAuthorized') {
      const body = { NotYourDatabase: { database: identityToHex(identity) } };
      throw new HttpError(json(401, JSON.stringify(body)));
    }
    throw nameError(error, '');
  }
}

async function namesBody(exchange: Exchange): Promise<string[]> {
  const names = await parseBody(await jsonBody(exchange));
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  throw wrongShape('expected an array of strings');
}

/** Replaces the bodies of the errors for names that are taken or belong to someone else. */
function nameError(error: unknown, name: string): unknown {
  if (!(error instanceof Refusal)) return error;
  if (error.body.code === 'name.notYours') {
    const domain = name === '' ? error.message : name;
    return new HttpError(json(401, JSON.stringify({ PermissionDenied: { domain } })));
  }
  if (error.body.code === 'name.taken') {
    return new HttpError(json(400, JSON.stringify({ OtherError: error.message })));
  }
  return error;
}
