import { type GivenWish, ReadWishError, readWishIn } from '../doors/read-wish.ts';
import { booleanFault, choiceFault, queryFault, repeatedFault } from '../doors/request-faults.ts';
import type { QueryDialect } from '../live/query-dialect.ts';
import type { Compression } from '../protocol/compression.ts';
import { type ConnectionNumber, connectionNumber } from '../values/connection-number.ts';

/** What a client asks for in the address of its connection. */
export interface Parameters {
  readonly token: string | undefined;
  /** `undefined`: any id is accepted. 0n is rejected elsewhere. */
  readonly connectionId: ConnectionNumber | undefined;
  readonly compression: Compression;
  /** `undefined`: the default of the protocol version. */
  readonly confirmed: boolean | undefined;
  /** The SQL dialect of its queries. */
  readonly dialect: QueryDialect;
  /** From which host's rows its queries are answered: those of any, unless it says otherwise. */
  readonly wish: GivenWish;
}

/** An invalid parameter; the message is the text of the response. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';

  constructor(detail: string) {
    super(queryFault(detail));
  }
}

/** Parses the query of an address. Unknown parameters are ignored. Throws `ParameterError`. */
export function readParameters(query: URLSearchParams): Parameters {
  const connectionId = one(query, 'connection_id');
  // Only checked: light messages exist only in binary version 1, and all our updates are light.
  readBoolean(query, 'light');
  return {
    token: one(query, 'token'),
    connectionId: connectionId === undefined ? undefined : readConnectionId(connectionId),
    compression: readCompression(one(query, 'compression')),
    confirmed: readBoolean(query, 'confirmed'),
    dialect: readDialect(one(query, 'dialect')),
    wish: readWish(query),
  };
}

/** Returns why an address is invalid, for plain HTTP requests; `undefined` if it is valid. */
export function parameterFault(query: URLSearchParams): string | undefined {
  try {
    readParameters(query);
    return undefined;
  } catch (error) {
    if (error instanceof ParameterError) return error.message;
    throw error;
  }
}

/** Returns only the token, which is read before everything else. */
export function readToken(query: URLSearchParams): string | undefined {
  return one(query, 'token');
}

function one(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw new ParameterError(repeatedFault(name));
  return values[0];
}

function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const value = one(query, name);
  if (value === undefined) return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new ParameterError(`${name}: ${booleanFault}`);
}

function readConnectionId(text: string): ConnectionNumber {
  if (/^[0-9a-f]{32}$/i.test(text)) return connectionNumber(BigInt(`0x${text}`));
  throw new ParameterError('connection_id: expected 32 hex digits');
}

const compressions: ReadonlyMap<string, Compression> = new Map([
  ['None', 'none'],
  ['Brotli', 'brotli'],
  ['Gzip', 'gzip'],
]);

function readCompression(text = 'Brotli'): Compression {
  const compression = compressions.get(text);
  if (compression !== undefined) return compression;
  throw new ParameterError(`compression: ${choiceFault(text, [...compressions.keys()])}`);
}

function readWish(query: URLSearchParams): GivenWish {
  try {
    return readWishIn(one(query, 'consistency') ?? 'any', one(query, 'max_age_ms'));
  } catch (error) {
    if (error instanceof ReadWishError) throw new ParameterError(error.message);
    throw error;
  }
}

const dialects: readonly QueryDialect[] = ['subscription', 'full'];

function readDialect(text = 'subscription'): QueryDialect {
  const dialect = dialects.find((candidate) => candidate === text);
  if (dialect !== undefined) return dialect;
  throw new ParameterError(`dialect: ${choiceFault(text, dialects)}`);
}
