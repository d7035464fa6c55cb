import type { Identity } from '../values/identity.ts';

/**
 * The claims of the caller's token.
 *
 * @example
 * ```ts
 * const issuer = ctx.senderAuth.jwt?.issuer;
 * ```
 */
export interface JwtClaims {
  /** The token's payload as it was sent: JSON text. */
  readonly rawPayload: string;
  readonly subject: string;
  readonly issuer: string;
  /** Empty when the token names none. */
  readonly audience: readonly string[];
  readonly identity: Identity;
  /** Every claim, parsed. */
  readonly fullPayload: Readonly<Record<string, unknown>>;
}

/**
 * Details of the caller beyond its identity.
 *
 * @example
 * ```ts
 * if (!ctx.senderAuth.hasJWT) throw new SenderError('sign in first');
 * ```
 */
export interface AuthCtx {
  /** True if the database itself is the caller. */
  readonly isInternal: boolean;
  /** True if the caller presented a token. */
  readonly hasJWT: boolean;
  readonly jwt: JwtClaims | null;
}

/** `payload` is the token's middle part as JSON text, empty when there is no token. */
export function authOf(payload: string, sender: Identity, isInternal: boolean): AuthCtx {
  return { isInternal, hasJWT: payload !== '', jwt: payload === '' ? null : claims() };

  function claims(): JwtClaims {
    const fullPayload = JSON.parse(payload) as Record<string, unknown>;
    const { sub, iss, aud } = fullPayload;
    return {
      rawPayload: payload,
      subject: String(sub ?? ''),
      issuer: String(iss ?? ''),
      audience: Array.isArray(aud) ? aud.map(String) : aud === undefined ? [] : [String(aud)],
      identity: sender,
      fullPayload,
    };
  }
}
