import type { TableId } from '../schema/ids.ts';
import type { CommitOffset } from './commit-offset.ts';

/**
 * The changes of one transaction: its only output. The log, live queries and replies all read this
 * one value.
 */
export interface ChangeSet {
  readonly offset: CommitOffset;
  /** Tables with a net change, in ascending order of their ids. */
  readonly tables: readonly TableChange[];
  /** The last value of each sequence that handed out values since the last record of the log. */
  readonly sequences: readonly SequenceMark[];
}

/** No row is in both lists. Every deleted row existed before, and no inserted row did. */
export interface TableChange {
  readonly tableId: TableId;
  readonly inserts: RowList;
  readonly deletes: RowList;
  /** True if the table had rows and has none now. */
  readonly truncated: boolean;
}

/**
 * Encoded rows one after another. The bytes can be a view of a buffer that holds other lists too,
 * so that buffer must never be transferred.
 */
export interface RowList {
  readonly bytes: Uint8Array;
  readonly count: number;
}

export interface SequenceMark {
  readonly id: number;
  readonly value: bigint;
}

export const emptyRowList: RowList = { bytes: new Uint8Array(0), count: 0 };
