import type { Brand } from '../brand.ts';

/**
 * The roles in which an identity occurs. All are 256-bit numbers from the same space; each role has
 * a type of its own, so that an owner is never passed for a database. They are plain bigints at run
 * time.
 */

/** Identity of a caller: the subject of a token, the sender of a call, the grantee of a role. */
export type CallerIdentity = Brand<bigint, 'CallerIdentity'>;

/** Identity that a database or a name belongs to. */
export type OwnerIdentity = Brand<bigint, 'OwnerIdentity'>;

export type DatabaseIdentity = Brand<bigint, 'DatabaseIdentity'>;

/** Mints a caller. `raw` is unsigned, at most 256 bits: what every decoder of identities gives. */
export function callerIdentity(raw: bigint): CallerIdentity {
  return raw as CallerIdentity;
}

/** Mints an owner from what a registry or a log recorded, or an operator wrote. */
export function ownerIdentity(raw: bigint): OwnerIdentity {
  return raw as OwnerIdentity;
}

/** Mints a database's identity; whether that database exists is not checked. */
export function databaseIdentity(raw: bigint): DatabaseIdentity {
  return raw as DatabaseIdentity;
}

/** The caller as the owner of what it creates, or of what it owns already. */
export function asOwner(caller: CallerIdentity): OwnerIdentity {
  return ownerIdentity(caller);
}

/** The owner as a caller: as the sender of `init`, and where its own rights are asked for. */
export function asCaller(owner: OwnerIdentity): CallerIdentity {
  return callerIdentity(owner);
}

/** A database as a caller: the sender of its scheduled reducers. */
export function databaseAsCaller(database: DatabaseIdentity): CallerIdentity {
  return callerIdentity(database);
}

export function owns(caller: CallerIdentity, owner: OwnerIdentity): boolean {
  return asOwner(caller) === owner;
}
