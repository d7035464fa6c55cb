import { JsonError, JsonNumber, JsonObject, type JsonValue, parseJson } from '../values/json.ts';

/** One message of a client, told apart by what it wants. */
export type Message =
  | {
      readonly kind: 'request';
      readonly id: RequestId;
      readonly method: string;
      readonly params: JsonValue | undefined;
    }
  | { readonly kind: 'notification' }
  /** Not a message: `status` is the HTTP status of the answer. */
  | { readonly kind: 'invalid'; readonly status: 200 | 400; readonly answer: string };

/** A request's id as JSON text, echoed as it came. */
export type RequestId = string;

export const rpcCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Legacy revisions only; later ones say -32602. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** A request that is answered with a JSON-RPC error. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  /** What a program reads of it. */
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A member of a result that is JSON text already. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Reads one JSON-RPC message. An object without `id` is a notification, whatever else it holds.
 * Numbers keep all their digits, because they may be arguments of a reducer.
 */
export function readMessage(text: string): Message {
  let parsed: JsonValue;
  try {
    parsed = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const words = `Failed to parse the request body as JSON: ${error.message}`;
    return invalid(400, noId, rpcCode.parseError, words);
  }
  if (!(parsed instanceof JsonObject)) {
    const what = Array.isArray(parsed) ? 'batches are not supported' : 'expected an object';
    return invalid(400, noId, rpcCode.invalidRequest, `invalid request: ${what}`);
  }
  return readObject(parsed);
}

const noId: RequestId = 'null';

function readObject(message: JsonObject): Message {
  const given = message.get('id');
  if (given === undefined) return { kind: 'notification' };
  const id = idText(given);
  if (id === undefined) {
    const words = 'invalid request: id must be a string or a number';
    return invalid(400, noId, rpcCode.invalidRequest, words);
  }
  if (message.get('jsonrpc') !== '2.0') {
    const words = 'invalid request: jsonrpc must be "2.0"';
    return invalid(400, id, rpcCode.invalidRequest, words);
  }
  const method = message.get('method');
  if (typeof method !== 'string') {
    return invalid(200, id, rpcCode.invalidRequest, 'invalid request: missing method');
  }
  return { kind: 'request', id, method, params: message.get('params') };
}

function idText(id: JsonValue): RequestId | undefined {
  if (id === null) return noId;
  if (id instanceof JsonNumber) return id.text;
  return typeof id === 'string' ? JSON.stringify(id) : undefined;
}

function invalid(status: 200 | 400, id: RequestId, code: number, message: string): Message {
  return { kind: 'invalid', status, answer: errorAnswer(id, new RpcError(code, message)) };
}

export function resultAnswer(id: RequestId, result: object): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${resultText(result)}}`;
}

function resultText(result: object): string {
  const members = Object.entries(result)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = value instanceof RawJson ? value.text : JSON.stringify(value);
      return `${JSON.stringify(name)}:${text}`;
    });
  return `{${members.join(',')}}`;
}

export function errorAnswer(id: RequestId, { code, message, data }: RpcError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`;
}
