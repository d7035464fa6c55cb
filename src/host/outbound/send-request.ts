import type { LookupAddress } from 'node:dns';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { limits } from '../../limits.ts';
import type { HttpHeader } from '../../protocol/http-abi.ts';
import type { KeptConnections } from './kept-connections.ts';
import type { NameLookup } from './name-lookup.ts';
import type { Gate } from './outbound-rules.ts';

/** One request to one server; a redirect makes another one. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: readonly HttpHeader[];
  readonly body: Uint8Array;
}

export interface HopContext {
  readonly gate: Gate;
  readonly connections: KeptConnections;
  readonly names: NameLookup;
  readonly signal: AbortSignal;
}

/** No address of the host is allowed. The text does not name any: it may be of an inner network. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
}

/**
 * Sends one request and resolves with the head of its response, whose body is still to be read.
 * The address that is connected to has passed the gate, and so has that of a kept connection.
 */
export async function sendRequest(hop: Hop, context: HopContext): Promise<IncomingMessage> {
  const { gate } = context;
  const host = hostOf(hop.url);
  if (!gate.isOpen) throw new AddressRefusedError(gate.refusal);
  // A literal address is never looked up, so it is checked here.
  if (isIP(host) !== 0 && !gate.allows(host)) throw new AddressRefusedError(gate.refusal);
  try {
    return await ask(hop, context, context.connections.agentFor(hop.url));
  } catch (error) {
    if (!(error instanceof StaleConnectionError) || !isRepeatable(hop.method)) throw error;
    return await ask(hop, context, false);
  }
}

/** The host of a URL, an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** The server closed a kept connection at the moment at which it was used again. */
class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';
}

function isRepeatable(method: string): boolean {
  return ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'].includes(method);
}

function ask(
  hop: Hop,
  { gate, names, signal }: HopContext,
  agent: ReturnType<KeptConnections['agentFor']> | false,
): Promise<IncomingMessage> {
  const { url, method, body } = hop;
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const asked = request(url, {
      method,
      agent,
      lookup: guardedLookup(gate, names),
      maxHeaderSize: limits.outboundHeadBytesMax,
    });
    const abort = () => asked.destroy(signal.reason);
    // As the option `signal` would, at a fraction of its cost.
    signal.addEventListener('abort', abort, { once: true });
    asked.once('response', resolve);
    // Stays attached, because an unhandled error would end the process.
    asked.on('error', (error) => {
      const isReset = 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      const isStale = asked.reusedSocket && isReset;
      reject(isStale ? new StaleConnectionError(error.message, { cause: error.cause }) : error);
    });
    // Without a response, as after 101, no error is emitted either.
    asked.once('close', () => {
      signal.removeEventListener('abort', abort);
      reject(new Error('connection closed without an answer'));
    });
    asked.once('socket', (socket) => checkPeer(socket, asked, gate));
    try {
      addHeaders(asked, hop);
      asked.end(body.length === 0 ? undefined : body);
    } catch (error) {
      asked.destroy();
      reject(error);
    }
  });
}

/** Headers that belong to the connection, or say what the client itself decides. */
const ownHeaders = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Throws where a name or a value is not one. */
function addHeaders(asked: ClientRequest, { method, headers, body }: Hop): void {
  for (const { name, value } of headers) {
    if (ownHeaders.includes(name.toLowerCase())) continue;
    asked.appendHeader(name, Buffer.from(value).toString('latin1'));
  }
  const hasBody = body.length > 0 || ['POST', 'PUT', 'PATCH'].includes(method);
  if (hasBody) asked.setHeader('content-length', body.length);
}

/** The address of a connection is known when it is open; that of a kept one at once. */
function checkPeer(socket: Socket, asked: ClientRequest, gate: Gate): void {
  const check = () => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || gate.allows(remoteAddress)) return;
    asked.destroy(new AddressRefusedError(gate.refusal));
    socket.destroy();
  };
  if (socket.connecting) socket.once('connect', check);
  else check();
}

/** Looks a name up once: the connection is made to an address that was checked. */
function guardedLookup(gate: Gate, names: NameLookup): LookupFunction {
  return (host, { all }, done) => {
    const found = (addresses: LookupAddress[]) => {
      const allowed = addresses.filter(({ address }) => gate.allows(address));
      const [first] = allowed.slice(0, limits.outboundAddressesMax);
      if (first === undefined) return done(new AddressRefusedError(gate.refusal), []);
      if (all === true) return done(null, allowed.slice(0, limits.outboundAddressesMax));
      done(null, first.address, first.family);
    };
    names.addressesOf(host, gate.isNamed).then(found, (error: Error) => done(error, []));
  };
}
