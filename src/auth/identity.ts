import { blake3 } from '@noble/hashes/blake3.js';

/**
 * Derives the identity that an issuer's subject has on every host: a 256-bit number.
 *
 * With `h` = BLAKE3(issuer ‖ `|` ‖ subject) and `p` = its first 26 bytes, the identity's big-endian
 * bytes are `c2 00` ‖ first 4 bytes of BLAKE3(`c2 00` ‖ p) ‖ p. The texts are taken byte for byte
 * as UTF-8: a trailing slash in the issuer makes a different identity.
 */
export function deriveIdentity(issuer: string, subject: string): bigint {
  const digest = blake3(utf8.encode(`${issuer}|${subject}`));
  const bytes = new Uint8Array(32);
  bytes[0] = 0xc2;
  bytes.set(digest.subarray(0, 26), 6);
  const checked = new Uint8Array(28);
  checked[0] = 0xc2;
  checked.set(digest.subarray(0, 26), 2);
  bytes.set(blake3(checked).subarray(0, 4), 2);
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

const utf8 = new TextEncoder();
