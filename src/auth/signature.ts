import { createHash, type KeyObject, sign } from 'node:crypto';

/**
 * The parts of a compact JWS that can be varied without the key, and those that cannot.
 *
 * An ECDSA signature is `r ‖ s`, two numbers of equal length. If (r, s) is valid, so is (r, n − s),
 * for the same text and key (SEC 1, 4.1.4). The one with s ≤ n / 2 is called *low*. Other issuers
 * produce either, so a token is never revoked by its text, but by the digest of what was signed,
 * header and payload, which cannot be varied without the key. `tokenParts` accepts only one
 * spelling of each part.
 */

/** Orders of the groups of the accepted ECDSA algorithms (SEC 2). */
const orders: ReadonlyMap<string, bigint> = new Map([
  ['ES256', 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n],
  ['ES384', 2n ** 384n - 0x389cb27e0bc8d220a7e5f24db74f58851313e695333ad68dn],
]);

/** Returns the id by which a token is revoked, independent of its signature. */
export function signedId(token: string): string {
  return `signed:${sha256(token.slice(0, token.lastIndexOf('.')))}`;
}

/**
 * Returns the ids by which earlier versions revoked a token: the digest of its text with the
 * signature. An ECDSA token has two texts, so its twin is rejected with it.
 */
export function formerIds(token: string, algorithm: string): readonly string[] {
  const texts = [token, twinOf(token, algorithm)];
  return texts.flatMap((text) => (text === undefined ? [] : [`sha256:${sha256(text)}`]));
}

/** Whether the token's signature is the higher one of an ECDSA pair. */
export function isHighSigned(token: string, algorithm: string): boolean {
  const order = orders.get(algorithm);
  return order !== undefined && numbersOf(token).s > order / 2n;
}

/**
 * Signs a payload as a compact JWS (RFC 7515, 7.1) with ES256 (RFC 7518, 3.4), with the lower of
 * its two signatures. Each anonymous request gets a token. Signing takes 30 µs in this thread, and
 * five times that through another thread, which the token library uses.
 */
export function signedCompact(payload: string, privateKey: KeyObject): string {
  const body = `${es256Header}.${base64url(payload)}`;
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  const signature = sign('sha256', Buffer.from(body), key).toString('base64url');
  return lowSigned(`${body}.${signature}`, 'ES256');
}

/** Returns the token with the lower of its two signatures. */
export function lowSigned(token: string, algorithm: string): string {
  return isHighSigned(token, algorithm) ? (twinOf(token, algorithm) ?? token) : token;
}

const es256Header = base64url(JSON.stringify({ typ: 'JWT', alg: 'ES256' }));

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** Returns the token with the other signature; `undefined` if there is none. */
function twinOf(token: string, algorithm: string): string | undefined {
  const order = orders.get(algorithm);
  if (order === undefined) return undefined;
  const { body, first, s } = numbersOf(token);
  if (s <= 0n || s >= order) return undefined;
  const second = (order - s).toString(16).padStart(first.length * 2, '0');
  const signature = Buffer.concat([first, Buffer.from(second, 'hex')]).toString('base64url');
  return `${body}.${signature}`;
}

function numbersOf(token: string) {
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  const first = signature.subarray(0, signature.length / 2);
  const second = signature.subarray(signature.length / 2).toString('hex');
  return { body: token.slice(0, end), first, s: BigInt(`0x0${second}`) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
