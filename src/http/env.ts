import { refusal } from '../database/outcome.ts';
import type { ListedEnv } from '../host/databases/env-control.ts';
import type { RequestedEnv } from '../host/publishing/publish-request.ts';
import type { EnvDefinition } from '../schema/definition.ts';
import { identityToHex } from '../values/identity.ts';
import { JsonError } from '../values/json-error.ts';
import {
  boolean,
  either,
  object,
  optional,
  parseAs,
  record,
  type Shape,
  string,
} from '../values/json-shape.ts';
import { typeText } from '../values/typespace.ts';
import { jsonBody, wrongShape } from './body.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, empty, HttpError, json, type Reply, text } from './exchange.ts';

const givenValue = object({ value: string, secret: optional(boolean) });

/**
 * `GET /v1/database/:db/env`: names and plain values, and what the running program declares; the
 * values of secrets are never shown.
 */
export async function listEnv(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const [caller, database] = [callerOf(exchange), host.database(targetOf(exchange))];
  const listed = await host.env.list(caller, database);
  const declared = await host.env.declared(caller, database);
  const body = { env: listed.map(shown), declared: declared.map(shownDeclared) };
  return json(200, JSON.stringify(body), notKept);
}

/** `GET /v1/database/:db/env/:name`. */
export async function getEnv(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  const found = await host.env.get(callerOf(exchange), database, nameOf(exchange));
  return json(200, JSON.stringify(shown(found)), notKept);
}

/** `PUT /v1/database/:db/env/:name`: sets a value, which the next call reads. */
export async function putEnv(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  const caller = callerOf(exchange);
  host.access.require(caller, database, 'setEnv');
  const { value, secret: isSecret } = shapedBody(await jsonBody(exchange), givenValue);
  const name = nameOf(exchange);
  const given = { name, text: wellFormed(name, value), isSecret };
  const { hint, ...set } = await host.env.set(caller, database, given);
  return json(200, JSON.stringify({ ...shown(set), hint }), notKept);
}

/** `DELETE /v1/database/:db/env/:name`. */
export async function deleteEnv(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  await host.env.unset(callerOf(exchange), database, nameOf(exchange));
  return empty(200);
}

/** The type of a body with one line of JSON in front of the program. */
export const programWithEnvType = 'application/x-reducerdb-publish';

const publishHead = object({ env: record(either(string, givenValue)) });

export interface ProgramBody {
  readonly bytes: Uint8Array;
  readonly env?: readonly RequestedEnv[];
}

/** Divides such a body into the values and the program. */
export function programWithEnv(body: Uint8Array): ProgramBody {
  const end = body.indexOf(lineFeed);
  if (end < 0) throw new HttpError(text(400, noHeadText));
  const head = shapedBody(new TextDecoder().decode(body.subarray(0, end)), publishHead);
  const env = Object.entries(head.env).map(([name, given]): RequestedEnv => {
    const { value, secret } = typeof given === 'string' ? { value: given } : given;
    return { name, text: wellFormed(name, value), isSecret: secret };
  });
  return { bytes: body.slice(end + 1), env };
}

const lineFeed = 10;
const noHeadText = `A body of type ${programWithEnvType} begins with a line of JSON`;
const notKept = { 'cache-control': 'no-store' };

function nameOf({ params }: Exchange): string {
  return params.name ?? '';
}

/** No error quotes the body. */
function shapedBody<Value>(body: string, shape: Shape<Value>): Value {
  try {
    return parseAs(body, shape);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw wrongShape(error.message);
  }
}

/** An unpaired surrogate would be stored as another character. */
function wellFormed(name: string, value: string): string {
  if (!/[\ud800-\udfff]/u.test(value)) return value;
  throw refusal('env.invalid', `the value of \`${name}\` is not valid Unicode`);
}

function shownDeclared({ name, kind, isSecret, isOptional }: EnvDefinition) {
  return { name, type: typeText({ kind }), secret: isSecret, optional: isOptional };
}

function shown({ name, isSecret, text: value, isReadable, setBy, setMicros }: ListedEnv) {
  return {
    name,
    secret: isSecret,
    ...(isSecret ? { readable: isReadable } : { value }),
    set_by: identityToHex(setBy),
    set_at: Number(setMicros),
  };
}
