import { currentToken } from './session-token.ts';

/**
 * The identity in the claims of the token that is signed in, if they name one. Tokens of the host
 * do; for those of issuers, `rights` of a database says it.
 */
export function identityOfToken(): string | undefined {
  const [, claims] = currentToken()?.split('.') ?? [];
  if (claims === undefined) return undefined;
  try {
    const text = atob(claims.replace(/-/g, '+').replace(/_/g, '/'));
    const identity: unknown = JSON.parse(text).hex_identity;
    return typeof identity === 'string' ? identity : undefined;
  } catch {
    return undefined;
  }
}
