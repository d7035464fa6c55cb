import type { Role } from '../../database/rights.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import { decoderOf } from '../../values/decode.ts';
import {
  type CallerIdentity,
  callerIdentity,
  type DatabaseIdentity,
  databaseIdentity,
  type OwnerIdentity,
  ownerIdentity,
} from '../../values/identity-roles.ts';
import type { Value } from '../../values/value.ts';
import type { DatabaseRecord } from './database-record.ts';
import { type QuotaSubject, quotaSubject } from './quota-limits.ts';
import { registryTables } from './registry-module.ts';

export type RegistryTable = keyof typeof registryTables;

/** A database as the registry knows it. */
export interface RegisteredDatabase extends DatabaseRecord {
  /** Counts the directories of this database: each reset creates a new one. */
  readonly generation: number;
}

export interface RegisteredName {
  readonly name: string;
  readonly owner: OwnerIdentity;
  /** `undefined` when the name was released. A deleted database keeps its names. */
  readonly database: DatabaseIdentity | undefined;
}

/** A role that an identity has in a database, besides the rights that everyone has there. */
export interface Grant {
  readonly database: DatabaseIdentity;
  readonly identity: CallerIdentity;
  readonly role: Role;
  readonly grantedBy: CallerIdentity;
  /** Microseconds since the Unix epoch. */
  readonly grantedMicros: bigint;
}

/** A limited token that was handed out. */
export interface IssuedToken {
  /** The `jti` of the token. */
  readonly id: string;
  readonly database: DatabaseIdentity;
  readonly issuedBy: CallerIdentity;
  /** The rights of the token, as JSON text. */
  readonly capability: string;
  readonly issuedMicros: bigint;
  /** Microseconds since the Unix epoch; 0: it does not expire. */
  readonly untilMicros: bigint;
}

/** A token that is no longer valid. */
export interface RevokedToken {
  /**
   * The `jti` of the token; or `signed:` and the digest of what was signed; from earlier versions
   * `sha256:` and the digest of the token with its signature.
   */
  readonly id: string;
  /** When it would have expired, microseconds since the Unix epoch; 0: it would not. */
  readonly untilMicros: bigint;
  readonly revokedBy: CallerIdentity;
  readonly revokedMicros: bigint;
}

/** Whom a change that takes rights away concerns. */
export type Loss =
  | { readonly kind: 'token'; readonly id: string }
  | {
      readonly kind: 'role';
      readonly database: DatabaseIdentity;
      readonly identity: CallerIdentity;
    };

/** A quota that an operator set for one identity or database, in place of the configured one. */
export interface QuotaRow {
  readonly subject: QuotaSubject;
  readonly name: string;
  /** `undefined`: any amount. */
  readonly amount: number | undefined;
}

/** Rows of a table, by their `number`, which comes last. */
export function decodedRows(table: RegistryTable, bytes: Uint8Array): (readonly Value[])[] {
  const decode = decoderOf(registryTables[table]);
  const reader = new BinaryReader(bytes);
  const rows: (readonly Value[])[] = [];
  while (reader.remaining > 0) rows.push(decode(reader) as readonly Value[]);
  return rows.sort((one, other) => (numberOf(one) < numberOf(other) ? -1 : 1));
}

function numberOf(row: readonly Value[]): bigint {
  return row.at(-1) as bigint;
}

export function databaseOf(row: readonly Value[]): RegisteredDatabase {
  return {
    identity: databaseIdentity(row[0] as bigint),
    owner: ownerIdentity(row[1] as bigint),
    hostType: row[2] === 'wasm' ? 'wasm' : 'js',
    initialProgram: row[3] as string,
    createdMicros: row[4] as bigint,
    isLocked: row[5] as boolean,
    generation: row[6] as number,
  };
}

export function nameOf(row: readonly Value[]): RegisteredName {
  const database = row[2] as bigint;
  return {
    name: row[0] as string,
    owner: ownerIdentity(row[1] as bigint),
    database: database === 0n ? undefined : databaseIdentity(database),
  };
}

export function grantOf(row: readonly Value[]): Grant {
  return {
    database: databaseIdentity(row[1] as bigint),
    identity: callerIdentity(row[2] as bigint),
    role: row[3] as Role,
    grantedBy: callerIdentity(row[4] as bigint),
    grantedMicros: row[5] as bigint,
  };
}

export function grantKey(database: DatabaseIdentity, identity: CallerIdentity): string {
  return `${database.toString(16)} ${identity.toString(16)}`;
}

/** Stands for any amount: more than can ever be used. */
export const anyAmount = Number.MAX_SAFE_INTEGER;

export function quotaKey(subject: QuotaSubject, name: string): string {
  return `${subject.toString(16)} ${name}`;
}

export function quotaOf(row: readonly Value[]): QuotaRow {
  const amount = Number(row[3] as bigint);
  const isAny = amount >= anyAmount;
  return {
    subject: quotaSubject(row[1] as bigint),
    name: row[2] as string,
    amount: isAny ? undefined : amount,
  };
}

export function revokedTokenOf(row: readonly Value[]): RevokedToken {
  return {
    id: row[0] as string,
    untilMicros: row[1] as bigint,
    revokedBy: callerIdentity(row[2] as bigint),
    revokedMicros: row[3] as bigint,
  };
}

export function issuedTokenOf(row: readonly Value[]): IssuedToken {
  return {
    id: row[0] as string,
    database: databaseIdentity(row[1] as bigint),
    issuedBy: callerIdentity(row[2] as bigint),
    capability: row[3] as string,
    issuedMicros: row[4] as bigint,
    untilMicros: row[5] as bigint,
  };
}
