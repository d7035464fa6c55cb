import type { Brand } from '../brand.ts';

/** A host: 128 random bits, kept in its data folder. */
export type HostId = Brand<bigint, 'HostId'>;

/**
 * One run of a host: 128 random bits, drawn at each start. It tells the writers of entries apart.
 */
export type BootId = Brand<bigint, 'BootId'>;

export function hostId(raw: bigint): HostId {
  return BigInt.asUintN(128, raw) as HostId;
}

export function bootId(raw: bigint): BootId {
  return BigInt.asUintN(128, raw) as BootId;
}
