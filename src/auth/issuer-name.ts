import { TokenError } from './token-json.ts';

/**
 * Rejects names that no OpenID Connect issuer has (OpenID Connect Core 1.0, section 1.2: a URL
 * without query and fragment), because each of these would help an attacker:
 *
 * - `|`: an identity is derived from issuer ‖ `|` ‖ subject, so (`a|b`, `c`) is the identity of
 *   (`a`, `b|c`). The owner of one path on a host with several issuers could impersonate anyone
 *   of another issuer. RFC 3986 allows no bare `|` in URLs, so no valid issuer is excluded.
 * - `?` and `#` swallow the path of the discovery document: the sender would choose the whole
 *   address that the service requests.
 * - A user or a password would be sent along.
 * - Backslashes, blanks and control characters are removed or replaced in a URL, so the requested
 *   address would differ from the text.
 */
export function requireIssuerName(issuer: string): void {
  const [found] = /[|?#\\\s\p{Cc}]/u.exec(issuer) ?? [];
  if (found !== undefined) {
    const shown = /[\s\p{Cc}]/u.test(found) ? 'a blank or control character' : `\`${found}\``;
    throw notAccepted(issuer, `the URL of an issuer must not contain ${shown}`);
  }
  if (URL.canParse(issuer) && hasUser(new URL(issuer))) {
    throw notAccepted(issuer, 'the URL of an issuer must not contain a user');
  }
}

export function hasUser({ username, password }: URL): boolean {
  return username !== '' || password !== '';
}

function notAccepted(issuer: string, why: string): TokenError {
  return new TokenError(`Issuer not accepted: ${JSON.stringify(issuer)}: ${why}`);
}
