import type { IncomingMessage } from 'node:http';
import { limits } from '../../limits.ts';
import type { HttpHeader, HttpResponse } from '../../protocol/http-abi.ts';
import type { BodyBytes } from './database-traffic.ts';

export function headOf({ rawHeaders, httpVersion, statusCode = 0 }: IncomingMessage): HttpResponse {
  const headers: HttpHeader[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    headers.push({ name: name.toLowerCase(), value: bytesOf(value) });
  }
  return { headers, version: httpVersion === '1.0' ? 'HTTP/1.0' : 'HTTP/1.1', code: statusCode };
}

/** The platform reads each byte of a header as one character. */
function bytesOf(value: string): Uint8Array {
  return Uint8Array.from(Buffer.from(value, 'latin1'));
}

/**
 * Reads a whole body as it comes: it is never decompressed, so its size on the wire is its size in
 * memory. Rejects, and closes the connection, if it is too large.
 */
export function readBody(response: IncomingMessage, bytes: BodyBytes): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    // Several times cheaper than an iterator, of which each answer would have one.
    response.on('data', (chunk: Buffer) => {
      try {
        length += chunk.length;
        if (length > limits.outboundBodyBytesMax) {
          throw new Error(`the body is larger than ${limits.outboundBodyBytesMax / 2 ** 20} MiB`);
        }
        bytes.take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        response.destroy();
        reject(error);
      }
    });
    response.on('end', () => resolve(joined(chunks, length)));
    response.on('error', (error) => reject(saidBetter(error)));
    // Also after the end, where it says nothing new.
    response.on('close', () => reject(endedEarly()));
  });
}

function joined(chunks: readonly Buffer[], length: number): Uint8Array {
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

/** The platform says `aborted` for whatever ends a response early, its own checks included. */
function saidBetter(error: Error): Error {
  return error.message === 'aborted' ? endedEarly() : error;
}

function endedEarly(): Error {
  return new Error('the connection ended before the answer was complete');
}
