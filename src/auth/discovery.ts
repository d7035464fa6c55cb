import { TokenError } from './token-json.ts';

/** Returns the address of an issuer's metadata (OpenID Connect Discovery 1.0, section 4). */
export function discoveryAddress(issuer: string): string {
  return `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
}

/**
 * Returns the address of the issuer's key set from its discovery document. Throws `TokenError` if
 * the document belongs to another issuer, and an `Error` if it names no keys or an address that is
 * less secure than its own.
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

/** Compares issuers, ignoring one trailing slash. */
function requireSameIssuer(stated: string, expected: string): void {
  if (stated.replace(/\/$/, '') === expected.replace(/\/$/, '')) return;
  throw new TokenError(`Issuer mismatch: got "${stated}", expected "${expected}"`);
}

function isSecure(address: string): boolean {
  return new URL(address).protocol === 'https:';
}
