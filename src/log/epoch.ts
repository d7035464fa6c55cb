import type { Brand } from '../brand.ts';

/**
 * One history of a database: 64 random bits, drawn when its log is made. Within an epoch an offset
 * names one commit forever; after a restore, offsets are given again, under another epoch.
 */
export type Epoch = Brand<bigint, 'Epoch'>;

export function epoch(raw: bigint): Epoch {
  return BigInt.asUintN(64, raw) as Epoch;
}

/** The epoch of a log whose first segments, of format version 1, have none. */
export function epochOfSalt(salt: number): Epoch {
  return epoch(BigInt(salt >>> 0));
}
