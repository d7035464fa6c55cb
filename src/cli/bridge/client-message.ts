import { idText, noId, type RequestId } from '../../mcp-protocol/json-rpc.ts';
import { readMeta } from '../../mcp-protocol/meta.ts';
import { expectedHeaders } from '../../mcp-protocol/request-headers.ts';
import { rpcCode } from '../../mcp-protocol/rpc-error.ts';
import { modernMethods } from '../../mcp-protocol/versions.ts';
import { JsonObject, type JsonValue, member, parseJson } from '../../values/json.ts';
import { type BadLine, bad, type InputLine } from './input-lines.ts';

/** A line of the client, by what the bridge must do with it. */
export type ClientMessage = BadLine | Answer | Cancel | Errand;

/** Answers a request of the service. */
export interface Answer {
  readonly kind: 'answer';
  readonly text: string;
}

/** Cancels a request that is under way. */
export interface Cancel {
  readonly kind: 'cancel';
  readonly text: string;
  /** `undefined`: it names no request. */
  readonly id: RequestId | undefined;
}

/** A line to be forwarded to the service unchanged. */
export interface Errand {
  readonly kind: 'errand';
  readonly text: string;
  /** Ids of the requests in it, which all expect an answer; empty for a notification. */
  readonly ids: readonly RequestId[];
  /** `undefined`: not a single message. */
  readonly method: string | undefined;
  /** Fields that a modern message must repeat in its headers; `undefined` for a legacy message. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

export function readClientMessage(line: InputLine): ClientMessage {
  if (line.kind === 'bad') return line;
  const { text } = line;
  let parsed: JsonValue;
  try {
    parsed = parseJson(text);
  } catch (error) {
    return bad(rpcCode.parseError, `parse error: ${(error as Error).message}`);
  }
  if (parsed instanceof JsonObject) return single(text, parsed);
  // A value that is neither object nor array gets no answer.
  if (!Array.isArray(parsed)) return plainErrand(text, []);
  // Revision 2025-03-26 has batches; the service rejects an empty one.
  return plainErrand(text, parsed.length > 0 ? parsed.flatMap(idOf) : [noId]);
}

/** An errand that expects no answer of its own. */
export function asErrand({ text }: Answer | Cancel): Errand {
  return plainErrand(text, []);
}

/** An errand without a known method. */
function plainErrand(text: string, ids: readonly RequestId[]): Errand {
  return { kind: 'errand', text, ids, method: undefined, headers: undefined };
}

function single(text: string, message: JsonObject): ClientMessage {
  const method = message.get('method');
  const params = message.get('params');
  const isSettled = message.get('result') !== undefined || message.get('error') !== undefined;
  if (method === undefined && isSettled) return { kind: 'answer', text };
  if (method === 'notifications/cancelled') {
    return { kind: 'cancel', text, id: idText(member(params, 'requestId')) };
  }
  const ids = idOf(message);
  if (typeof method !== 'string') return plainErrand(text, ids);
  const isModern =
    modernMethods.includes(method) || readMeta(params, 'protocolVersion') !== undefined;
  const headers = isModern ? expectedHeaders({ method, params }) : undefined;
  return { kind: 'errand', text, ids, method, headers };
}

/** The id of a message that expects an answer; empty for a notification. */
function idOf(message: JsonValue): readonly RequestId[] {
  if (!(message instanceof JsonObject)) return [noId];
  const id = message.get('id');
  // An id of an invalid type is answered as null.
  return id === undefined ? [] : [idText(id) ?? noId];
}
