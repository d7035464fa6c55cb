import type { SiteFile, SiteSet } from '../host/sites/site-set.ts';
import { limits } from '../limits.ts';
import { JsonNumber, JsonObject, type JsonValue } from '../values/json.ts';
import { appOrigin } from './app-places.ts';
import { parseBody, requireJsonType, wrongShape } from './body.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, empty, HttpError, json, type Reply, text } from './exchange.ts';

/** `POST /v1/database/:db/static`: announces files, and learns which contents are missing. */
export async function announceStatic(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const { host, places } = context;
  const target = targetOf(exchange);
  const database = host.database(target);
  host.access.require(callerOf(exchange), database, 'update');
  requireJsonType(exchange);
  const bytes = await exchange.body(limits.siteListBytesMax);
  const set = setIn(await parseBody(utf8(bytes)));
  const quota = host.quotas.ofSite(database.owner, database.identity);
  const { id, missing } = await host.sites.announce(database.identity, set, quota);
  const name = host.appOf(target).name;
  const origin = name && appOrigin(places, name, exchange.header('host'));
  const app = origin === undefined ? `/app/${encodeURIComponent(target)}/` : `${origin}/`;
  return json(200, JSON.stringify({ static: id, missing, app }));
}

/** `PUT /v1/database/:db/static/:hash`: the content of an announced file. */
export async function putStatic(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  host.access.require(callerOf(exchange), database, 'update');
  const hash = exchange.params.hash ?? '';
  const quota = host.quotas.ofSite(database.owner, database.identity);
  const pieces = exchange.bodyPieces(limits.siteFileBytesMax);
  await host.sites.receive(database.identity, hash, pieces, quota);
  return empty(200);
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new HttpError(text(400, "Request body didn't contain valid UTF-8"));
  }
}

function setIn(body: JsonValue): SiteSet {
  const members = membersOf(body);
  const files = members.get('files');
  const headers = members.get('headers') ?? '';
  if (!Array.isArray(files)) throw wrongShape('`files` must be a list');
  if (typeof headers !== 'string') throw wrongShape('`headers` must be a string');
  if (files.length > limits.siteFilesMax) {
    throw wrongShape(`${files.length} files; at most ${limits.siteFilesMax}`);
  }
  return { files: files.map(fileIn), headers };
}

function fileIn(json: JsonValue): SiteFile {
  const members = membersOf(json);
  const [path, hash, bytes] = ['path', 'hash', 'bytes'].map((name) => members.get(name));
  const isFile = typeof path === 'string' && typeof hash === 'string';
  if (!isFile || !(bytes instanceof JsonNumber)) {
    throw wrongShape('a file is an object with `path`, `hash` and `bytes`');
  }
  return { path, hash, bytes: Number(bytes.text) };
}

function membersOf(json: JsonValue): ReadonlyMap<string, JsonValue> {
  if (json instanceof JsonObject) return new Map(json.entries);
  throw wrongShape('expected an object');
}
