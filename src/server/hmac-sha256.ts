import { joinBytes } from '../values/bytes.ts';
import { sha256 } from '../values/sha256.ts';

/**
 * The code that only holders of `key` can compute for all `parts`, one after another: HMAC with
 * SHA-256 (RFC 2104), 32 bytes. The sandbox of modules has no cryptography of its own.
 */
export function hmacSha256(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  const block = new Uint8Array(blockBytes);
  block.set(key.byteLength > blockBytes ? sha256(key) : key);
  const inner = sha256(joinBytes([block.map((byte) => byte ^ 0x36), ...parts]));
  return sha256(joinBytes([block.map((byte) => byte ^ 0x5c), inner]));
}

const blockBytes = 64;
