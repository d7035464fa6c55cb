import type { QueryDialect } from '../live/query-dialect.ts';
import type { Compression } from '../protocol/compression.ts';

/** What a client asks for in the address that it connects to. */
export interface Parameters {
  readonly token: string | undefined;
  /** `undefined`: any id will do. 0n is refused elsewhere. */
  readonly connectionId: bigint | undefined;
  readonly compression: Compression;
  /** `undefined`: as the version of the protocol does. */
  readonly confirmed: boolean | undefined;
  /** What its queries may say. */
  readonly dialect: QueryDialect;
}

/** A parameter that cannot be read; the message is the text of the answer. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';

  constructor(detail: string) {
    super(`Failed to deserialize query string: ${detail}`);
  }
}

/** Reads the query of an address. Unknown parameters are ignored. Throws `ParameterError`. */
export function readParameters(query: URLSearchParams): Parameters {
  const connectionId = one(query, 'connection_id');
  // Only binary messages of version 1 could be light, and every update of ours is.
  readBoolean(query, 'light');
  return {
    token: one(query, 'token'),
    connectionId: connectionId === undefined ? undefined : readConnectionId(connectionId),
    compression: readCompression(one(query, 'compression')),
    confirmed: readBoolean(query, 'confirmed'),
    dialect: readDialect(one(query, 'dialect')),
  };
}

/** Why an address cannot be read, for those who ask for it by mere HTTP. */
export function parameterFault(query: URLSearchParams): string | undefined {
  try {
    readParameters(query);
    return undefined;
  } catch (error) {
    if (error instanceof ParameterError) return error.message;
    throw error;
  }
}

/** The token alone, which is read before all else. */
export function readToken(query: URLSearchParams): string | undefined {
  return one(query, 'token');
}

function one(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw new ParameterError(`duplicate field \`${name}\``);
  return values[0];
}

function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const value = one(query, name);
  if (value === undefined) return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new ParameterError(`${name}: provided string was not \`true\` or \`false\``);
}

function readConnectionId(text: string): bigint {
  if (/^[0-9a-f]{32}$/i.test(text)) return BigInt(`0x${text}`);
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
  const expected = 'expected one of `None`, `Brotli`, `Gzip`';
  throw new ParameterError(`compression: unknown variant \`${text}\`, ${expected}`);
}

function readDialect(text = 'subscription'): QueryDialect {
  if (text === 'subscription' || text === 'full') return text;
  const expected = 'expected `subscription` or `full`';
  throw new ParameterError(`dialect: unknown variant \`${text}\`, ${expected}`);
}
