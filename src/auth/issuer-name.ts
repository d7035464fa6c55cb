import { TokenError } from './token-json.ts';

/**
 * Refuses names that no issuer of OpenID Connect has (OpenID Connect Core 1.0, section 1.2: a URL
 * without query and fragment), because each of these would let a sender of tokens gain something:
 *
 * - `|`: an identity is derived from issuer ‖ `|` ‖ subject, so (`a|b`, `c`) is the identity of
 *   (`a`, `b|c`). Who has one path of a host that serves several issuers could be anybody of
 *   another one. RFC 3986 has no bare `|` in URLs, so that no proper issuer is lost.
 * - `?` and `#` swallow the path of the discovery document: the sender would choose all of the
 *   address that is asked.
 * - A user or a password would be sent along.
 * - Backslashes, blanks and control characters vanish or turn into others in a URL: the text would
 *   not be the address.
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
