import { idText, noId, type RequestId } from '../../mcp-protocol/json-rpc.ts';
import { readMeta } from '../../mcp-protocol/meta.ts';
import { expectedHeaders } from '../../mcp-protocol/request-headers.ts';
import { rpcCode } from '../../mcp-protocol/rpc-error.ts';
import { modernMethods } from '../../mcp-protocol/versions.ts';
import { JsonObject, type JsonValue, member, parseJson } from '../../values/json.ts';
import { type BadLine, bad, type InputLine } from './input-lines.ts';

/** What a line of the client asks of the bridge. */
export type ClientMessage = BadLine | Answer | Cancel | Errand;

/** To a question of the service. */
export interface Answer {
  readonly kind: 'answer';
  readonly text: string;
}

/** Gives up a request that is under way. */
export interface Cancel {
  readonly kind: 'cancel';
  readonly text: string;
  /** `undefined`: of none. */
  readonly id: RequestId | undefined;
}

/** Something to be carried to the service, as it stands on its line. */
export interface Errand {
  readonly kind: 'errand';
  readonly text: string;
  /** Of the requests in it, which all want an answer: none for a notification. */
  readonly ids: readonly RequestId[];
  /** `undefined`: no single message. */
  readonly method: string | undefined;
  /** What a modern message has to repeat in its headers; `undefined`: a legacy one. */
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
  // Nothing is answered to a mere value.
  if (!Array.isArray(parsed)) return plainErrand(text, []);
  // Revision 2025-03-26 has batches; of an empty one the service says what is wrong with it.
  return plainErrand(text, parsed.length > 0 ? parsed.flatMap(idOf) : [noId]);
}

/** As something to be carried that is not answered itself. */
export function asErrand({ text }: Answer | Cancel): Errand {
  return plainErrand(text, []);
}

/** Of which no method is known. */
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

/** The id of a message that wants an answer; none of a notification. */
function idOf(message: JsonValue): readonly RequestId[] {
  if (!(message instanceof JsonObject)) return [noId];
  const id = message.get('id');
  // An id of a kind that is not allowed is answered as null.
  return id === undefined ? [] : [idText(id) ?? noId];
}
