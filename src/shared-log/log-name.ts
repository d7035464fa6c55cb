import { assert } from '../assert.ts';
import type { Brand } from '../brand.ts';
import { bigintToHex, fromHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';

/** A cluster: 128 random bits, drawn by its first host. */
export type ClusterId = Brand<bigint, 'ClusterId'>;

/**
 * A shared log: one generation of one database in one cluster. Its text is 112 hexadecimal digits,
 * those of the three one after another.
 */
export type LogName = Brand<string, 'LogName'>;

export function clusterId(raw: bigint): ClusterId {
  return BigInt.asUintN(128, raw) as ClusterId;
}

/** `generation` counts the resets of the database, from 1. */
export function logName(
  cluster: ClusterId,
  database: DatabaseIdentity,
  generation: number,
): LogName {
  assert(Number.isSafeInteger(generation) && generation >= 0, 'a generation is a whole number');
  const parts = [bigintToHex(cluster, 32), bigintToHex(database, 64)];
  return [...parts, bigintToHex(BigInt(generation), 16)].join('') as LogName;
}

/** The name as 56 bytes, the highest first, for engines that take bytes. */
export function logNameBytes(name: LogName): Uint8Array {
  const bytes = fromHex(name);
  assert(bytes?.length === 56, `no name of a shared log: ${name}`);
  return bytes;
}

/** The database whose log it is. */
export function databaseIn(name: LogName): DatabaseIdentity {
  return databaseIdentity(BigInt(`0x${databaseDigits(name)}`));
}

/** The identity of the database whose log it is, in hexadecimal digits. */
export function databaseDigits(name: LogName): string {
  return name.slice(32, 96);
}
