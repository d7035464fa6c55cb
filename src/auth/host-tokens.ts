import { randomUUID } from 'node:crypto';
import { compactVerify } from 'jose';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import { type CallerIdentity, callerIdentity } from '../values/identity-roles.ts';
import {
  type Capability,
  capabilityClaim,
  capabilityToClaim,
  readHostClaim,
  sessionToClaim,
  standInField,
} from './capability.ts';
import {
  type Claims,
  readClaims,
  refuseExpired,
  revocableIds,
  type TokenClaims,
} from './claims.ts';
import { deriveIdentity } from './identity.ts';
import { publicIssuers } from './issuer-rules.ts';
import { Issuers } from './issuers.ts';
import type { HostKeys } from './keys.ts';
import { formerIds, isHighSigned, signedCompact, signedId } from './signature.ts';
import { parseObject, TokenError } from './token-json.ts';
import { type TokenHeader, tokenParts } from './token-parts.ts';

/** A new identity and the token that proves it. */
export interface IssuedToken {
  readonly identity: CallerIdentity;
  readonly token: string;
  /** See `TokenClaims.payload`. */
  readonly payload: string;
  /** See `TokenClaims.tokenId`. */
  readonly tokenId: string;
}

export interface HostTokensOptions {
  /** `iss` of the tokens that this host issues. */
  readonly issuer: string;
  /** Lifetime of the tokens that this host issues; absent: they do not expire. */
  readonly lifeSeconds: number | undefined;
  readonly issuers: Issuers;
  /** Called for every use of a token. */
  readonly isRevoked: (tokenId: string) => boolean;
  /**
   * Seconds since the Unix epoch. Tokens that this host issues from then on have the lower of the
   * two signatures that ECDSA allows, and are rejected with the other one.
   */
  readonly lowSignedSince: number;
}

interface Verified {
  readonly claims: TokenClaims;
  /** After this the signature is checked again, because an issuer may have withdrawn the key. */
  readonly untilSeconds: number;
}

/** How long a verified signature of another issuer is trusted. */
const foreignSeconds = 60;

/** How long a session lasts. */
export interface SessionTerms {
  readonly seconds: number;
  /** Whether it ends when the token expires with which it began. */
  readonly endsWithOriginal: boolean;
}

export interface SessionToken extends IssuedToken {
  /** Seconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** A token that a capability limits. */
export interface LimitedToken extends IssuedToken {
  /** Seconds since the Unix epoch. */
  readonly expiresAt: number | undefined;
}

/**
 * Issues the host's own tokens (compact JWS, ES256, signed with the host's key pair) and verifies
 * all incoming ones: the host's own, and those of other issuers by their published keys.
 */
export class HostTokens {
  #keys: HostKeys;
  readonly #options: HostTokensOptions;
  /**
   * Verified tokens, so that a caller's later requests cost one lookup. The key is the whole text:
   * the same claims with another signature must be verified separately.
   */
  readonly #verified = new Map<string, Verified>();

  constructor(keys: HostKeys, options: Partial<HostTokensOptions> = {}) {
    this.#keys = keys;
    this.#options = {
      issuer: options.issuer ?? 'localhost',
      lifeSeconds: options.lifeSeconds,
      issuers: options.issuers ?? new Issuers(publicIssuers),
      isRevoked: options.isRevoked ?? (() => false),
      lowSignedSince: options.lowSignedSince ?? 0,
    };
  }

  get publicPem(): string {
    return this.#keys.publicPem;
  }

  /** Replaces the keys that sign and verify. */
  useKeys(keys: HostKeys): void {
    this.#keys = keys;
    this.#verified.clear();
  }

  /** Issues a token for a new identity of this host. */
  async issue(): Promise<IssuedToken> {
    const issuedAt = nowSeconds();
    const { identity, claims } = this.#somebodyNew(issuedAt, this.#endOf(issuedAt));
    const payload = JSON.stringify(claims);
    const token = this.#sign(payload);
    return { identity, token, payload, tokenId: signedId(token) };
  }

  /**
   * Issues a limited token for a new identity, so that modules and the audit log can tell its user
   * from its maker. It expires after `seconds`, if given, but no later than other tokens.
   */
  async issueLimited(capability: Capability, seconds: number | undefined): Promise<LimitedToken> {
    const issuedAt = nowSeconds();
    const expiresAt = this.#endOf(issuedAt, seconds);
    const { identity, claims } = this.#somebodyNew(issuedAt, expiresAt);
    const tokenId = randomUUID();
    const limits = { jti: tokenId, [capabilityClaim]: capabilityToClaim(capability) };
    const payload = JSON.stringify({ ...claims, ...limits });
    return { identity, token: this.#sign(payload), payload, tokenId, expiresAt };
  }

  /** Creates an unused identity and the claims of its token, in order. */
  #somebodyNew(issuedAt: number, expiresAt: number | undefined) {
    const subject = randomUUID();
    const identity = callerIdentity(deriveIdentity(this.#options.issuer, subject));
    const claims = {
      hex_identity: identityToHex(identity),
      sub: subject,
      iss: this.#options.issuer,
      aud: ['spacetimedb'],
      iat: issuedAt,
      exp: expiresAt ?? null,
    };
    return { identity, claims };
  }

  /**
   * Signs the claims of any token again, as a host token that is revoked together with the original
   * and expires after `seconds`, or with the original if that is sooner.
   */
  async reissue(claims: TokenClaims, seconds: number): Promise<IssuedToken> {
    const { identity, tokenId } = claims;
    const issuedAt = nowSeconds();
    // A foreign token's claim must not become one of this host by being signed again.
    const { [capabilityClaim]: _, ...others } = parseObject(claims.payload);
    const limits = claims.capability === undefined ? {} : capabilityToClaim(claims.capability);
    const session = claims.session === undefined ? {} : sessionToClaim(claims.session);
    const payload = JSON.stringify({
      ...others,
      [capabilityClaim]: { ...limits, ...session, [standInField]: tokenId },
      hex_identity: identityToHex(identity),
      iat: issuedAt,
      exp: Math.min(issuedAt + seconds, claims.expiresAt ?? Number.POSITIVE_INFINITY),
    });
    return { identity, token: this.#sign(payload), payload, tokenId };
  }

  /**
   * Begins a session of the identity of any token: a host token with an id of its own, revoked by
   * that or together with the original. It expires after `seconds`, and no later than other tokens
   * of this host; with `endsWithOriginal` no later than the original. Throws `TokenError` if the
   * original has been revoked meanwhile, or is limited.
   */
  async issueSession(
    claims: TokenClaims,
    { seconds, endsWithOriginal }: SessionTerms,
  ): Promise<SessionToken> {
    if (claims.capability !== undefined) throw new TokenError('A limited token has no session');
    if (this.#isRevoked(claims)) throw revoked();
    if (endsWithOriginal) this.#refuseEnded(claims);
    const { identity } = claims;
    const issuedAt = nowSeconds();
    const original = endsWithOriginal ? claims.expiresAt : undefined;
    const end = this.#endOf(issuedAt, seconds) ?? Number.POSITIVE_INFINITY;
    const expiresAt = Math.min(end, original ?? Number.POSITIVE_INFINITY);
    const tokenId = randomUUID();
    const { [capabilityClaim]: _, ...others } = parseObject(claims.payload);
    const payload = JSON.stringify({
      ...others,
      hex_identity: identityToHex(identity),
      iat: issuedAt,
      exp: expiresAt,
      jti: tokenId,
      [capabilityClaim]: sessionToClaim({ of: claims.tokenId, expiresAt }),
    });
    return { identity, token: this.#sign(payload), payload, tokenId, expiresAt };
  }

  /** Throws `TokenError` if a token that another host has verified was revoked. */
  requireStanding(claims: Pick<TokenClaims, 'tokenId' | 'session'>): void {
    if (this.#isRevoked(claims)) throw revoked();
  }

  /** Returns the claims of a valid token, or throws `TokenError`. */
  async verify(token: string): Promise<TokenClaims> {
    const known = this.#verified.get(token);
    if (known !== undefined && nowSeconds() < known.untilSeconds) {
      this.#refuseEnded(known.claims);
      return known.claims;
    }
    const verified = await this.#check(token);
    this.#refuseEnded(verified.claims);
    // A stand-in serves one connection; caching thousands of them would only evict other tokens.
    if (!verified.claims.isStandIn) this.#remember(token, verified);
    return verified.claims;
  }

  /** Returns when a token issued now expires; `undefined`: never. */
  #endOf(issuedAt: number, seconds = Number.POSITIVE_INFINITY): number | undefined {
    const life = Math.min(seconds, this.#options.lifeSeconds ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(life) ? issuedAt + life : undefined;
  }

  #sign(payload: string): string {
    return signedCompact(payload, this.#keys.privateKey);
  }

  /**
   * Verifies a token. The host's keys are tried first, regardless of the issuer named in the token,
   * because the host also signs claims of foreign tokens. The issuer is asked only if they fail.
   */
  async #check(token: string): Promise<Verified> {
    const parts = tokenParts(token);
    const fault = await this.#hostFault(token, parts.header);
    const claims = readClaims(parts.payload, nowSeconds());
    // Checked only here: tokens are no longer revoked by these ids.
    if (formerIds(token, parts.header.alg).some((id) => this.#options.isRevoked(id))) {
      throw revoked();
    }
    if (fault === undefined) {
      this.#refuseHighSigned(token, claims);
      return { claims: ownClaims(token, claims), untilSeconds: Number.POSITIVE_INFINITY };
    }
    if (claims.issuer === this.#options.issuer) throw fault;
    await this.#options.issuers.verify(token, parts, claims);
    return { claims: plainClaims(token, claims), untilSeconds: nowSeconds() + foreignSeconds };
  }

  /** Rejects the higher signature: only this host has its keys, so someone else made that one. */
  #refuseHighSigned(token: string, { issuedAt }: Claims): void {
    if (issuedAt < this.#options.lowSignedSince) return;
    if (isHighSigned(token, 'ES256')) throw new TokenError('Invalid token: InvalidSignature');
  }

  #refuseEnded(claims: TokenClaims): void {
    const { expiresAt, capability, session } = claims;
    refuseExpired(expiresAt, nowSeconds());
    // This host's own clock set the end of these tokens, so no leeway applies.
    const isOver = expiresAt !== undefined && expiresAt <= nowSeconds();
    if (isOver && (capability !== undefined || session !== undefined)) {
      throw new TokenError('Invalid token: ExpiredSignature');
    }
    if (this.#isRevoked(claims)) throw revoked();
  }

  #isRevoked(claims: Pick<TokenClaims, 'tokenId' | 'session'>): boolean {
    return revocableIds(claims).some((id) => this.#options.isRevoked(id));
  }

  /**
   * Returns why the host's keys reject the token; `undefined` if one accepts it. They are EC keys,
   * and are never used with another algorithm.
   */
  async #hostFault(token: string, { alg, hasCritical }: TokenHeader) {
    if (alg !== 'ES256' || hasCritical) return new TokenError('Invalid token: InvalidAlgorithm');
    const { publicKey, oldKeys } = this.#keys;
    let fault: TokenError | undefined;
    for (const key of [publicKey, ...oldKeys.map((old) => old.key)]) {
      try {
        await compactVerify(token, key, { algorithms: ['ES256'] });
        return undefined;
      } catch (cause) {
        fault = new TokenError('Invalid token: InvalidSignature', { cause });
      }
    }
    return fault;
  }

  #remember(token: string, verified: Verified): void {
    if (this.#verified.size >= limits.verifiedTokensMax) {
      const [oldest] = this.#verified.keys();
      if (oldest !== undefined) this.#verified.delete(oldest);
    }
    this.#verified.delete(token);
    this.#verified.set(token, verified);
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function ownClaims(token: string, claims: Claims): TokenClaims {
  const own = readHostClaim(claims.payload);
  if (own === undefined) return plainClaims(token, claims);
  const { id: tokenId, ...others } = own;
  return { ...claims, ...others, tokenId };
}

function plainClaims(token: string, claims: Claims): TokenClaims {
  // Not a `jti`: a signer could use that of another token and have it revoked.
  return { ...claims, tokenId: signedId(token), isStandIn: false };
}

function revoked(): TokenError {
  return new TokenError('Invalid token: Revoked');
}
