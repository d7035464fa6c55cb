import type { Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { type ClientAddresses, networkOf } from '../auth/client-address.ts';
import { limits } from '../limits.ts';
import { ConfigurationError, type ServiceConfiguration } from './configuration.ts';
import type { DescriptorReserve } from './descriptor-reserve.ts';
import { answerPlainHttp, followTls, readTls } from './tls.ts';

export type Handler = (request: Request, bindings: object) => Response | Promise<Response>;

export interface ListenerOptions {
  readonly configuration: ServiceConfiguration;
  readonly addresses: ClientAddresses;
  readonly handler: Handler;
  readonly descriptors: DescriptorReserve;
  /** Called when a new certificate is unusable, and when clients are rejected for lack of room. */
  readonly report: (level: 'warn' | 'error', message: string) => void;
}

/** Binds the port. Rejects with `ConfigurationError` if it is in use or the TLS files are bad. */
export async function listen(options: ListenerOptions): Promise<Server> {
  const { configuration } = options;
  const { host, port } = configuration.listen;
  const server = makeServer(options);
  server.maxConnections = configuration.bounds.connectionsMax;
  boundConnections(server, options);
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, port)));
    server.listen({ port, host, backlog: limits.backlogMax }, () => resolve(server));
  });
}

function makeServer({ configuration, handler, report }: ListenerOptions): Server {
  const { tls } = configuration;
  // `http` itself discards bodies that no endpoint reads.
  const adaptor = { fetch: handler, overrideGlobalObjects: false, autoCleanupIncoming: false };
  const bounds = requestBounds(configuration);
  if (tls === undefined) {
    return createAdaptorServer({ ...adaptor, serverOptions: bounds }) as Server;
  }
  const server = createAdaptorServer({
    ...adaptor,
    createServer: createTlsServer,
    serverOptions: { ...bounds, ...readTls(tls), handshakeTimeout: bounds.headersTimeout },
  }) as unknown as TlsServer;
  followTls(server, tls, (message) => report('error', message));
  answerPlainHttp(server);
  return server as unknown as Server;
}

/**
 * Checks often for slow requests, because idle connections take the place of others. A TLS
 * handshake has the same timeout as the headers after it; Node's default is two minutes.
 */
function requestBounds({ bounds }: ServiceConfiguration) {
  const { headerMillisMax, requestMillisMax } = bounds;
  return {
    headersTimeout: Math.min(headerMillisMax, requestMillisMax),
    requestTimeout: requestMillisMax,
    connectionsCheckingInterval: limits.slowRequestLookMillis,
    keepAliveTimeout: limits.idleConnectionMillisMax,
    maxHeaderSize: limits.headerBytesMax,
  };
}

/**
 * Closes idle connections when few are left: strangers from many addresses could otherwise block
 * others with connections that cost nothing. Returns a function to call with the open count; small
 * bounds keep no reserve.
 */
function idleEnder(server: Server, connectionsMax: number): (openCount: number) => void {
  const kept = Math.floor(connectionsMax / limits.connectionsKeptFreePart);
  let lookedMillis = Number.NEGATIVE_INFINITY;
  return (openCount) => {
    if (openCount <= connectionsMax - kept || kept === 0) return;
    const now = performance.now();
    if (now - lookedMillis < limits.idleLookMillis) return;
    lookedMillis = now;
    server.closeIdleConnections();
  };
}

/**
 * Bounds connections per address. Those of a trusted proxy belong to many clients, and the proxy
 * must bound them.
 */
function boundConnections(
  server: Server,
  { configuration, addresses, descriptors, report }: ListenerOptions,
): void {
  const { rates, bounds } = configuration;
  const tellRefused = atMostOnceIn(limits.descriptorReportMillis, () =>
    report('warn', descriptors.refusal),
  );
  const countMax = rates.addressConnections;
  const open = new Map<string, number>();
  const known = new WeakSet<Socket>();
  const endIdle = idleEnder(server, bounds.connectionsMax);
  let openCount = 0;
  server.on('connection', (socket: Socket) => {
    // A connection that is parsed again is not a new one: see `upgrades.ts`.
    if (known.has(socket)) return;
    known.add(socket);
    // The platform's bound applies to each listener, and there may be several.
    if (openCount >= bounds.connectionsMax) {
      socket.destroy();
      return;
    }
    if (!descriptors.take()) {
      socket.destroy();
      tellRefused();
      return;
    }
    openCount += 1;
    endIdle(openCount);
    socket.once('close', () => {
      openCount -= 1;
    });
    if (countMax === Number.POSITIVE_INFINITY) return;
    const remoteAddress = socket.remoteAddress ?? '';
    if (addresses.isProxy(remoteAddress)) return;
    const address = networkOf(addresses.of({ remoteAddress, forwardedFor: undefined }));
    const count = (open.get(address) ?? 0) + 1;
    if (count > countMax) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}

function atMostOnceIn(millis: number, act: () => void): () => void {
  let actedAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - actedAt < millis) return;
    actedAt = now;
    act();
  };
}

function listenError(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code !== 'EADDRINUSE') return error;
  return new ConfigurationError(
    `Port ${port} is already in use. Please free up the port or specify a different port with ` +
      '--listen-addr.',
  );
}
