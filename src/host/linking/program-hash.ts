import { keccak_256 } from '@noble/hashes/sha3.js';
import { nextTurn } from '../../node/next-turn.ts';

/** Programs are large, and several parties hash the same one. Program bytes are never modified. */
const known = new WeakMap<Uint8Array, Uint8Array>();

/** Keccak-256 with the original padding; it identifies a program. */
export function programHash(bytes: Uint8Array): Uint8Array {
  const before = known.get(bytes);
  if (before !== undefined) return before;
  const hash = keccak_256(bytes);
  known.set(bytes, hash);
  return hash;
}

/** Remembers a stored hash of these bytes: computing it takes tens of milliseconds. */
export function rememberHash(bytes: Uint8Array, hash: Uint8Array): void {
  known.set(bytes, hash);
}

/** Longest time, in milliseconds, for which hashing blocks a thread. */
const sliceMillis = 4;
const sliceBytes = 32 * 1024;

/** `programHash` for the gateway's thread: a large program takes a second. */
export async function programHashInSlices(bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes.length <= sliceBytes || known.has(bytes)) return programHash(bytes);
  const state = keccak_256.create();
  let started = performance.now();
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    state.update(bytes.subarray(at, at + sliceBytes));
    if (performance.now() - started < sliceMillis) continue;
    await nextTurn();
    started = performance.now();
  }
  const hash = state.digest();
  known.set(bytes, hash);
  return hash;
}
