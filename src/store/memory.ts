import type { IndexId, TableId } from '../schema/ids.ts';

/** Bytes the store holds; the counts are kept up to date, so reading them costs nothing. */
export interface StoreMemory {
  readonly totalBytes: number;
  readonly tables: readonly TableMemory[];
}

export interface TableMemory {
  readonly tableId: TableId;
  readonly name: string;
  readonly rowCount: number;
  /** Slots that hold a row, with their headers and unused ends. */
  readonly rowBytes: number;
  /** The rest of the pages. */
  readonly freeBytes: number;
  /** The part of these two that is kept for pins. */
  readonly heldBytes: number;
  /** The structure that finds equal rows in a table without a unique index. */
  readonly wholeRowsBytes: number;
  readonly indexes: readonly IndexMemory[];
  /** Pages and indexes together. */
  readonly totalBytes: number;
}

export interface IndexMemory {
  readonly indexId: IndexId;
  readonly name: string;
  readonly bytes: number;
}
