import type { IncomingMessage } from 'node:http';
import { limits } from '../limits.ts';
import { empty, HttpError, text } from './exchange.ts';

export interface BodyBounds {
  readonly bytesMax: number;
  /** Time without a new byte. */
  readonly idleMillisMax: number;
}

/**
 * Reads a request's body to its end. `take` is called with each byte count before the bytes are
 * kept. Throws `HttpError` with 413 for too many bytes, 408 if no bytes arrive for too long, 400 if
 * the client leaves early, and anything that `take` throws.
 */
export function readBody(
  incoming: IncomingMessage,
  { bytesMax, idleMillisMax }: BodyBounds,
  take: (count: number) => void,
): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(tooLong());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => refuse(tooSlow(idleMillisMax)), idleMillisMax);
    const stop = () => {
      clearTimeout(timer);
      incoming.off('data', keep).off('end', complete).off('close', leave).off('error', leave);
    };
    const refuse = (error: unknown) => {
      stop();
      reject(error);
    };
    const keep = (chunk: Buffer) => {
      timer.refresh();
      length += chunk.length;
      try {
        if (length > bytesMax) throw tooLong();
        take(chunk.length);
        chunks.push(chunk);
        if (length > limits.bodyBytesAtOnceMax) readOnLater(incoming);
      } catch (error) {
        refuse(error);
      }
    };
    const complete = () => {
      stop();
      const only = chunks.length === 1 ? chunks[0] : undefined;
      resolve(only ?? Buffer.concat(chunks, length));
    };
    // The client left early or sent an invalid body, which is not a fault of this service.
    const leave = () => refuse(new HttpError(empty(400, { connection: 'close' })));
    incoming.on('data', keep).on('end', complete).on('close', leave).on('error', leave);
    if (incoming.readableEnded) complete();
    else if (incoming.destroyed) leave();
  });
}

/**
 * Reads a request's body as it comes; what is read is not kept. Throws `HttpError` with the
 * statuses of `readBody`.
 */
export async function* readPieces(
  incoming: IncomingMessage,
  { bytesMax, idleMillisMax }: BodyBounds,
): AsyncGenerator<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > bytesMax) throw tooLong();
  let isLate = false;
  const wait = () =>
    setTimeout(() => {
      isLate = true;
      incoming.destroy();
    }, idleMillisMax);
  let timer = wait();
  let length = 0;
  try {
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) {
      // The time that the reader takes is not the client's.
      clearTimeout(timer);
      length += (piece as Buffer).length;
      if (length > bytesMax) throw tooLong();
      yield piece as Buffer;
      timer = wait();
    }
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw isLate ? tooSlow(idleMillisMax) : new HttpError(empty(400, { connection: 'close' }));
  } finally {
    clearTimeout(timer);
  }
}

/** Large bodies waiting for their turn: each round reads one piece of one body. */
const waiting: IncomingMessage[] = [];

/**
 * A nearby client sends faster than the service reads. A round of the event loop would read
 * megabytes from each such client, and new connections, accepted one per round, would wait for
 * seconds.
 */
function readOnLater(incoming: IncomingMessage): void {
  incoming.pause();
  waiting.push(incoming);
  if (waiting.length === 1) setImmediate(readOn);
}

function readOn(): void {
  waiting.shift()?.resume();
  if (waiting.length > 0) setImmediate(readOn);
}

/**
 * Reads and discards a little of what a client still sends after its request was answered. Returns
 * true if there may be more; the connection then has to end with the response (`connection:
 * close`). It stays open for a moment, unread, because a client whose connection is reset while it
 * sends may lose the response.
 */
export function forgetRest(incoming: IncomingMessage): boolean {
  const { headers, socket } = incoming;
  const declared = headers['content-length'];
  const hasBody = headers['transfer-encoding'] !== undefined || Number(declared ?? 0) > 0;
  if (!hasBody || incoming.readableEnded || incoming.destroyed) return false;
  let left = limits.refusedBodyBytesMax;
  incoming.on('error', () => undefined);
  incoming.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) incoming.pause();
  });
  incoming.resume();
  if (declared !== undefined && Number(declared) <= limits.refusedBodyBytesMax) return false;
  // Node calls this when the response has been written.
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), limits.lingerMillisMax);
    socket.once('close', () => clearTimeout(timer));
  };
  return true;
}

export function tooLong(): HttpError {
  const words = 'Failed to buffer the request body: length limit exceeded';
  return new HttpError(text(413, words, { connection: 'close' }));
}

export function tooSlow(millis: number): HttpError {
  const words = `Nothing more of the request body came for ${millis / 1000} s`;
  return new HttpError(text(408, words, { connection: 'close' }));
}
