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

/** Where people log in at an issuer, and where their codes are redeemed. */
export interface LoginEndpoints {
  readonly authorization: string;
  readonly token: string;
  /** Whether a client's secret goes into the form instead of a header. */
  readonly takesSecretInForm: boolean;
}

/**
 * Reads the endpoints from an issuer's discovery document. Throws as `keysAddressIn` does; unlike
 * there, the document must say whose it is.
 */
export function loginEndpointsIn(document: unknown, issuer: string): LoginEndpoints {
  const read = (document ?? {}) as Record<string, unknown>;
  const { issuer: stated, token_endpoint_auth_methods_supported: ways } = read;
  if (typeof stated !== 'string') throw new Error('the discovery document names no `issuer`');
  requireSameIssuer(stated, issuer);
  const endpoint = (name: string): string => {
    const { [name]: address } = read;
    if (typeof address !== 'string' || !URL.canParse(address)) {
      throw new Error(`the issuer names no \`${name}\``);
    }
    if (!/^https?:$/.test(new URL(address).protocol) || (isSecure(issuer) && !isSecure(address))) {
      throw new Error(`the \`${name}\` of the issuer is not an https address`);
    }
    return address;
  };
  const listed: readonly unknown[] = Array.isArray(ways) ? ways : ['client_secret_basic'];
  return {
    authorization: endpoint('authorization_endpoint'),
    token: endpoint('token_endpoint'),
    takesSecretInForm: !listed.includes('client_secret_basic'),
  };
}

/** Compares issuers, ignoring one trailing slash. */
function requireSameIssuer(stated: string, expected: string): void {
  if (stated.replace(/\/$/, '') === expected.replace(/\/$/, '')) return;
  throw new TokenError(`Issuer mismatch: got "${stated}", expected "${expected}"`);
}

function isSecure(address: string): boolean {
  return new URL(address).protocol === 'https:';
}
