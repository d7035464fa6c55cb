import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { limits } from '../limits.ts';
import { JsonNumber, JsonObject, type JsonValue, parseJson } from '../values/json.ts';

export interface Bridge {
  readonly input: Readable;
  /** Writes one line to the client. */
  readonly write: (line: string) => void;
  /** Sends one message to the service. */
  readonly send: (body: string, signal: AbortSignal) => Promise<Response>;
}

/**
 * Carries MCP messages between standard input and output and a service: one JSON-RPC message a
 * line.
 *
 * Requests run side by side, at most `limits.bridgeRequestsMax`, and are answered as they finish. A
 * message that fails is answered with a JSON-RPC error and the next one is taken: a service that
 * restarts in between is met again. Resolves at the end of input, when all answers are written.
 */
export async function bridge({ input, write, send }: Bridge): Promise<void> {
  const running = new Set<Promise<void>>();
  const requests = new Map<string, AbortController>();
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === '') continue;
    const message = readLine(line);
    if (message.kind === 'bad') {
      write(errorLine('null', -32700, message.text));
      continue;
    }
    if (message.cancels !== undefined) requests.get(message.cancels)?.abort();
    while (running.size >= limits.bridgeRequestsMax) await Promise.race(running);
    const work = carry(line, message.id).finally(() => running.delete(work));
    running.add(work);
  }
  await Promise.all(running);

  async function carry(line: string, id: string | undefined): Promise<void> {
    const controller = new AbortController();
    if (id !== undefined) requests.set(id, controller);
    try {
      const answer = await send(line, controller.signal);
      const text = await answer.text();
      if (id !== undefined) write(answerLine(answer.status, text, id));
    } catch (error) {
      if (id === undefined || controller.signal.aborted) return;
      write(errorLine(id, -32603, error instanceof Error ? error.message : String(error)));
    } finally {
      if (id !== undefined) requests.delete(id);
    }
  }
}

type Line =
  | { readonly kind: 'bad'; readonly text: string }
  | {
      readonly kind: 'message';
      /** JSON text of the request's id; `undefined` for a notification. */
      readonly id: string | undefined;
      /** JSON text of the id of a request that this notification cancels. */
      readonly cancels: string | undefined;
    };

function readLine(line: string): Line {
  try {
    const message = parseJson(line);
    if (!(message instanceof JsonObject))
      return { kind: 'message', id: 'null', cancels: undefined };
    const params = message.get('params');
    const isCancel = message.get('method') === 'notifications/cancelled';
    const cancelled = params instanceof JsonObject ? params.get('requestId') : undefined;
    return {
      kind: 'message',
      id: idText(message.get('id')),
      cancels: isCancel ? idText(cancelled) : undefined,
    };
  } catch (error) {
    return { kind: 'bad', text: `parse error: ${(error as Error).message}` };
  }
}

function idText(id: JsonValue | undefined): string | undefined {
  if (id === undefined) return undefined;
  if (id instanceof JsonNumber) return id.text;
  return typeof id === 'string' ? JSON.stringify(id) : 'null';
}

/** The service's answer on one line, or an error that carries what it said instead. */
function answerLine(status: number, text: string, id: string): string {
  // A line break in JSON stands between values: inside of strings it is escaped.
  if (isAnswer(text)) return text.replace(/[\r\n]+\s*/g, ' ');
  const words = text.trim() === '' ? `the service answered with status ${status}` : text;
  return errorLine(id, -32603, words);
}

/** Something on the way, such as a proxy, may answer with JSON that is no message. */
function isAnswer(text: string): boolean {
  try {
    const answer = parseJson(text);
    return answer instanceof JsonObject && answer.get('jsonrpc') === '2.0';
  } catch {
    return false;
  }
}

function errorLine(id: string, code: number, message: string): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}`;
}
