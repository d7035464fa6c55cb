import { TokenError } from './token-json.ts';

/** Where an issuer says what it is (OpenID Connect Discovery 1.0, section 4). */
export function discoveryAddress(issuer: string): string {
  return `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
}

/**
 * The address of the issuer's key set, by its discovery document. Throws `TokenError` when the
 * document is another issuer's, and an `Error` when it names no keys, or keys that come less safely
 * than itself.
 */
export function keysAddressIn(document: unknown, issuer: string): string {
  const { issuer: stated, jwks_uri: address } = (document ?? {}) as Record<string, unknown>;
  if (typeof stated === 'string') requireSameIssuer(stated, issuer);
  if (typeof address !== 'string') throw new Error('the issuer names no `jwks_uri`');
  if (isSecure(issuer) && !isSecure(address)) {
    throw new Error('the issuer is asked by https, but its `jwks_uri` is not');
  }
  return address;
}

/** One slash at the end makes no other issuer. */
function requireSameIssuer(stated: string, expected: string): void {
  if (stated.replace(/\/$/, '') === expected.replace(/\/$/, '')) return;
  throw new TokenError(`Issuer mismatch: got "${stated}", expected "${expected}"`);
}

function isSecure(address: string): boolean {
  return new URL(address).protocol === 'https:';
}
