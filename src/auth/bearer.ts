/** What a request presents to prove who it is. */
export type Presented =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  /** There is an `Authorization` header, but it is no `Bearer` one. */
  | { readonly kind: 'malformed' };

/** The text of the 400 answer to a malformed header. */
export const malformedText = 'Authorization is invalid: malformed token';

/**
 * Finds the token of a request: the `Authorization` header, else the query parameter `token` where
 * the endpoint reads it. The header wins even when it is bad; an empty one is never taken as
 * anonymous.
 */
export function presentedToken(
  authorization: string | undefined,
  queryToken: string | undefined,
): Presented {
  if (authorization === undefined) {
    return queryToken === undefined ? { kind: 'none' } : { kind: 'token', token: queryToken };
  }
  const match = /^bearer +(\S.*)$/i.exec(authorization);
  // Not by the pattern: for each blank it would try all blanks behind it.
  const token = match?.[1]?.trimEnd();
  return token === undefined ? { kind: 'malformed' } : { kind: 'token', token };
}
