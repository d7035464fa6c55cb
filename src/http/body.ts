import { inSlices } from '../doors/slices.ts';
import { limits } from '../limits.ts';
import { notJsonText } from '../mcp-protocol/json-rpc.ts';
import {
  isHeavy,
  JsonError,
  JsonNumber,
  JsonObject,
  type JsonValue,
  parseJson,
  parseJsonSteps,
} from '../values/json.ts';
import { type Exchange, HttpError, jsonType, type Reply, text } from './exchange.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the body as text. `detail` is appended to the error text when the body is not UTF-8. */
export async function textBody(exchange: Exchange, detail = ''): Promise<string> {
  return utf8Body(exchange, notUtf8(detail));
}

const notUtf8 = (detail = '') => text(400, `Request body didn't contain valid UTF-8${detail}`);

/** Reads the body as text; `refusal` is the response to a body that is not UTF-8. */
async function utf8Body(exchange: Exchange, refusal: Reply): Promise<string> {
  const bytes = await exchange.body(limits.bodyBytesMax);
  try {
    return decoder.decode(bytes);
  } catch {
    throw new HttpError(refusal);
  }
}

/** Reads the body of a call, which must be `application/json`, with or without parameters. */
export async function argumentsBody(exchange: Exchange): Promise<string> {
  const header = exchange.header('content-type');
  if (header === undefined) {
    throw new HttpError(text(400, 'Header of type `content-type` was missing'));
  }
  const type = mediaType(header);
  if (type === undefined) throw new HttpError(text(400, 'invalid HTTP header (content-type)'));
  if (type !== jsonType) throw notJsonType();
  return textBody(exchange);
}

/**
 * Reads the body of an endpoint that takes `application/json` or `application/…+json`. `refusal` is
 * the response to a body that is not UTF-8, and so not JSON.
 */
export async function jsonBody(exchange: Exchange, refusal = notUtf8()): Promise<string> {
  requireJsonType(exchange);
  return utf8Body(exchange, refusal);
}

export function requireJsonType(exchange: Exchange): void {
  const type = mediaType(exchange.header('content-type') ?? '') ?? '';
  if (type !== jsonType && !/^application\/.+\+json$/.test(type)) throw notJsonType();
}

function notJsonType(): HttpError {
  return new HttpError(text(415, 'Expected request with `Content-Type: application/json`'));
}

/** Returns type and subtype in lower case, without parameters; `undefined` if unreadable. */
function mediaType(header: string): string | undefined {
  const [, type] = /^\s*([\w!#$&^+.-]+\/[\w!#$&^+.-]+)\s*(?:;.*)?$/.exec(header) ?? [];
  return type?.toLowerCase();
}

/** Parses a body's JSON, at most `limits.nestingDepthMax` deep; only a large one is a promise. */
export function parseBody(body: string): JsonValue | Promise<JsonValue> {
  if (body.length > limits.wholeTextCharactersMax) return parseLarge(body);
  try {
    return parseJson(body);
  } catch (error) {
    throw parseError(error);
  }
}

async function parseLarge(body: string): Promise<JsonValue> {
  try {
    return await inSlices(parseJsonSteps(body));
  } catch (error) {
    throw parseError(error);
  }
}

function parseError(error: unknown): unknown {
  if (!(error instanceof JsonError)) return error;
  return new HttpError(text(400, notJsonText(error.message)));
}

/** Reads the body of an endpoint of ours that takes a JSON object; an empty body counts as one. */
export async function jsonObject(exchange: Exchange): Promise<Record<string, unknown>> {
  const body = await textBody(exchange);
  if (body.trim() === '') return {};
  requireJsonType(exchange);
  const parsed = await parseBody(body);
  if (parsed instanceof JsonObject) {
    return Object.fromEntries(parsed.entries.map(([key, value]) => [key, plain(value)]));
  }
  throw wrongShape('expected an object');
}

/** Converts to plain values. Endpoints only look at short lists, so long ones are cut off. */
function plain(json: JsonValue): unknown {
  if (json instanceof JsonNumber) return Number(json.text);
  if (Array.isArray(json)) return json.slice(0, limits.capabilityNamesMax + 1).map(plain);
  if (!(json instanceof JsonObject)) return json;
  if (isHeavy(json)) return {};
  return Object.fromEntries(json.entries.map(([key, value]) => [key, plain(value)]));
}

/** Returns the 422 for JSON that does not have the shape the endpoint takes. */
export function wrongShape(detail: string): HttpError {
  const words = 'Failed to deserialize the JSON body into the target type: ';
  return new HttpError(text(422, `${words}${detail}`));
}
