import { createHash } from 'node:crypto';

/** 32 bytes, at half a gigabyte a second or so. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
