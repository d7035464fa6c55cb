import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RequestCaller } from '../auth/caller.ts';
import type { RefusalBody } from '../database/outcome.ts';
import { openHeaders, varyHeaders } from '../protocol/response-headers.ts';
import { identityToHex } from '../values/identity.ts';

/** A response other than 101. */
export interface RefusedUpgrade {
  readonly status: number;
  readonly text: string;
  /** The caller, once it is known. */
  readonly caller?: RequestCaller | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** The code of the refusal, if it was one. */
  readonly code?: RefusalBody['code'];
}

/** Responds without an upgrade and ends the connection. */
export function refuse(stream: Duplex, { status, text, caller, headers }: RefusedUpgrade): void {
  const all = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    ...openHeaders,
    ...varyHeaders,
    ...headers,
    ...(caller === undefined ? {} : callerHeaders(caller)),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  stream.once('finish', () => stream.destroy());
  stream.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`);
}

/** Returns the identity headers of every response whose caller is known. */
export function callerHeaders({ identity, token }: RequestCaller) {
  return { 'spacetime-identity': identityToHex(identity), 'spacetime-identity-token': token };
}
