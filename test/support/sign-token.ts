import { createSign, type KeyObject } from 'node:crypto';
import { lowSigned } from '../../src/auth/signature.ts';

/** One part of a token: JSON, or the bytes of a text. */
export function tokenPart(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return Buffer.from(text).toString('base64url');
}

/**
 * A token signed with the key of a host (EC P-256), whatever its header and its claims say, with
 * the lower one of its two signatures. A text is taken as it is.
 */
export function signToken(
  key: KeyObject,
  claims: object | string,
  header: object | string = { typ: 'JWT', alg: 'ES256' },
): string {
  const body = `${tokenPart(header)}.${tokenPart(claims)}`;
  const signature = createSign('SHA256').update(body).sign({ key, dsaEncoding: 'ieee-p1363' });
  return lowSigned(`${body}.${signature.toString('base64url')}`, 'ES256');
}
