import { limits } from '../limits.ts';
import { type Exchange, HttpError, jsonType, text } from './exchange.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The body as text; `what` follows the fixed words when it is not UTF-8. */
export async function textBody(exchange: Exchange, detail = ''): Promise<string> {
  const bytes = await exchange.body(limits.bodyBytesMax);
  try {
    return decoder.decode(bytes);
  } catch {
    throw new HttpError(text(400, `Request body didn't contain valid UTF-8${detail}`));
  }
}

/** The body of an endpoint that takes JSON and says so in its content type. */
export async function jsonBody(exchange: Exchange): Promise<string> {
  requireJsonType(exchange);
  return textBody(exchange);
}

/** Demands `application/json` or `application/…+json`, with or without parameters. */
export function requireJsonType(exchange: Exchange): void {
  const header = exchange.header('content-type');
  if (header === undefined) {
    throw new HttpError(text(400, 'Header of type `content-type` was missing'));
  }
  if (!isJsonType(header)) {
    throw new HttpError(text(415, 'Expected request with `Content-Type: application/json`'));
  }
}

export function isJsonType(header: string | undefined): boolean {
  const type = header?.split(';')[0]?.trim().toLowerCase();
  return type === jsonType || /^application\/[a-z0-9.!#$&^_+-]+\+json$/.test(type ?? '');
}

/** The 400 for a body that is no JSON. */
export function notJson(cause: unknown): HttpError {
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new HttpError(text(400, `Failed to parse the request body as JSON: ${detail}`));
}

/** The body of an endpoint of ours that takes a JSON object; an empty body is an empty one. */
export async function jsonObject(exchange: Exchange): Promise<Record<string, unknown>> {
  const body = await textBody(exchange);
  if (body.trim() === '') return {};
  requireJsonType(exchange);
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch (error) {
    throw notJson(error);
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    return parsed as Record<string, unknown>;
  }
  const words = 'Failed to deserialize the JSON body into the target type: ';
  throw new HttpError(text(422, `${words}expected an object`));
}
