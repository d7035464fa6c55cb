import { encodeValue } from '../../values/encode.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { Value } from '../../values/value.ts';
import { databaseQuotas } from './quota-limits.ts';
import { registryTables } from './registry-module.ts';
import type { RegistryTable } from './registry-rows.ts';

/** All rows of a registry, each with its number. */
export type RegistryContent = ReadonlyMap<RegistryTable, readonly (readonly Value[])[]>;

/** Rows that one registry takes over from another at once. */
export interface RegistryPart {
  /** What they are about; `undefined`: no database. */
  readonly database: DatabaseIdentity | undefined;
  readonly rows: readonly RegistryPartRow[];
}

export interface RegistryPartRow {
  readonly table: RegistryTable;
  /** Encoded, with its number. */
  readonly bytes: Uint8Array;
}

/** Everything about one database: its record, names, roles, tokens, values, settings. */
export function partOf(content: RegistryContent, database: DatabaseIdentity): RegistryPart {
  return { database, rows: rowsWhere(content, (table, row) => ownerOf(table, row) === database) };
}

/**
 * What is about no database that is there: released names, tokens that are no longer valid, quotas
 * of people.
 */
export function restOf(content: RegistryContent): RegistryPart {
  const known = new Set((content.get('database') ?? []).map(([identity]) => identity));
  const isRest = (table: RegistryTable, row: readonly Value[]) => {
    const owner = ownerOf(table, row);
    return owner === undefined || (table === 'name' && !known.has(owner));
  };
  return { database: undefined, rows: rowsWhere(content, isRest) };
}

/** What one database needs of `restOf` where it is alone. */
export function restFor(content: RegistryContent, database: DatabaseIdentity): RegistryPart {
  const [record] = (content.get('database') ?? []).filter(([one]) => one === database);
  const isNeeded = (table: RegistryTable, row: readonly Value[]) =>
    table === 'revoked_token' || (table === 'quota' && row[1] === record?.[1]);
  const rows = rowsWhere(content, (table, row) => {
    return ownerOf(table, row) === undefined && isNeeded(table, row);
  });
  return { database: undefined, rows };
}

/** Why a registry cannot take databases of another one over; one sentence each. */
export function conflictsOf(own: RegistryContent, theirs: RegistryContent): string[] {
  const known = new Set((theirs.get('database') ?? []).map(([identity]) => identity));
  const named = new Map((theirs.get('name') ?? []).map((row) => [row[0], row] as const));
  const conflicts: string[] = [];
  for (const [identity] of own.get('database') ?? []) {
    if (!known.has(identity)) continue;
    const shown = nameOf(own, databaseIdentity(identity as bigint));
    conflicts.push(`the cluster has a database with the identity of ${shown}`);
  }
  for (const [name, owner, database] of own.get('name') ?? []) {
    const taken = named.get(name);
    if (taken === undefined || database === 0n || known.has(database)) continue;
    if (taken[1] === owner && taken[2] === 0n) continue;
    const by = taken[2] === 0n ? 'its owner' : `the database ${hexOf(taken[2] as bigint)}`;
    const shown = nameOf(own, databaseIdentity(database as bigint));
    conflicts.push(`the name ${String(name)} of ${shown} is taken there, by ${by}`);
  }
  return conflicts;
}

/** The first name of a database with its identity, or that alone. */
export function nameOf(content: RegistryContent, database: DatabaseIdentity): string {
  const [first] = (content.get('name') ?? []).filter((row) => row[2] === database);
  const hex = hexOf(database);
  return first === undefined ? hex : `${String(first[0])} (${hex})`;
}

function hexOf(database: bigint): string {
  return database.toString(16).padStart(64, '0');
}

function rowsWhere(
  content: RegistryContent,
  isWanted: (table: RegistryTable, row: readonly Value[]) => boolean,
): RegistryPartRow[] {
  return [...content].flatMap(([table, rows]) =>
    rows
      .filter((row) => isWanted(table, row))
      .map((row) => ({ table, bytes: encodeValue(registryTables[table], row) })),
  );
}

/** The database that a row is about. */
function ownerOf(table: RegistryTable, row: readonly Value[]): bigint | undefined {
  switch (table) {
    case 'database':
    case 'origin':
    case 'schedule':
    case 'history_setting':
    case 'copy_count':
      return row[0] as bigint;
    case 'grant':
    case 'issued_token':
    case 'env':
    case 'staged_env':
      return row[1] as bigint;
    case 'name':
      return row[2] as bigint;
    case 'quota':
      return databaseQuotas.some((one) => one === row[2]) ? (row[1] as bigint) : undefined;
    case 'revoked_token':
      return undefined;
  }
}
