import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { limits } from '../limits.ts';
import { TokenError } from './token-json.ts';

/** A public key of an issuer and the only algorithms it is used with. */
export interface IssuerKey {
  readonly kid: string;
  readonly key: KeyObject;
  readonly algorithms: readonly string[];
}

/** Shorter RSA keys can be factored. */
const rsaBitsMin = 2048;
/** Longer keys, like larger exponents, would let an issuer make each check arbitrarily slow. */
const rsaBitsMax = 8192;
const rsaExponentMax = 0xffff_ffffn;
/** With the exponent 1, anyone can sign. */
const rsaExponentMin = 3n;

/**
 * Reads a JSON Web Key Set (RFC 7517). Keys of unsupported types or uses are skipped. A key without
 * `kid` makes the whole set unusable, because its tokens cannot be identified. Throws an `Error`
 * that says what was wrong.
 */
export function readKeySet(document: unknown): readonly IssuerKey[] {
  const keys = (document as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) throw new Error('the key set has no `keys`');
  if (keys.length > limits.issuerKeysMax) {
    throw new Error(`the key set has ${keys.length} keys (at most ${limits.issuerKeysMax})`);
  }
  return keys.flatMap((entry: unknown) => {
    const jwk = entry as JsonWebKey & { kid?: unknown; use?: unknown; key_ops?: unknown };
    const kid = jwk?.kid;
    if (typeof kid !== 'string') throw new Error('a key of the set has no `kid`');
    if (jwk.use !== undefined && jwk.use !== 'sig') return [];
    if (Array.isArray(jwk.key_ops) && !jwk.key_ops.includes('verify')) return [];
    const key = publicKey(jwk);
    if (key === undefined) return [];
    const fitting = algorithmsFor(key);
    const algorithms = jwk.alg === undefined ? fitting : fitting.filter((one) => one === jwk.alg);
    return algorithms.length === 0 ? [] : [{ kid, key, algorithms }];
  });
}

/** Returns the keys that may have signed a token: that of its `kid`, or all if it names none. */
export function keysFor(keys: readonly IssuerKey[], kid: string | undefined): readonly IssuerKey[] {
  if (kid === undefined) return keys;
  const named = keys.filter((key) => key.kid === kid);
  if (named.length === 0) throw new TokenError('Specified key ID not found in JWKs');
  return named;
}

function publicKey(jwk: JsonWebKey): KeyObject | undefined {
  // A set should hold public keys only; of a private key, only the public part is used.
  if (jwk.kty === 'oct') return undefined;
  try {
    return createPublicKey({ key: jwk, format: 'jwk' });
  } catch {
    return undefined;
  }
}

/** Returns the algorithms for the type of a key; it is never used with any other. */
function algorithmsFor(key: KeyObject): readonly string[] {
  const { namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'ec':
      if (namedCurve === 'prime256v1') return ['ES256'];
      return namedCurve === 'secp384r1' ? ['ES384'] : [];
    case 'rsa':
      return isFitRsa(key) ? ['RS256', 'PS256'] : [];
    case 'ed25519':
      return ['EdDSA'];
    default:
      return [];
  }
}

function isFitRsa({ asymmetricKeyDetails }: KeyObject): boolean {
  const { modulusLength: bits = 0, publicExponent = 0n } = asymmetricKeyDetails ?? {};
  if (bits < rsaBitsMin || bits > rsaBitsMax) return false;
  return publicExponent >= rsaExponentMin && publicExponent <= rsaExponentMax;
}
