/** The credentials that a request presents. */
export type Presented =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  /** The `Authorization` header is not a `Bearer` one. */
  | { readonly kind: 'malformed' };

/** The text of the 400 response to a malformed header. */
export const malformedText = 'Authorization is invalid: malformed token';

/**
 * Finds the token of a request: the `Authorization` header, else the query parameter `token` where
 * the endpoint reads it. The header wins even if it is invalid; an empty one never means anonymous.
 */
export function presentedToken(
  authorization: string | undefined,
  queryToken: string | undefined,
): Presented {
  if (authorization === undefined) {
    return queryToken === undefined ? { kind: 'none' } : { kind: 'token', token: queryToken };
  }
  const match = /^bearer +(\S.*)$/i.exec(authorization);
  // Trimmed here, because a pattern would take quadratic time on blanks.
  const token = match?.[1]?.trimEnd();
  return token === undefined ? { kind: 'malformed' } : { kind: 'token', token };
}
