import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { type TableId, tableId } from '../../schema/ids.ts';
import { noRow, type RowRef } from '../../store/row-ref.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import type { Transaction } from '../../store/transaction.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';

/** The hidden table of imports (`schema/system-tables.ts`). */
const importTableId: TableId = tableId(31);

/** A batch of an import for one table. */
export interface ImportedBatch {
  readonly importId: string;
  readonly table: TableId;
  readonly batch: number;
}

/**
 * Which batches of imports are there, as ranges: an import that takes one after another has one
 * row, however long it is. The ranges of old imports are forgotten when there are too many.
 */
export class ImportRanges {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** False for a database whose schema is from before there were imports. */
  get exists(): boolean {
    return this.#table !== undefined;
  }

  has({ importId, table, batch }: ImportedBatch): boolean {
    return this.#of(importId, table).some(({ first, last }) => first <= batch && batch <= last);
  }

  /** True if any batch of that import is there. */
  hasBegun(importId: string, table: TableId): boolean {
    return this.#of(importId, table).length > 0;
  }

  /** Records the batch, which is not there yet, in its own transaction. */
  add(transaction: Transaction, { importId, table, batch }: ImportedBatch, micros: bigint): void {
    const rows = present(this.#table, 'the hidden table of imports');
    const ranges = this.#of(importId, table);
    const before = ranges.find(({ last }) => last === batch - 1);
    const after = ranges.find(({ first }) => first === batch + 1);
    for (const range of [before, after]) {
      if (range !== undefined) transaction.deleteRef(rows, range.ref);
    }
    if (before === undefined && rows.rowCount >= limits.importRangesMax) {
      transaction.deleteRef(rows, oldestOf(rows));
    }
    const range = { first: before?.first ?? batch, last: after?.last ?? batch };
    insert(transaction, rows, { importId, table, ...range, micros });
  }

  get #table(): Table | undefined {
    return this.#store.table(importTableId);
  }

  #of(importId: string, table: TableId): readonly FoundRange[] {
    const rows = this.#table;
    if (rows === undefined) return [];
    return allOf(rows).filter((range) => range.importId === importId && range.table === table);
  }
}

interface Range {
  readonly importId: string;
  readonly table: TableId;
  readonly first: number;
  readonly last: number;
  /** When its last batch was recorded. */
  readonly micros: bigint;
}

interface FoundRange extends Range {
  readonly ref: RowRef;
}

/** There are few: at most `limits.importRangesMax`. */
function allOf(rows: Table): FoundRange[] {
  const found: FoundRange[] = [];
  for (let ref = rows.nextRow(noRow); ref !== noRow; ref = rows.nextRow(ref)) {
    const reader = new BinaryReader(rows.pageOf(ref), rows.offsetOf(ref));
    const importId = reader.string();
    const table = tableId(reader.u32());
    const [first, last, micros] = [reader.u32(), reader.u32(), reader.i64()];
    found.push({ ref, importId, table, first, last, micros });
  }
  return found;
}

function oldestOf(rows: Table): RowRef {
  const [first, ...others] = allOf(rows);
  assert(first !== undefined, 'a full table has rows');
  return others.reduce((oldest, one) => (one.micros < oldest.micros ? one : oldest), first).ref;
}

const writer = new BinaryWriter(256);

function insert(transaction: Transaction, rows: Table, range: Range): void {
  writer.reset();
  writer.string(range.importId);
  writer.u32(range.table);
  writer.u32(range.first);
  writer.u32(range.last);
  writer.i64(range.micros);
  const code = transaction.insert(rows, writer.view(), writer.length);
  assert(code >= 0, `a row of ${rows.spec.name} was refused: ${code}`);
}
