import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits } from '../limits.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';
import { ClusterError } from './cluster-error.ts';
import type { LinkIdentity } from './link-tls.ts';
import { decodeForwarded, type ForwardedHead, forwardHeader } from './settled-caller.ts';

export interface LinkServerOptions {
  readonly identity: LinkIdentity;
  readonly listen: { readonly host: string; readonly port: number };
  readonly boot: BootId;
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
  readonly onAsk: (path: string) => Promise<unknown>;
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
      maxHeaderSize: limits.linkHeaderBytesMax,
    });
    server.maxConnections = limits.linkConnectionsMax;
    server.on('request', (request, response) => answer(request, response, options));
    server.on('upgrade', (request: IncomingMessage, stream: Duplex, first: Buffer) => {
      stream.on('error', () => stream.destroy());
      const head = headOf(request);
      if (head === undefined || isTooFar(head)) stream.destroy();
      else options.onUpgrade(request, stream, first, head);
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
  { boot, onAsk, onRequest }: LinkServerOptions,
): void {
  const path = request.url ?? '';
  if (path.startsWith(ownPath)) {
    response.setHeader(bootHeader, bigintToHex(boot, 32));
    void tell(response, () => onAsk(path.slice(ownPath.length)));
    return;
  }
  const head = headOf(request);
  if (head === undefined) end(response, 400, 'this request was not forwarded by a host');
  else if (isTooFar(head)) end(response, 508, 'hosts forward this request in a circle');
  else onRequest(request, response, head);
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

function headOf({ headers }: IncomingMessage): ForwardedHead | undefined {
  const text = headers[forwardHeader];
  return typeof text === 'string' ? decodeForwarded(text) : undefined;
}

function isTooFar({ hops }: ForwardedHead): boolean {
  return hops > limits.forwardHopsMax;
}
