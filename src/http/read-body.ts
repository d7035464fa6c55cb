import type { IncomingMessage } from 'node:http';
import { empty, HttpError, text } from './exchange.ts';
import type { LoadShare } from './load.ts';

/**
 * Reads a request's body to its end; over `bytesMax` it stops and throws a 413. What comes is a
 * part of the load.
 */
export async function readBody(
  incoming: IncomingMessage,
  bytesMax: number,
  load: LoadShare,
): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > bytesMax) throw tooLong();
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of incoming) {
      length += chunk.length;
      if (length > bytesMax) throw tooLong();
      load.takeBytes(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof HttpError) throw error;
    // The client left in the middle, or sent what is no body: no fault of this service.
    throw new HttpError(empty(400, { connection: 'close' }));
  }
  const only = chunks.length === 1 ? chunks[0] : undefined;
  return only ?? Buffer.concat(chunks, length);
}

/**
 * Reads and forgets what a client still sends, so that it sees the answer instead of a reset. Gives
 * up after `bytesMax`: the connection is then closed by the server.
 */
export async function drainBody(incoming: IncomingMessage, bytesMax: number): Promise<void> {
  if (incoming.readableEnded || incoming.destroyed) return;
  let length = 0;
  try {
    for await (const chunk of incoming) {
      length += chunk.length;
      if (length > bytesMax) return;
    }
  } catch {
    // The client went away: there is nobody left to answer.
  }
}

function tooLong(): HttpError {
  const words = 'Failed to buffer the request body: length limit exceeded';
  return new HttpError(text(413, words, { connection: 'close' }));
}
