import type { Catalog, TableSpec } from '../../schema/catalog.ts';
import { noSuchTable } from '../failure.ts';

/** On whose behalf a statement is checked. */
export interface StatementCaller {
  readonly identity: bigint;
  readonly isOwner: boolean;
}

/**
 * What a caller may do. A pure function of who they are, so that finer rights have a place to go.
 */
export interface Rights {
  readonly readsPrivateTables: boolean;
  readonly writes: boolean;
  readonly exceedsRowLimit: boolean;
}

export function rightsOf(caller: StatementCaller): Rights {
  const { isOwner } = caller;
  return { readsPrivateTables: isOwner, writes: isOwner, exceedsRowLimit: isOwner };
}

/**
 * The table that `name` means to a caller with these rights: canonical names first, then those of
 * the module's source. A table that the caller may not read takes no part in the search, so every
 * name behaves as it would in a database without that table. Throws `SqlFailure` when nothing is
 * left.
 */
export function visibleTable(catalog: Catalog, rights: Rights, name: string): TableSpec {
  let bySource: TableSpec | undefined;
  for (const table of catalog.tables) {
    if (table.access === 'private' && !rights.readsPrivateTables) continue;
    if (table.name === name) return table;
    if (table.sourceName === name) bySource ??= table;
  }
  if (bySource === undefined) throw noSuchTable(name);
  return bySource;
}
