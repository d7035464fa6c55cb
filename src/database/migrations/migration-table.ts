import { type TableId, tableId } from '../../schema/ids.ts';
import { noRow } from '../../store/row-ref.ts';
import type { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';

/** The table of migrations that were applied (`schema/system-tables.ts`). */
export const migrationTableId: TableId = tableId(24);

export interface AppliedMigration {
  readonly id: string;
  /** SHA-256 of its source text. */
  readonly hash: Uint8Array;
  /** The commit that applied it, and when that was accepted. */
  readonly offset: number;
  readonly micros: bigint;
}

/** In the order of their ids; none in a database whose schema is from before there were any. */
export function appliedMigrations(store: Store): AppliedMigration[] {
  const table = store.table(migrationTableId);
  const applied: AppliedMigration[] = [];
  if (table === undefined) return applied;
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const reader = new BinaryReader(table.pageOf(ref), table.offsetOf(ref));
    const id = reader.string();
    const hash = reader.bytes();
    applied.push({ id, hash, offset: Number(reader.u64()), micros: reader.i64() });
  }
  return applied.sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** Adds and removes rows, in a transaction that ends with the commit that does what they say. */
export function markMigrations(
  store: Store,
  transaction: Transaction,
  added: readonly AppliedMigration[],
  removed: readonly string[],
): void {
  const table = store.table(migrationTableId);
  if (table === undefined) return;
  for (let ref = table.nextRow(noRow); ref !== noRow; ) {
    const next = table.nextRow(ref);
    const id = new BinaryReader(table.pageOf(ref), table.offsetOf(ref)).string();
    const isGone = removed.includes(id) || added.some((migration) => migration.id === id);
    if (isGone) transaction.deleteRef(table, ref);
    ref = next;
  }
  for (const { id, hash, offset, micros } of added) {
    const writer = new BinaryWriter();
    writer.string(id);
    writer.bytes(hash);
    writer.u64(BigInt(offset));
    writer.i64(micros);
    const row = writer.finish();
    transaction.insert(table, row, row.length);
  }
}
