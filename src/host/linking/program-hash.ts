import { createHash } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { limits } from '../../limits.ts';
import { nextTurn } from '../../node/next-turn.ts';

/** Programs are large, and several parties hash the same one. Program bytes are never modified. */
const known = new WeakMap<Uint8Array, Uint8Array>();

/**
 * Hashes of recent programs by their SHA-256, in order of last use: the engine computes that a
 * hundred times as fast, and the same program is often published as several databases.
 */
const recent = new Map<string, Uint8Array>();

/** Keccak-256 with the original padding; it identifies a program. */
export function programHash(bytes: Uint8Array): Uint8Array {
  return known.get(bytes) ?? recentHash(bytes) ?? remembered(bytes, keccak_256(bytes));
}

/** Remembers a stored hash of these bytes: computing it takes tens of milliseconds. */
export function rememberHash(bytes: Uint8Array, hash: Uint8Array): void {
  known.set(bytes, hash);
}

function recentHash(bytes: Uint8Array): Uint8Array | undefined {
  const key = keyOf(bytes);
  const hash = recent.get(key);
  if (hash === undefined) return undefined;
  recent.delete(key);
  recent.set(key, hash);
  known.set(bytes, hash);
  return hash;
}

function remembered(bytes: Uint8Array, hash: Uint8Array): Uint8Array {
  known.set(bytes, hash);
  recent.set(keyOf(bytes), hash);
  const [oldest] = recent.keys();
  if (oldest !== undefined && recent.size > limits.recentHashesMax) recent.delete(oldest);
  return hash;
}

function keyOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}

/** About as much as is hashed in a millisecond or two. */
const sliceBytes = 256 * 1024;

/**
 * `programHash` by WebAssembly, which takes a tenth of the time but has to be loaded first, and in
 * slices: for the gateway's thread, and for everyone else who can wait.
 */
export async function programHashInSlices(bytes: Uint8Array): Promise<Uint8Array> {
  const before = known.get(bytes) ?? recentHash(bytes);
  if (before !== undefined) return before;
  const { createKeccak } = await import('hash-wasm');
  // Each has a state of its own: others may be hashed between its slices.
  const state = await createKeccak(256);
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    if (at > 0) await nextTurn();
    state.update(bytes.subarray(at, at + sliceBytes));
  }
  return remembered(bytes, state.digest('binary'));
}
