import type { CommitOffset } from './commit-offset.ts';

/**
 * What one transaction changed: the only thing that leaves it. The log, live queries and replies
 * all read this one value.
 */
export interface ChangeSet {
  readonly offset: CommitOffset;
  /** Tables with a net change, in ascending order of their ids. */
  readonly tables: readonly TableChange[];
  /** The last value of each sequence that handed out values since the last record of the log. */
  readonly sequences: readonly SequenceMark[];
}

/** No row is in both lists. Every deleted row was there before, no inserted one was. */
export interface TableChange {
  readonly tableId: number;
  readonly inserts: RowList;
  readonly deletes: RowList;
  /** The table had rows and has none now. */
  readonly truncated: boolean;
}

/**
 * Encoded rows one after another. The bytes may be a view of a buffer that holds other lists too,
 * so that buffer is never to be transferred.
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
