import { limits } from '../limits.ts';
import { identityFromHex, identityToHex } from '../values/identity.ts';
import { type CallerIdentity, callerIdentity } from '../values/identity-roles.ts';
import type { Capability, TokenSession } from './capability.ts';
import { deriveIdentity } from './identity.ts';
import { parseObject, TokenError } from './token-json.ts';

/** The claims of a token. */
export interface Claims {
  readonly identity: CallerIdentity;
  readonly issuer: string;
  readonly subject: string;
  /** `aud` as a list. The host checks it only where the operator requires it. */
  readonly audiences: readonly string[];
  /** Seconds since the Unix epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number | undefined;
  /** The token's middle part, decoded, byte for byte; the module's auth context exposes it. */
  readonly payload: string;
}

/** The claims of an accepted token. */
export interface TokenClaims extends Claims {
  /**
   * The id by which the token is revoked: the `jti` of a limited token, or `signed:` and the digest
   * of the signed text. Stand-ins share the id of their original.
   */
  readonly tokenId: string;
  /** Whether it stands in for another token, whose id it has. */
  readonly isStandIn: boolean;
  /** The session that it belongs to. */
  readonly session?: TokenSession;
  /** Limits, if this host signed the token with fewer rights than its owner has. */
  readonly capability?: Capability;
}

/** The ids by any of which a token is revoked. */
export function revocableIds({
  tokenId,
  session,
}: Pick<TokenClaims, 'tokenId' | 'session'>): readonly string[] {
  return session === undefined ? [tokenId] : [tokenId, session.of];
}

/** Tolerated clock difference. */
const leewaySeconds = 60;

/**
 * Checks the claims that every token needs, regardless of its signer: `iss`, `sub` and `iat`; `exp`
 * if present; `hex_identity`, if present, must match the identity derived from the others.
 */
export function readClaims(payload: string, nowSeconds: number): Claims {
  const claims = parseObject(payload);
  const expiresAt = readExpiry(claims);
  refuseExpired(expiresAt, nowSeconds);
  const issuedAt = readSeconds(claims, 'iat');
  const issuer = readName(claims, 'iss', 'Issuer');
  const subject = readName(claims, 'sub', 'Subject');
  const identity = callerIdentity(deriveIdentity(issuer, subject));
  checkStatedIdentity(claims, identity);
  const audiences = readAudiences(claims.aud);
  return { identity, issuer, subject, audiences, issuedAt, expiresAt, payload };
}

/** Throws `TokenError` if a token's end, in seconds since the Unix epoch, has certainly passed. */
export function refuseExpired(expiresAt: number | undefined, nowSeconds: number): void {
  if (expiresAt !== undefined && expiresAt < nowSeconds - leewaySeconds) {
    throw new TokenError('Invalid token: ExpiredSignature');
  }
}

function readAudiences(aud: unknown): readonly string[] {
  const given = Array.isArray(aud) ? aud : [aud];
  return given.filter((one) => typeof one === 'string');
}

function readExpiry(claims: Record<string, unknown>): number | undefined {
  const expiry = claims.exp;
  return expiry === undefined || expiry === null ? undefined : readSeconds(claims, 'exp');
}

function readSeconds(claims: Record<string, unknown>, name: string): number {
  const value = claims[name];
  if (value === undefined) {
    throw new TokenError(`Invalid token: JSON error: missing field \`${name}\``);
  }
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new TokenError(`Invalid token: JSON error: \`${name}\` is not a whole number of seconds`);
  }
  return value;
}

function readName(claims: Record<string, unknown>, name: string, word: string): string {
  const value = claims[name];
  if (typeof value !== 'string') {
    throw new TokenError(`Invalid token: Missing required claim: ${name}`);
  }
  // An unpaired surrogate has no UTF-8 encoding: different subjects would share one identity.
  if (/\p{Surrogate}/u.test(value)) {
    throw new TokenError(`Invalid token: JSON error: \`${name}\` holds half a character`);
  }
  if (value === '') throw new TokenError(`${word} empty`);
  if (Buffer.byteLength(value) > limits.tokenClaimBytesMax) {
    throw new TokenError(`${word} too long: "${value}"`);
  }
  return value;
}

function checkStatedIdentity(claims: Record<string, unknown>, computed: bigint): void {
  const stated = claims.hex_identity;
  if (stated === undefined) return;
  const isHex = typeof stated === 'string' && !stated.startsWith('0x');
  const identity = isHex ? identityFromHex(stated) : undefined;
  if (identity === undefined) {
    throw new TokenError('Invalid token: JSON error: `hex_identity` is not 64 hex digits');
  }
  if (identity !== computed) {
    throw new TokenError(
      `Identity mismatch: token identity Identity(${identityToHex(identity)}) does not match ` +
        `computed identity Identity(${identityToHex(computed)})`,
    );
  }
}
