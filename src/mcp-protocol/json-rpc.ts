import { limits } from '../limits.ts';
import { JsonError, JsonNumber, JsonObject, type JsonValue, parseJson } from '../values/json.ts';
import { jsonText, RawJson } from './json-text.ts';
import { RpcError, rpcCode } from './rpc-error.ts';

/** One message of a client, by kind. */
export type Message = RequestMessage | NotificationMessage | ResponseMessage | InvalidMessage;

export interface RequestMessage {
  readonly kind: 'request';
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonValue | undefined;
}

/** Any object without `id` is a notification, and so is a body that is a bare value. */
export interface NotificationMessage {
  readonly kind: 'notification';
  readonly method: JsonValue | undefined;
  readonly params: JsonValue | undefined;
}

/** The response to a request of the server; has a result or an error. */
export interface ResponseMessage {
  readonly kind: 'response';
  readonly id: RequestId;
  readonly result: JsonValue | undefined;
  readonly error: JsonValue | undefined;
}

export interface InvalidMessage {
  readonly kind: 'invalid';
  readonly id: RequestId;
  readonly error: RpcError;
}

/** Several messages at once, which one revision allows. */
export interface Batch {
  readonly kind: 'batch';
  readonly messages: readonly Message[];
}

/** A request's id as JSON text, echoed exactly. */
export type RequestId = string;

/** The id in a response to a message without one. */
export const noId: RequestId = 'null';

/** Reads a body. Numbers keep all their digits, because they may be arguments of a reducer. */
export function readBody(text: string, mayBeBatch: boolean): Message | Batch {
  try {
    return readParsed(parseJson(text), mayBeBatch);
  } catch (error) {
    return unparsed(error);
  }
}

/** Reads a body like `readBody`, using `parse`, which rejects with `JsonError`. */
export async function readLargeBody(
  text: string,
  mayBeBatch: boolean,
  parse: (text: string) => Promise<JsonValue>,
): Promise<Message | Batch> {
  try {
    return readParsed(await parse(text), mayBeBatch);
  } catch (error) {
    return unparsed(error);
  }
}

/** The text for a body that is not JSON, of any request over HTTP. */
export function notJsonText(detail: string): string {
  return `Failed to parse the request body as JSON: ${detail}`;
}

function unparsed(error: unknown): InvalidMessage {
  if (!(error instanceof JsonError)) throw error;
  const words = notJsonText(error.message);
  return {
    kind: 'invalid',
    id: noId,
    error: new RpcError(rpcCode.parseError, words, undefined, 400),
  };
}

function readParsed(parsed: JsonValue, mayBeBatch: boolean): Message | Batch {
  if (parsed instanceof JsonObject) return readMessage(parsed);
  if (!Array.isArray(parsed)) {
    return { kind: 'notification', method: undefined, params: undefined };
  }
  if (!mayBeBatch) return invalid('batches are not supported');
  if (parsed.length === 0) return invalid('the batch is empty');
  if (parsed.length > limits.mcpBatchMax) {
    return invalid(`a batch has at most ${limits.mcpBatchMax} messages`);
  }
  return { kind: 'batch', messages: parsed.map(readMessage) };
}

function readMessage(message: JsonValue): Message {
  if (!(message instanceof JsonObject)) return invalid('expected an object');
  const given = message.get('id');
  const method = message.get('method');
  const params = message.get('params');
  if (given === undefined) return { kind: 'notification', method, params };
  const id = idText(given);
  if (id === undefined) return invalid(badId);
  if (message.get('jsonrpc') !== '2.0') return invalid('jsonrpc must be "2.0"', id);
  if (typeof method === 'string') return { kind: 'request', id, method, params };
  const result = message.get('result');
  const error = message.get('error');
  const isResponse = result !== undefined || error !== undefined;
  return isResponse ? { kind: 'response', id, result, error } : invalid('missing method', id, 200);
}

const badId = `id must be a string or a number, of at most ${limits.mcpIdCharactersMax} characters`;

/**
 * Returns the text that identifies a request, from its `id` or a reference to it; `undefined` for
 * an invalid or overlong id: every message about the request repeats it, and many may be queued for
 * a client.
 */
export function idText(id: JsonValue | undefined): RequestId | undefined {
  const text = writtenId(id);
  return text === undefined || text.length > limits.mcpIdCharactersMax ? undefined : text;
}

function writtenId(id: JsonValue | undefined): string | undefined {
  if (id === null) return noId;
  if (id instanceof JsonNumber) return id.text;
  return typeof id === 'string' ? JSON.stringify(id) : undefined;
}

export function invalid(what: string, id = noId, status = 400): InvalidMessage {
  const words = `invalid request: ${what}`;
  return {
    kind: 'invalid',
    id,
    error: new RpcError(rpcCode.invalidRequest, words, undefined, status),
  };
}

export function resultText(id: RequestId, result: object): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${jsonText(result)}}`;
}

export function errorText(id: RequestId, { code, message, data }: RpcError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${jsonText({ code, message, data })}}`;
}

export function requestText(id: RequestId, method: string, params: object): string {
  return jsonText({ jsonrpc: '2.0', id: new RawJson(id), method, params });
}

export function notificationText(method: string, params: object): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${jsonText(params)}}`;
}
