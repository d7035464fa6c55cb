import { limits } from '../limits.ts';
import { identityFromHex } from '../values/identity.ts';
import {
  type CallerIdentity,
  callerIdentity,
  type DatabaseIdentity,
  databaseIdentity,
} from '../values/identity-roles.ts';
import { parseObject, TokenError } from './token-json.ts';

/**
 * The limits of a token that has fewer rights than its owner, such as one made for an agent. Its
 * rights are those of the identity that made it, narrowed.
 */
export interface Capability {
  /** The only database for which the token is valid. */
  readonly database: DatabaseIdentity;
  /** The identity whose rights it narrows: the maker's, as of when the token is used. */
  readonly by: CallerIdentity;
  /** Canonical names of the tables and views; absent: those that anyone can read. */
  readonly tables?: readonly string[];
  /** Canonical names of the reducers; absent: those that anyone can call. */
  readonly reducers?: readonly string[];
  /** Forbids calling reducers and writing by SQL. */
  readonly readOnly: boolean;
  /** Allows INSERT, UPDATE and DELETE, within the maker's rights. */
  readonly sqlWrites: boolean;
  /** Maximum rows of one result. */
  readonly rowsMax?: number;
  /** Maximum bytes of rows in one answer to an agent. */
  readonly bytesMax?: number;
  /** Optional features offered to agents; unknown words are ignored. Absent: none. */
  readonly features?: readonly string[];
}

/** The claim that holds a capability. It is valid only in tokens that this host signed. */
export const capabilityClaim = 'reducerdb';

/** The host's own claims in a token, beyond its identity. */
export interface HostClaim {
  /** The id by which the token is revoked. */
  readonly id: string;
  readonly isStandIn: boolean;
  /** Set in the token of a session, and in what stands in for it. */
  readonly session?: TokenSession;
  readonly capability?: Capability;
}

/** Claim field of a stand-in: the id of the token it stands for, whose limits it copies. */
export const standInField = 'instead_of';

/** A session that a token belongs to. */
export interface TokenSession {
  /** The id of the token with which it began: it is revoked together with that. */
  readonly of: string;
  /** When it ends, in seconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** Claim field of a session: the id with which it began, and its end. Stand-ins copy it. */
export const sessionField = 'session';

/**
 * Reads the host's own claim of a host-signed token, if it has one. Throws `TokenError`. A limited
 * token and a session have their own id; a stand-in has the id of the token it stands for.
 */
export function readHostClaim(payload: string): HostClaim | undefined {
  const { [capabilityClaim]: claim, jti } = parseObject(payload);
  if (claim === undefined) return undefined;
  if (typeof claim !== 'object' || claim === null) throw malformed('is not an object');
  const fields = claim as Record<string, unknown>;
  const { [standInField]: first, [sessionField]: given, ...limits } = fields;
  const isStandIn = first !== undefined;
  const id = isStandIn ? first : jti;
  if (typeof id !== 'string' || id === '') throw malformed('comes without an id');
  const session = given === undefined ? undefined : sessionIn(given);
  const isWhole = isStandIn || session !== undefined;
  const isLimited = !isWhole || Object.keys(limits).length > 0;
  const known = { id, isStandIn, ...(session !== undefined && { session }) };
  return isLimited ? { ...known, capability: capabilityOf(limits) } : known;
}

function sessionIn(claim: unknown): TokenSession {
  const { of, until } = (claim ?? {}) as Record<string, unknown>;
  if (typeof of !== 'string' || typeof until !== 'number' || !Number.isSafeInteger(until)) {
    throw malformed(`has no session as \`${sessionField}\``);
  }
  return { of, expiresAt: until };
}

/** Writes the claim field of a session. */
export function sessionToClaim({ of, expiresAt }: TokenSession): Record<string, unknown> {
  return { [sessionField]: { of, until: expiresAt } };
}

function capabilityOf(claim: Record<string, unknown>): Capability {
  const { database, by, tables, reducers, read_only, sql_writes, features } = claim;
  const { max_rows, max_bytes } = claim;
  return {
    database: databaseIdentity(identity(database, 'database')),
    by: callerIdentity(identity(by, 'by')),
    ...(tables === undefined ? {} : { tables: names(tables, 'tables') }),
    ...(reducers === undefined ? {} : { reducers: names(reducers, 'reducers') }),
    readOnly: read_only === true,
    sqlWrites: sql_writes === true,
    ...(max_rows === undefined ? {} : { rowsMax: count(max_rows, 'number of rows', 'max_rows') }),
    ...(max_bytes === undefined ? {} : { bytesMax: count(max_bytes, 'size', 'max_bytes') }),
    ...(features === undefined ? {} : { features: names(features, 'features') }),
  };
}

/** Writes the claim that `readHostClaim` reads. */
export function capabilityToClaim(capability: Capability): Record<string, unknown> {
  const { database, by, tables, reducers, readOnly, sqlWrites, features } = capability;
  const { rowsMax, bytesMax } = capability;
  const hex = (value: bigint) => value.toString(16).padStart(64, '0');
  return {
    ...{ database: hex(database), by: hex(by), tables, reducers },
    ...{ read_only: readOnly, sql_writes: sqlWrites, max_rows: rowsMax, max_bytes: bytesMax },
    features,
  };
}

function identity(value: unknown, name: string): bigint {
  const found = typeof value === 'string' ? identityFromHex(value) : undefined;
  if (found === undefined) throw malformed(`has no identity as \`${name}\``);
  return found;
}

function names(value: unknown, name: string): readonly string[] {
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  if (!isList) throw malformed(`has no list of names as \`${name}\``);
  if (value.length > limits.capabilityNamesMax) throw malformed(`names too many ${name}`);
  return value;
}

function count(value: unknown, what: string, name: string): number {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0;
  if (!isCount || value > 0xffff_ffff) throw malformed(`has no ${what} as \`${name}\``);
  return value;
}

function malformed(what: string): TokenError {
  return new TokenError(`Invalid token: JSON error: \`${capabilityClaim}\` ${what}`);
}
