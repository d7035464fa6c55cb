import { keccak_256 } from '@noble/hashes/sha3.js';

/** Keccak-256 with the original padding: what names a program. */
export function programHash(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}
