import { randomUUID } from 'node:crypto';
import { CompactSign, compactVerify } from 'jose';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import { parseObject, readClaims, refuseExpired, type TokenClaims, TokenError } from './claims.ts';
import { deriveIdentity } from './identity.ts';
import type { HostKeys } from './keys.ts';

/** A fresh identity with the token that proves it. */
export interface IssuedToken {
  readonly identity: bigint;
  readonly token: string;
  /** The token's payload, as `TokenClaims.payload`. */
  readonly payload: string;
}

/**
 * Issues and checks the host's own tokens: compact JWS, ES256, signed with the host's key pair.
 * A token of another issuer is refused until issuers can be configured.
 */
export class HostTokens {
  readonly #keys: HostKeys;
  readonly #issuer: string;
  /** Tokens that were verified, so that a caller's later requests cost a look-up. */
  readonly #verified = new Map<string, TokenClaims>();

  constructor(keys: HostKeys, issuer = 'localhost') {
    this.#keys = keys;
    this.#issuer = issuer;
  }

  get publicPem(): string {
    return this.#keys.publicPem;
  }

  /** A new identity of this host, with a token that does not expire. */
  async issue(): Promise<IssuedToken> {
    const subject = randomUUID();
    const identity = deriveIdentity(this.#issuer, subject);
    const payload = JSON.stringify({
      hex_identity: identityToHex(identity),
      sub: subject,
      iss: this.#issuer,
      aud: ['spacetimedb'],
      iat: nowSeconds(),
      exp: null,
    });
    return { identity, token: await this.#sign(payload), payload };
  }

  /** The same claims, whoever signed them first, as a host token that expires after `seconds`. */
  async reissue(claims: TokenClaims, seconds: number): Promise<IssuedToken> {
    const issuedAt = nowSeconds();
    const payload = JSON.stringify({
      ...parseObject(claims.payload),
      hex_identity: identityToHex(claims.identity),
      iat: issuedAt,
      exp: issuedAt + seconds,
    });
    return { identity: claims.identity, token: await this.#sign(payload), payload };
  }

  /** Accepts a token or throws `TokenError`. */
  async verify(token: string): Promise<TokenClaims> {
    const known = this.#verified.get(token);
    if (known !== undefined) {
      refuseExpired(known.expiresAt, nowSeconds());
      return known;
    }
    const payload = await this.#verifySignature(token);
    const claims = readClaims(payload, nowSeconds());
    this.#remember(token, claims);
    return claims;
  }

  async #sign(payload: string): Promise<string> {
    return new CompactSign(utf8.encode(payload))
      .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
      .sign(this.#keys.privateKey);
  }

  /**
   * The host key is tried first, whoever the token names as issuer: a foreign token that this host
   * signed again is its own. Only when that fails does the issuer decide which error the caller
   * sees.
   */
  async #verifySignature(token: string): Promise<string> {
    const parts = token.split('.');
    if (parts.length !== 3) throw new TokenError('Invalid token: InvalidToken');
    const [header = '', payload = ''] = parts.map(decodePart);
    const fault = await this.#hostFault(token, parseObject(header));
    if (fault === undefined) return payload;
    const { issuer } = readClaims(payload, nowSeconds());
    if (issuer === this.#issuer) throw fault;
    throw new TokenError(`Error fetching public key for issuer ${issuer}`, { cause: fault });
  }

  /** Why the host key does not accept the token; `undefined` when it does. */
  async #hostFault(
    token: string,
    header: Record<string, unknown>,
  ): Promise<TokenError | undefined> {
    if (!isHostAlgorithm(header)) return new TokenError('Invalid token: InvalidAlgorithm');
    try {
      await compactVerify(token, this.#keys.publicKey, { algorithms: ['ES256'] });
      return undefined;
    } catch (cause) {
      return new TokenError('Invalid token: InvalidSignature', { cause });
    }
  }

  #remember(token: string, claims: TokenClaims): void {
    if (this.#verified.size >= limits.verifiedTokensMax) {
      const [oldest] = this.#verified.keys();
      if (oldest !== undefined) this.#verified.delete(oldest);
    }
    this.#verified.set(token, claims);
  }
}

const utf8 = new TextEncoder();

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function decodePart(part: string): string {
  if (!/^[A-Za-z0-9_-]*$/.test(part) || part.length % 4 === 1) {
    throw new TokenError('Invalid token: Base64 error: not base64url without padding');
  }
  const bytes = Buffer.from(part, 'base64url');
  if (bytes.toString('base64url') !== part) {
    throw new TokenError('Invalid token: Base64 error: the last character is not canonical');
  }
  return bytes.toString('utf8');
}

/** The host's key is an EC key: no other algorithm is ever tried with it. */
function isHostAlgorithm(header: Record<string, unknown>): boolean {
  const { alg, crit } = header;
  if (typeof alg !== 'string') {
    throw new TokenError('Invalid token: JSON error: missing field `alg`');
  }
  const isKnown = /^(ES|RS|PS|HS)(256|384|512)$|^EdDSA$/.test(alg);
  if (!isKnown) throw new TokenError(`Invalid token: JSON error: unknown variant \`${alg}\``);
  return alg === 'ES256' && crit === undefined;
}
