import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type RequestCaller, settleCaller } from '../auth/caller.ts';
import type { HostTokens } from '../auth/host-tokens.ts';
import { Refusal } from '../database/outcome.ts';
import type { Host } from '../host/host.ts';
import type { HostedDatabase } from '../host/host-types.ts';
import { parseTarget } from '../host/names.ts';
import { statusOf } from '../host/refusal-status.ts';
import type { QueryDialect } from '../live/query-dialect.ts';
import type { Compression } from '../protocol/compression.ts';
import { chooseSubprotocol, type Subprotocol, subprotocolOffers } from '../protocol/versions.ts';
import { ParameterError, type Parameters, readParameters, readToken } from './parameters.ts';

/** A client that may connect, and how. */
export interface Admitted {
  readonly kind: 'admitted';
  readonly caller: RequestCaller;
  readonly database: HostedDatabase;
  readonly connectionId: bigint;
  readonly protocol: Subprotocol;
  readonly compression: Compression;
  readonly confirmed: boolean;
  readonly dialect: QueryDialect;
}

/** An answer other than 101. */
export interface Refused {
  readonly kind: 'refused';
  readonly status: number;
  readonly text: string;
}

export interface Knock {
  /** As sent, with its query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Where the client is. */
  readonly address: string;
}

/** The path of a database's socket. */
const pathPattern = /^\/v1\/database\/([^/?]+)\/subscribe$/;

/** Decides whether a client may connect; the checks run in the order of the interface. */
export async function admit(
  { url, headers, address }: Knock,
  { host, tokens }: { readonly host: Host; readonly tokens: HostTokens },
): Promise<Admitted | Refused> {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const target = pathPattern.exec(path)?.[1];
  if (target === undefined) return refused(404, '');
  try {
    const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark));
    const settled = await settleCaller(tokens, {
      authorization: headers.authorization,
      queryToken: readToken(query),
      address,
      withoutToken: 'anonymous',
    });
    if (settled.kind === 'refused') return settled;
    const name = decodeTarget(target);
    // A name that is none is refused before the handshake is looked at, an unknown one after it.
    if (parseTarget(name).kind === 'invalid') host.resolve(name);
    const parameters = readParameters(query);
    const fault = handshakeFault(headers);
    if (fault !== undefined) return refused(400, fault);
    if (parameters.connectionId === 0n) return refused(400, zeroText);
    const database = host.database(name);
    const offers = subprotocolOffers(headers['sec-websocket-protocol'] ?? '');
    const protocol = chooseSubprotocol(offers);
    if (protocol === undefined) return refused(400, 'no valid protocol selected');
    const asked = { ...parameters, compression: safeCompression(parameters, offers) };
    return { kind: 'admitted', caller: settled.caller, database, ...terms(asked, protocol) };
  } catch (error) {
    if (error instanceof ParameterError) return refused(400, error.message);
    if (error instanceof Refusal) return refused(statusOf(error.body.code), error.body.message);
    throw error;
  }
}

const zeroText = 'Invalid connection ID: the all-zeros ConnectionId is reserved.';

function terms(asked: Parameters, protocol: Subprotocol) {
  const { connectionId, compression, confirmed, dialect } = asked;
  const isOld = protocol.startsWith('v1');
  return {
    protocol,
    dialect,
    connectionId: connectionId ?? randomConnectionId(),
    compression: protocol === 'v1.json.spacetimedb' ? ('none' as const) : compression,
    confirmed: confirmed ?? !isOld,
  };
}

/**
 * The published TypeScript clients ask for gzip, undo it aside, and apply frames in the order in
 * which that is finished: a small frame then overtakes a large one. They get nothing compressed.
 * They are known by what they offer, and by gzip, which no other client asks for on its own.
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

function handshakeFault(headers: IncomingHttpHeaders): string | undefined {
  if (headers['sec-websocket-version'] !== '13') {
    return "`Sec-WebSocket-Version` header did not include '13'";
  }
  const key = headers['sec-websocket-key'];
  const isKey = key !== undefined && /^[+/0-9A-Za-z]{22}==$/.test(key);
  return isKey ? undefined : '`Sec-WebSocket-Key` header missing';
}

function decodeTarget(target: string): string {
  try {
    return decodeURIComponent(target);
  } catch {
    const message = 'Invalid URL: Invalid UTF-8 in `name_or_identity`';
    throw new Refusal({ code: 'name.invalid', message });
  }
}

function randomConnectionId(): bigint {
  const id = BigInt(`0x${randomBytes(16).toString('hex')}`);
  return id === 0n ? 1n : id;
}

function refused(status: number, text: string): Refused {
  return { kind: 'refused', status, text };
}
