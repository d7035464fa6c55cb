import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits } from '../limits.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';
import { ClusterError } from './cluster-error.ts';
import { hintHeaders, type LeaderHint } from './leader-hint.ts';
import type { LinkIdentity } from './link-tls.ts';
import { Relays } from './relays.ts';
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
  /** Resolves to true when this host has become it; `undefined`: it will not. */
  readonly untilHere?: (head: ForwardedHead) => Promise<boolean> | undefined;
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
  /** Another host wants the entries of logs that this one leads; see `stream-frames.ts`. */
  readonly onStream?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Another host has clients of databases that this one leads; see `line-frames.ts`. */
  readonly onLine?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers what hosts ask each other, below `ownPath`; `undefined`: there is no such thing. */
  readonly onAsk: (path: string, body: Uint8Array) => Promise<unknown>;
}

/** Below it are the paths for hosts alone. */
export const ownPath = '/cluster/';
export const bootHeader = 'reducerdb-boot';
/** A request that goes on, and whose answer does: entries of the logs that its sender wants. */
export const streamPath = 'stream';
/** The same, about clients of its sender: see `line-frames.ts`. */
export const linePath = 'line';
/** A question that is answered late: who asks sees at once when this process ends. */
export const holdPath = 'hold';

/** Where other hosts reach this one. Nobody without the cluster secret gets further than TLS. */
export class LinkServer {
  /** WebSockets that other hosts relay to this one. */
  readonly relays: Relays;
  readonly #server: Server;
  /** Also those that have not proved yet who they are, which HTTP knows nothing of. */
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, relays: Relays) {
    this.#server = server;
    this.relays = relays;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
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
    const relays = new Relays();
    server.on('upgrade', (request: IncomingMessage, stream: Duplex, first: Buffer) => {
      stream.on('error', () => stream.destroy());
      const head = takeHead(request);
      if (head === undefined || isTooFar(head)) stream.destroy();
      else {
        whenHere(head, options, {
          here: () => {
            relays.add(head.sender, stream);
            options.onUpgrade(request, stream, first, head);
          },
          elsewhere: () => stream.end(notHereText(options.hintFor(head))),
        });
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
    return new LinkServer(server, relays);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends what is connected, by a secret that was dropped; what is under way has a moment. */
  endConnections(): void {
    this.#server.closeIdleConnections();
    const old = [...this.#sockets];
    const end = () => {
      for (const socket of old) socket.destroy();
    };
    setTimeout(end, limits.linkEndMillis).unref();
  }

  async close(): Promise<void> {
    this.relays.close();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: LinkServerOptions,
): void {
  const { boot, hintFor, onAsk, onLine, onRequest, onStream } = options;
  const path = request.url ?? '';
  if (path.startsWith(ownPath)) {
    response.setHeader(bootHeader, bigintToHex(boot, 32));
    if (request.headers.expect !== undefined) response.writeContinue();
    if (path === ownPath + holdPath) hold(response);
    else if (path === ownPath + streamPath && onStream !== undefined) onStream(request, response);
    else if (path === ownPath + linePath && onLine !== undefined) onLine(request, response);
    else void tell(response, async () => onAsk(path.slice(ownPath.length), await bodyOf(request)));
    return;
  }
  const head = takeHead(request);
  if (head === undefined) end(response, 400, 'this request was not forwarded by a host');
  else if (isTooFar(head)) end(response, 508, 'hosts forward this request in a circle');
  else {
    whenHere(head, options, {
      here: () => {
        if (request.headers.expect !== undefined) {
          response.writeContinue();
          dropHeader(request, 'expect');
        }
        onRequest(request, response, head);
      },
      elsewhere: () => void response.writeHead(421, hintHeaders(hintFor(head))).end(),
    });
  }
}

/** Once this host leads, if it will, and knows what the sender knew. */
function whenHere(
  head: ForwardedHead,
  { isHere, untilHere, untilKnown }: LinkServerOptions,
  { here, elsewhere }: { readonly here: () => void; readonly elsewhere: () => void },
): void {
  if (!isHere(head)) {
    const soon = untilHere?.(head);
    if (soon === undefined) elsewhere();
    else void soon.then((isHereNow) => (isHereNow ? known() : elsewhere()));
    return;
  }
  known();

  function known(): void {
    const news = untilKnown?.(head);
    if (news === undefined) here();
    else void news.then(here);
  }
}

function hold(response: ServerResponse): void {
  const timer = setTimeout(() => end(response, 200, '{}'), limits.linkHoldMillis).unref();
  response.once('close', () => clearTimeout(timer));
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
  const text = request.headers[forwardHeader];
  const head = typeof text === 'string' ? decodeForwarded(text) : undefined;
  if (head === undefined) return undefined;
  dropHeader(request, forwardHeader);
  rememberForwarded(request, head);
  return head;
}

function dropHeader({ headers, rawHeaders }: IncomingMessage, name: string): void {
  delete headers[name];
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]?.toLowerCase() === name) rawHeaders.splice(at, 2);
  }
}

function isTooFar({ hops }: ForwardedHead): boolean {
  return hops > limits.forwardHopsMax;
}
