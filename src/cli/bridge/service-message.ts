import { EventStreamReader, eventStreamType } from '../../mcp-protocol/event-stream.ts';

/** An answer of the service as it arrives. */
export interface ServiceAnswer extends AsyncIterable<Uint8Array> {
  readonly statusCode?: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * The messages of an answer, each as text: those of an event stream as they arrive, else the body.
 * Throws for an empty body, and for a message of more than `bytesMax` bytes.
 */
export async function* messagesOf(answer: ServiceAnswer, bytesMax: number): AsyncGenerator<string> {
  const [type = ''] = String(answer.headers['content-type']).split(';');
  if (type.trim().toLowerCase() !== eventStreamType) {
    yield await bodyOf(answer, bytesMax);
    return;
  }
  const events = new EventStreamReader(bytesMax);
  const decoder = new TextDecoder();
  for await (const chunk of chunksOf(answer)) {
    yield* events.push(decoder.decode(chunk, { stream: true }));
  }
}

async function bodyOf(answer: ServiceAnswer, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let byteCount = 0;
  for await (const chunk of chunksOf(answer)) {
    byteCount += chunk.length;
    if (byteCount > bytesMax) throw new Error(`the answer has more than ${bytesMax} bytes`);
    parts.push(chunk);
  }
  const text = Buffer.concat(parts).toString('utf8').trim();
  if (text !== '') return text;
  throw new Error(`the service answered with status ${answer.statusCode}`);
}

async function* chunksOf(answer: ServiceAnswer): AsyncGenerator<Uint8Array> {
  try {
    yield* answer;
  } catch (cause) {
    throw new Error('the connection to the service was lost before the answer ended', { cause });
  }
}

/** One message of the service, or a batch of them. */
export interface ServiceMessage {
  /** JSON text on one line. */
  readonly line: string;
  readonly messages: readonly JsonRpcMessage[];
}

/** The fields of a message that the bridge reads; its text is forwarded unchanged. */
export interface JsonRpcMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly result?: { readonly protocolVersion?: unknown } | null;
  readonly error?: unknown;
}

/**
 * Returns `undefined` for what is not a message, such as the answer of a proxy on the way. Nesting
 * is not limited: a row may be as deep as a value can be, and a message wraps it further.
 */
export function readServiceMessage(text: string): ServiceMessage | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const messages: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  if (!messages.every(isMessage)) return undefined;
  // Line breaks in JSON are only between values: inside strings they are escaped.
  return { line: text.replace(/[\r\n]+\s*/g, ' '), messages };
}

function isMessage(value: unknown): value is JsonRpcMessage {
  return typeof value === 'object' && value !== null && Reflect.get(value, 'jsonrpc') === '2.0';
}
