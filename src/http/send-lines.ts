import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { limits } from '../limits.ts';
import type { HeaderLine, Reply } from './exchange.ts';

/** Lists, to which the service adds its own entries. */
const listHeaders = new Set(['vary', 'access-control-expose-headers']);

/** Statuses whose responses have no body. */
const bodilessStatuses = new Set([204, 205, 304]);

/**
 * Sends a response with header lines of its own, in their order and with repeated names. Its
 * `headers` replace lines of their names. A large body goes in pieces, as the client takes them.
 */
export function sendLines(
  outgoing: ServerResponse,
  { status, headers = {}, lines = [], body, passed }: Reply,
): void {
  const kept = lines.filter(([name]) => isKept(name.toLowerCase(), headers));
  if (passed !== undefined) {
    outgoing.writeHead(status, [...kept, ...Object.entries(headers)].flat());
    // One that breaks off breaks off here as well: a part is not the whole.
    pipeline(passed, outgoing, () => undefined);
    return;
  }
  const bytes = body instanceof Uint8Array && !bodilessStatuses.has(status) ? body : none;
  const hasLength = status !== 204 && status !== 304 && headers['content-length'] === undefined;
  const length: HeaderLine[] = hasLength ? [['content-length', String(bytes.length)]] : [];
  outgoing.writeHead(status, [...kept, ...Object.entries(headers), ...length].flat());
  if (bytes.length <= limits.handlerAnswerPieceBytes) {
    outgoing.end(bytes);
    return;
  }
  sendPieces(outgoing, bytes, 0);
}

const none = new Uint8Array(0);

function isKept(name: string, headers: Readonly<Record<string, string>>): boolean {
  return headers[name] === undefined || listHeaders.has(name);
}

/** Stops where the client is slower, and goes on when it has taken what was sent. */
function sendPieces(outgoing: ServerResponse, bytes: Uint8Array, from: number): void {
  const { handlerAnswerPieceBytes: size } = limits;
  for (let at = from; at < bytes.length && !outgoing.destroyed; at += size) {
    if (outgoing.write(bytes.subarray(at, at + size))) continue;
    outgoing.once('drain', () => sendPieces(outgoing, bytes, at + size));
    return;
  }
  if (!outgoing.destroyed) outgoing.end();
}
