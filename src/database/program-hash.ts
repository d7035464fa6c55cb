import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** Keccak-256; a parameter, because the engine has no dependencies. 32 bytes in natural order. */
export type ProgramHash = (bytes: Uint8Array) => Uint8Array;

/** 64 hex digits of a digest in natural order: how people and logs name a program. */
export function hashHex(digest: Uint8Array): string {
  let hex = '';
  for (const byte of digest) hex += byte.toString(16).padStart(2, '0');
  return hex;
}

/** The JSON form of a hash, given in hex: `0x` and the bytes in reverse, without leading zeros. */
export function hashJson(hex: string): string {
  const bytes = hex.match(/../g) ?? [];
  const digits = bytes.reverse().join('').replace(/^0+/, '');
  return `0x${digits === '' ? '0' : digits}`;
}

/**
 * The string that binds a consent to break clients to one exact transition. It is not a secret:
 * anyone who has both programs can compute it.
 */
export function migrationToken(
  hash: ProgramHash,
  identity: DatabaseIdentity,
  oldProgram: string,
  newProgram: string,
): string {
  const text = identityToHex(identity) + oldProgram + newProgram;
  return hashJson(hashHex(hash(new TextEncoder().encode(text))));
}
