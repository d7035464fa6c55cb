import type { IncomingHttpHeaders } from 'node:http';
import {
  type CallerOutcome,
  type CallerRequest,
  type RequestCaller,
  settleCaller,
  settledElsewhere,
} from '../auth/caller.ts';
import type { HostTokens } from '../auth/host-tokens.ts';
import { Refusal } from '../database/outcome.ts';
import type { GivenWish } from '../doors/read-wish.ts';
import { statusOf } from '../doors/refusal-status.ts';
import { pathBytesFault } from '../doors/request-faults.ts';
import { decodePathPart, splitTarget } from '../doors/request-target.ts';
import type { Host } from '../host/host.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { parseTarget } from '../host/registry/names.ts';
import { noSuchDatabase } from '../host/registry/resolve-target.ts';
import { randomConnectionId } from '../host/supervision/temporary-connection.ts';
import type { QueryDialect } from '../live/query-dialect.ts';
import type { Compression } from '../protocol/compression.ts';
import { chooseSubprotocol, type Subprotocol, subprotocolOffers } from '../protocol/versions.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import { ParameterError, type Parameters, readParameters, readToken } from './parameters.ts';
import type { RefusedUpgrade } from './refuse.ts';

/** A client that can connect, and on which terms. */
export interface Admitted {
  readonly kind: 'admitted';
  readonly caller: RequestCaller;
  readonly database: HostedDatabase;
  readonly connectionId: ConnectionNumber;
  readonly protocol: Subprotocol;
  readonly compression: Compression;
  readonly confirmed: boolean;
  readonly dialect: QueryDialect;
  readonly wish: GivenWish;
}

export interface Refused extends RefusedUpgrade {
  readonly kind: 'refused';
}

export interface UpgradeRequest {
  /** As sent, with its query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Address of the client. */
  readonly address: string;
  /** The database at whose host the request came in, as a target; absent: the service's own. */
  readonly app?: string | undefined;
  /** The caller, where another host has settled it. */
  readonly settled?: RequestCaller | undefined;
}

/** The path of a database's WebSocket. */
const pathPattern = /^\/v1\/database\/([^/]+)\/subscribe$/;

/** Whether an upgrade request is for this room. */
export function isSocketAddress(url: string | undefined): boolean {
  return pathPattern.test(splitTarget(url).path);
}

interface Admitting {
  readonly host: Host;
  readonly tokens: HostTokens;
  /** Whether messages wait for durability, where the client does not say; absent: by version. */
  readonly confirms?: boolean | undefined;
}

/** Decides whether a client can connect. The order of the checks is fixed by the interface. */
export async function admit(
  request: UpgradeRequest,
  { host, tokens, confirms }: Admitting,
): Promise<Admitted | Refused> {
  const query = new URLSearchParams(splitTarget(request.url).search);
  const { authorization } = request.headers;
  let caller: RequestCaller | undefined;
  try {
    const settled = await settledOf(tokens, request.settled, {
      authorization,
      queryToken: authorization === undefined ? readToken(query) : undefined,
      address: request.address,
      withoutToken: 'anonymous',
    });
    if (settled.kind === 'refused') {
      const name = pathName(request.url);
      if (name !== undefined) host.ledger.turnedAway(name, undefined, 'token.invalid');
      return settled;
    }
    caller = settled.caller;
    return { kind: 'admitted', caller, ...checked(request, query, { host, confirms }) };
  } catch (error) {
    if (error instanceof UpgradeError || error instanceof ParameterError) {
      return { kind: 'refused', status: 400, text: error.message, caller };
    }
    if (!(error instanceof Refusal)) throw error;
    const { code, message } = error.body;
    return { kind: 'refused', status: statusOf(code), text: message, caller, code };
  }
}

async function settledOf(
  tokens: HostTokens,
  settled: RequestCaller | undefined,
  request: CallerRequest,
): Promise<CallerOutcome> {
  return settled === undefined ? settleCaller(tokens, request) : settledElsewhere(tokens, settled);
}

/** Checks the request of a known caller and returns its terms. */
function checked(
  { url, headers, app }: UpgradeRequest,
  query: URLSearchParams,
  { host, confirms = false }: Pick<Admitting, 'host' | 'confirms'>,
): Omit<Admitted, 'kind' | 'caller'> {
  const name = nameIn(url);
  // An invalid name is rejected before the handshake is checked, an unknown one after it.
  if (parseTarget(name).kind === 'invalid') host.resolve(name);
  const parameters = readParameters(query);
  checkHandshake(headers);
  if (parameters.connectionId === 0n) throw new UpgradeError(zeroText);
  const database = host.database(name);
  // To the pages of an app, other databases are not there.
  if (app !== undefined && !host.isSame(app, name)) throw noSuchDatabase();
  const offers = subprotocolOffers(headers['sec-websocket-protocol'] ?? '');
  const protocol = chooseSubprotocol(offers);
  if (protocol === undefined) throw new UpgradeError('no valid protocol selected');
  const asked = { ...parameters, compression: safeCompression(parameters, offers) };
  return { database, ...terms(asked, protocol, confirms) };
}

/** An invalid upgrade request; the message is the text of the response. */
class UpgradeError extends Error {
  override readonly name = 'UpgradeError';
}

const zeroText = 'Invalid connection ID: the all-zeros ConnectionId is reserved.';

function terms(asked: Parameters, protocol: Subprotocol, confirms: boolean) {
  const { connectionId, compression, confirmed, dialect, wish } = asked;
  const isOld = protocol.startsWith('v1');
  return {
    ...{ protocol, dialect, wish },
    connectionId: connectionId ?? randomConnectionId(),
    compression: protocol === 'v1.json.spacetimedb' ? ('none' as const) : compression,
    confirmed: confirmed ?? (confirms || !isOld),
  };
}

/**
 * Disables compression for clients that would apply frames out of order. The published TypeScript
 * clients ask for gzip, decompress asynchronously, and apply frames as decompression finishes, so a
 * small frame overtakes a large one. They are recognized by the protocols they offer and by gzip,
 * which no other client requests on its own.
 */
function safeCompression({ compression }: Parameters, offers: readonly string[]): Compression {
  if (compression !== 'gzip') return compression;
  const isKnown = typescriptOffers.some(
    (known) => known.length === offers.length && known.every((name) => offers.includes(name)),
  );
  return isKnown ? 'none' : compression;
}

const typescriptOffers = [
  ['v3.bsatn.spacetimedb', 'v2.bsatn.spacetimedb'],
  ['v1.bsatn.spacetimedb'],
];

function checkHandshake(headers: IncomingHttpHeaders): void {
  if (headers['sec-websocket-version'] !== '13') {
    throw new UpgradeError("`Sec-WebSocket-Version` header did not include '13'");
  }
  const key = headers['sec-websocket-key'];
  const isKey = key !== undefined && /^[+/0-9A-Za-z]{22}==$/.test(key);
  if (!isKey) throw new UpgradeError('`Sec-WebSocket-Key` header missing');
}

/** Returns the name or identity in the path. */
function nameIn(url: string): string {
  const name = pathName(url);
  if (name !== undefined) return name;
  throw new Refusal({ code: 'name.invalid', message: pathBytesFault('name_or_identity') });
}

/** `undefined`: it is not UTF-8. */
function pathName(url: string): string | undefined {
  const [, part = ''] = pathPattern.exec(splitTarget(url).path) ?? [];
  return decodePathPart(part);
}
