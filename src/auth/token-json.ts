/** The token is rejected. The message is the body of the 401 response. */
export class TokenError extends Error {
  override readonly name = 'TokenError';
}

/** Parses one of a token's parts, which must be a JSON object. */
export function parseObject(text: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new TokenError(`Invalid token: JSON error: ${(cause as Error).message}`, { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new TokenError('Invalid token: JSON error: expected an object');
  }
  return parsed as Record<string, unknown>;
}
