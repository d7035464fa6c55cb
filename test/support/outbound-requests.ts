import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createRawServer, type Socket } from 'node:net';
import type { Sender } from '../../src/host/outbound/outbound.ts';
import { OutboundHttp, type OutboundOptions } from '../../src/host/outbound/outbound-http.ts';
import { type OutboundRules, parseAllowedPlace } from '../../src/host/outbound/outbound-rules.ts';
import type { FetchOutcome, RedirectMode } from '../../src/module/lane.ts';
import { decodeHttpResponse, type HttpResponse } from '../../src/protocol/http-abi.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';

export const shop = databaseIdentity(1n);
export const blog = databaseIdentity(2n);

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));

export interface Wanted {
  readonly method?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Uint8Array;
  readonly millis?: number;
  readonly database?: DatabaseIdentity;
  readonly signal?: AbortSignal;
  readonly redirect?: RedirectMode;
}

/** As a module gets it. */
export type HttpOutcome =
  | Extract<FetchOutcome, { kind: 'failed' }>
  | (Omit<Extract<FetchOutcome, { kind: 'response' }>, 'head'> & { readonly head: HttpResponse });

/** Sends requests of modules by way of `sender`. */
export class ModuleRequests {
  protected readonly senderOf: (database: DatabaseIdentity) => Sender;

  constructor(senderOf: (database: DatabaseIdentity) => Sender) {
    this.senderOf = senderOf;
  }

  async fetch(uri: string, wanted: Wanted = {}): Promise<HttpOutcome> {
    const { method = 'GET', headers = [], body = '', millis, database = shop } = wanted;
    const head = {
      method,
      uri,
      headers: headers.map(([name, value]) => ({ name, value: bytesOf(value) })),
      timeoutMicros: millis === undefined ? undefined : BigInt(millis) * 1_000n,
      version: 'HTTP/1.1',
    } as const;
    const bytes = typeof body === 'string' ? bytesOf(body) : body;
    const request = { head, body: bytes, redirect: wanted.redirect ?? 'follow' };
    const { signal = new AbortController().signal } = wanted;
    const outcome = await this.senderOf(database).fetch(database, request, signal);
    if (outcome.kind === 'failed') return outcome;
    return { ...outcome, head: decodeHttpResponse(outcome.head) };
  }

  /** Status and body of a response, or the text of a failure. */
  async said(uri: string, wanted?: Wanted): Promise<string> {
    const outcome = await this.fetch(uri, wanted);
    if (outcome.kind === 'failed') return outcome.message;
    return `${outcome.head.code} ${Buffer.from(outcome.body).toString('latin1')}`;
  }
}

/** Requests that are sent from this thread, and what was refused of them. */
export class Requests extends ModuleRequests {
  readonly outbound: OutboundHttp;
  readonly refused: (readonly [DatabaseIdentity, string])[] = [];

  /** `allow`: the allow-list; absent: public addresses. */
  constructor(allow?: readonly string[], more: Partial<OutboundOptions> = {}) {
    super(() => this.outbound);
    this.outbound = new OutboundHttp({
      rules: rulesOf(allow),
      namesOf: (database) => (database === shop ? ['shop'] : ['blog']),
      onRefused: (database, host) => this.refused.push([database, host]),
      ...more,
    });
  }
}

/** Absent: public addresses. */
export function rulesOf(allow: readonly string[] | undefined): OutboundRules {
  const mode = allow === undefined ? 'public' : 'list';
  return { mode, allow: (allow ?? []).map(parseAllowedPlace) };
}

/** A server on loopback; `sockets` are its connections, in order. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly sockets: Socket[];
  stop(): void;
}

export function startServer(answer: RequestListener): Promise<TestServer> {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer);
  return started(server, () => server.closeAllConnections());
}

/** Answers with bytes of its own. */
export function startRawServer(answer: (socket: Socket, count: number) => void) {
  let count = 0;
  const server = createRawServer((socket) => {
    socket.on('error', () => undefined);
    count += 1;
    answer(socket, count);
  });
  return started(server, () => undefined);
}

async function started(
  server: ReturnType<typeof createRawServer>,
  end: () => void,
): Promise<TestServer> {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.close();
    end();
    for (const socket of sockets) socket.destroy();
  };
  return { url: `http://127.0.0.1:${port}`, port, sockets, stop };
}
