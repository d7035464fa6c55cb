import { limits } from '../limits.ts';
import { identityFromHex } from '../values/identity.ts';
import { parseObject, TokenError } from './token-json.ts';

/**
 * What a token may be used for, where it is not for everything that its bearer may: made for
 * handing to an agent. The rights are those of the identity that made it, narrowed.
 */
export interface Capability {
  /** The only database in which the token counts. */
  readonly database: bigint;
  /** Whose rights it narrows: the maker's, as they are when the token is used. */
  readonly by: bigint;
  /** Canonical names of the tables and views; absent: those that everybody reads. */
  readonly tables?: readonly string[];
  /** Canonical names of the reducers; absent: those that everybody may call. */
  readonly reducers?: readonly string[];
  /** No reducer may be called, and nothing be written by SQL. */
  readonly readOnly: boolean;
  /** INSERT, UPDATE and DELETE, as far as the maker may. */
  readonly sqlWrites: boolean;
  /** Most rows of one answer. */
  readonly rowsMax?: number;
  /** What agents are offered beyond the usual; unknown words mean nothing. Absent: nothing. */
  readonly features?: readonly string[];
}

/** The claim that holds it. Only in tokens that this host signed does it mean anything. */
export const capabilityClaim = 'reducerdb';

/** What this host wrote into a token beside who its bearer is. */
export interface HostClaim {
  /** By which the token is revoked. */
  readonly id: string;
  readonly isStandIn: boolean;
  readonly capability?: Capability;
}

/** What a token that stands for another one has in its claim, beside the limits of that one. */
export const standInField = 'instead_of';

/**
 * Reads the host's own claim of a host-signed token, if it has one. Throws `TokenError`. A limited
 * token has an id of its own; one that was signed again instead of another has the id of that one.
 */
export function readHostClaim(payload: string): HostClaim | undefined {
  const { [capabilityClaim]: claim, jti } = parseObject(payload);
  if (claim === undefined) return undefined;
  if (typeof claim !== 'object' || claim === null) throw malformed('is not an object');
  const { [standInField]: first, ...limits } = claim as Record<string, unknown>;
  const isStandIn = first !== undefined;
  const id = isStandIn ? first : jti;
  if (typeof id !== 'string' || id === '') throw malformed('comes without an id');
  const isLimited = !isStandIn || Object.keys(limits).length > 0;
  return isLimited ? { id, isStandIn, capability: capabilityOf(limits) } : { id, isStandIn };
}

function capabilityOf(claim: Record<string, unknown>): Capability {
  const { database, by, tables, reducers, read_only, sql_writes, max_rows, features } = claim;
  return {
    database: identity(database, 'database'),
    by: identity(by, 'by'),
    ...(tables === undefined ? {} : { tables: names(tables, 'tables') }),
    ...(reducers === undefined ? {} : { reducers: names(reducers, 'reducers') }),
    readOnly: read_only === true,
    sqlWrites: sql_writes === true,
    ...(max_rows === undefined ? {} : { rowsMax: rows(max_rows) }),
    ...(features === undefined ? {} : { features: names(features, 'features') }),
  };
}

/** The claim as `readHostClaim` reads it. */
export function capabilityToClaim(capability: Capability): Record<string, unknown> {
  const { database, by, tables, reducers, readOnly, sqlWrites, rowsMax, features } = capability;
  const hex = (value: bigint) => value.toString(16).padStart(64, '0');
  return {
    ...{ database: hex(database), by: hex(by), tables, reducers },
    ...{ read_only: readOnly, sql_writes: sqlWrites, max_rows: rowsMax, features },
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

function rows(value: unknown): number {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0;
  if (!isCount || value > 0xffff_ffff) throw malformed('has no number of rows as `max_rows`');
  return value;
}

function malformed(what: string): TokenError {
  return new TokenError(`Invalid token: JSON error: \`${capabilityClaim}\` ${what}`);
}
