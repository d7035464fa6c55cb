import { fromHex } from '../values/hex.ts';
import { TimeDuration } from '../values/time-duration.ts';
import { Timestamp } from '../values/timestamp.ts';
import { hmacSha256 } from './hmac-sha256.ts';
import type { Request } from './http-messages.ts';

/**
 * Who signed a request, and how it is checked.
 *
 * @example
 * ```ts
 * const options: SignatureOptions = { secret: 'whsec_example', scheme: 'stripe' };
 * ```
 */
export interface SignatureOptions {
  /** The secret as the sender shows it, with `whsec_` where it has that. */
  readonly secret: string;
  readonly scheme: 'stripe' | 'github' | 'standard-webhooks';
  /** How far the time of the signature may be from `now`: 5 minutes unless given. */
  readonly tolerance?: TimeDuration;
  /** The time of the call unless given. */
  readonly now?: Timestamp;
}

/**
 * True if exactly this body was signed with the secret, and not long ago. Use it only then.
 *
 * Signatures of `github` have no time: anyone who saw a request can send it again. Keep the values
 * of `x-github-delivery` in a table where that matters.
 *
 * @throws {TypeError} if the secret or the scheme cannot be one
 *
 * @example
 * ```ts
 * export const paid = db.httpHandler((_ctx, request) => {
 *   if (!verifySignature(request, { secret: 'whsec_example', scheme: 'stripe' })) {
 *     return new SyncResponse('who are you?', { status: 401 });
 *   }
 *   console.info(request.json().type);
 *   return new SyncResponse();
 * });
 * ```
 */
export function verifySignature(request: Request, options: SignatureOptions): boolean {
  const signed = signedBy(request, options);
  if (signed === undefined || !isRecent(signed.time, options)) return false;
  const expected = hmacSha256(signed.key, new TextEncoder().encode(signed.before), request.bytes());
  let matches = 0;
  // Each is compared in full, so that the time taken tells nothing about the right one.
  for (const given of signed.signatures) matches |= Number(isSame(given, expected));
  return matches !== 0;
}

/** What a request says about its signature. */
interface Signed {
  readonly key: Uint8Array;
  readonly signatures: readonly Uint8Array[];
  /** What is signed in front of the body. */
  readonly before: string;
  /** Seconds as text, where the scheme has a time. */
  readonly time: string | undefined;
}

function signedBy(request: Request, { scheme, secret }: SignatureOptions): Signed | undefined {
  if (typeof secret !== 'string' || secret === '') {
    throw new TypeError('verifySignature: the secret must be a text that is not empty');
  }
  switch (scheme) {
    case 'stripe':
      return signedByStripe(request, new TextEncoder().encode(secret));
    case 'github':
      return signedByGithub(request, new TextEncoder().encode(secret));
    case 'standard-webhooks':
      return signedByStandard(request, standardKey(secret));
    default:
      throw new TypeError(`verifySignature: there is no scheme ${String(scheme)}`);
  }
}

/** `t=1492774577,v1=HEX,v1=HEX,v0=…`: while a secret is changed there is a signature for each. */
function signedByStripe({ headers }: Request, key: Uint8Array): Signed | undefined {
  const parts = (headers.get('stripe-signature') ?? '').split(',').map((part) => part.trim());
  const valuesOf = (name: string) =>
    parts.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));
  const [time, ...others] = valuesOf('t');
  if (time === undefined || others.length > 0) return undefined;
  return { key, signatures: valuesOf('v1').flatMap(hexBytes), before: `${time}.`, time };
}

/** `sha256=HEX` of the body alone. */
function signedByGithub({ headers }: Request, key: Uint8Array): Signed | undefined {
  const header = headers.get('x-hub-signature-256') ?? '';
  if (!header.startsWith('sha256=')) return undefined;
  const signatures = hexBytes(header.slice('sha256='.length));
  return { key, signatures, before: '', time: undefined };
}

/** `v1,BASE64 v1,BASE64 v1a,…` of id, time and body. */
function signedByStandard({ headers }: Request, key: Uint8Array): Signed | undefined {
  const id = headers.get('webhook-id');
  const time = headers.get('webhook-timestamp');
  if (id === null || id === '' || time === null) return undefined;
  const signatures = (headers.get('webhook-signature') ?? '')
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .flatMap((part) => base64Bytes(part.slice('v1,'.length)) ?? []);
  return { key, signatures, before: `${id}.${time}.`, time };
}

function standardKey(secret: string): Uint8Array {
  const prefix = 'whsec_';
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
  const key = base64Bytes(text);
  if (key === undefined || key.byteLength === 0) {
    throw new TypeError('verifySignature: the secret of standard-webhooks must be base64');
  }
  return key;
}

/** False for times that are no number of seconds. */
function isRecent(time: string | undefined, options: SignatureOptions): boolean {
  if (time === undefined) return true;
  if (!/^[0-9]{1,15}$/.test(time)) return false;
  const { now = Timestamp.now(), tolerance = defaultTolerance } = options;
  const past = now.microsSinceUnixEpoch - BigInt(time) * 1_000_000n;
  return (past < 0n ? -past : past) <= tolerance.micros;
}

/** Takes equally long wherever two of equal length differ. */
function isSame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.byteLength !== other.byteLength) return false;
  let difference = 0;
  for (let at = 0; at < one.byteLength; at += 1) {
    difference |= (one[at] as number) ^ (other[at] as number);
  }
  return difference === 0;
}

function hexBytes(text: string): Uint8Array[] {
  const bytes = fromHex(text);
  return bytes === undefined ? [] : [bytes];
}

/** The bytes of base64 text, with or without `=` at its end, or `undefined`. */
function base64Bytes(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '');
  if (digits.length % 4 === 1 || !/^[A-Za-z0-9+/]*$/.test(digits)) return undefined;
  const bytes: number[] = [];
  let bits = 0;
  let bitCount = 0;
  for (const digit of digits) {
    bits = ((bits << 6) | base64Digits.indexOf(digit)) & 0xffff;
    bitCount += 6;
    if (bitCount < 8) continue;
    bitCount -= 8;
    bytes.push((bits >>> bitCount) & 0xff);
  }
  return Uint8Array.from(bytes);
}

const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const defaultTolerance = /* @__PURE__ */ TimeDuration.fromMillis(5 * 60_000);
