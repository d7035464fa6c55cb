import { parseObject, TokenError } from './token-json.ts';

/** The parts of a compact JWS, not yet verified. */
export interface TokenParts {
  readonly header: TokenHeader;
  /** The middle part, decoded, byte for byte. */
  readonly payload: string;
}

export interface TokenHeader {
  /** One of the JWS algorithm names; not necessarily an accepted one. */
  readonly alg: string;
  readonly kid: string | undefined;
  /** Whether the token demands extensions; none are supported. */
  readonly hasCritical: boolean;
}

/** Splits and decodes a token, or throws `TokenError`. */
export function tokenParts(token: string): TokenParts {
  const parts = token.split('.');
  if (parts.length !== 3) throw new TokenError('Invalid token: InvalidToken');
  const [header, payload] = parts.map(bytesOf);
  return { header: readHeader(parseObject(textOf(header))), payload: textOf(payload) };
}

function bytesOf(part: string): Uint8Array {
  if (!/^[A-Za-z0-9_-]*$/.test(part) || part.length % 4 === 1) {
    throw new TokenError('Invalid token: Base64 error: not base64url without padding');
  }
  const bytes = Buffer.from(part, 'base64url');
  if (bytes.toString('base64url') !== part) {
    throw new TokenError('Invalid token: Base64 error: the last character is not canonical');
  }
  return bytes;
}

/** Decodes UTF-8 strictly, so that different bytes never give the same text. */
function textOf(bytes: Uint8Array | undefined): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new TokenError('Invalid token: JSON error: not UTF-8', { cause });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readHeader({ alg, kid, crit }: Record<string, unknown>): TokenHeader {
  if (typeof alg !== 'string') {
    throw new TokenError('Invalid token: JSON error: missing field `alg`');
  }
  const isKnown = /^(ES|RS|PS|HS)(256|384|512)$|^EdDSA$/.test(alg);
  if (!isKnown) throw new TokenError(`Invalid token: JSON error: unknown variant \`${alg}\``);
  if (kid !== undefined && typeof kid !== 'string') {
    throw new TokenError('Invalid token: JSON error: `kid` is not a string');
  }
  return { alg, kid, hasCritical: crit !== undefined };
}
