import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits } from '../limits.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';
import { ClusterError } from './cluster-error.ts';
import { hintHeaders, type LeaderHint } from './leader-hint.ts';
import type { LinkIdentity } from './link-tls.ts';
import {
  decodeForwarded,
  type ForwardedHead,
  forwardHeader,
  rememberForwarded,
} from './settled-caller.ts';

export interface LinkServerOptions {
  readonly identity: LinkIdentity;
  readonly listen: { readonly host: string; readonly port: number };
  readonly boot: BootId;
  /** Whether this host is the one that a request is for; if not, which one it may be. */
  readonly isHere: (head: ForwardedHead) => boolean;
  /** Resolves when this host knows what the sender knew; `undefined`: it does already. */
  readonly untilKnown?: (head: ForwardedHead) => Promise<unknown> | undefined;
  readonly hintFor: (head: ForwardedHead) => LeaderHint | undefined;
  /** Answers a request that another host has forwarded, and whose caller it has settled. */
  readonly onRequest: (
    request: IncomingMessage,
    response: ServerResponse,
    head: ForwardedHead,
  ) => void;
  readonly onUpgrade: (
    request: IncomingMessage,
    stream: Duplex,
    first: Buffer,
    head: ForwardedHead,
  ) => void;
  /** Answers what hosts ask each other, below `ownPath`; `undefined`: there is no such thing. */
  readonly onAsk: (path: string, body: Uint8Array) => Promise<unknown>;
}

/** Below it are the paths for hosts alone. */
export const ownPath = '/cluster/';
export const bootHeader = 'reducerdb-boot';

/** Where other hosts reach this one. Nobody without the cluster secret gets further than TLS. */
export class LinkServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Rejects with `ClusterError` if the port is taken. */
  static async listen(options: LinkServerOptions): Promise<LinkServer> {
    const server = createServer({
      ...options.identity.forServer,
      handshakeTimeout: limits.linkConnectMillisMax,
      keepAliveTimeout: 2 * limits.linkIdleMillisMax,
      // The host that a client is connected with bounds its time.
      requestTimeout: 0,
      maxHeaderSize: limits.linkHeaderBytesMax,
    });
    server.maxConnections = limits.linkConnectionsMax;
    server.on('request', (request, response) => answer(request, response, options));
    // A body that would be streamed comes only to the host that wants it.
    server.on('checkContinue', (request, response) => answer(request, response, options));
    server.on('upgrade', (request: IncomingMessage, stream: Duplex, first: Buffer) => {
      stream.on('error', () => stream.destroy());
      const head = takeHead(request);
      if (head === undefined || isTooFar(head)) stream.destroy();
      else if (!options.isHere(head)) stream.end(notHereText(options.hintFor(head)));
      else {
        const known = options.untilKnown?.(head) ?? Promise.resolve();
        void known.then(() => options.onUpgrade(request, stream, first, head));
      }
    });
    const { host, port } = options.listen;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        const isTaken = error.code === 'EADDRINUSE';
        const text = `Port ${port} is already in use. Choose another one with --cluster-listen.`;
        reject(isTaken ? new ClusterError(text, { cause: error }) : error);
      });
      server.listen({ host, port }, resolve);
    });
    return new LinkServer(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { boot, isHere, hintFor, untilKnown, onAsk, onRequest }: LinkServerOptions,
): void {
  const path = request.url ?? '';
  if (path.startsWith(ownPath)) {
    response.setHeader(bootHeader, bigintToHex(boot, 32));
    void tell(response, async () => onAsk(path.slice(ownPath.length), await bodyOf(request)));
    return;
  }
  const head = takeHead(request);
  if (head === undefined) end(response, 400, 'this request was not forwarded by a host');
  else if (isTooFar(head)) end(response, 508, 'hosts forward this request in a circle');
  else if (!isHere(head)) {
    response.writeHead(421, hintHeaders(hintFor(head))).end();
  } else {
    if (request.headers.expect !== undefined) response.writeContinue();
    const known = untilKnown?.(head);
    if (known === undefined) onRequest(request, response, head);
    else void known.then(() => onRequest(request, response, head));
  }
}

function notHereText(hint: LeaderHint | undefined): string {
  const lines = Object.entries(hintHeaders(hint)).map(([name, value]) => `${name}: ${value}\r\n`);
  const own = 'connection: close\r\ncontent-length: 0\r\n';
  return `HTTP/1.1 421 Misdirected Request\r\n${own}${lines.join('')}\r\n`;
}

/** What another host sends with a question. */
async function bodyOf(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limits.linkAskBytesMax) throw new Error('the question is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function tell(response: ServerResponse, ask: () => Promise<unknown>): Promise<void> {
  try {
    const found = await ask();
    if (found === undefined) end(response, 404, 'there is no such thing');
    else end(response, 200, JSON.stringify(found));
  } catch {
    end(response, 500, 'internal error');
  }
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status).end(text);
}

/** Reads the head, and takes it off the request: what is behind this room does not see it. */
function takeHead(request: IncomingMessage): ForwardedHead | undefined {
  const { headers, rawHeaders } = request;
  const text = headers[forwardHeader];
  const head = typeof text === 'string' ? decodeForwarded(text) : undefined;
  if (head === undefined) return undefined;
  delete headers[forwardHeader];
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]?.toLowerCase() === forwardHeader) rawHeaders.splice(at, 2);
  }
  rememberForwarded(request, head);
  return head;
}

function isTooFar({ hops }: ForwardedHead): boolean {
  return hops > limits.forwardHopsMax;
}
