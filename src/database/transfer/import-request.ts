import type { Caller, CommitOffset } from '../outcome.ts';

/**
 * `empty`: the table has no rows when the import begins. `insert`: a row whose key is there already
 * is a fault. `upsert`: it replaces the row with its primary key. `replace`: the table is emptied
 * in the same transaction.
 */
export type ImportMode = 'empty' | 'insert' | 'upsert' | 'replace';

/** One batch of an import: rows that are committed together. */
export interface ImportRequest {
  readonly caller: Caller;
  /** Canonical name. */
  readonly table: string;
  /** Of the definition that the rows were encoded for. */
  readonly schemaVersion: number;
  readonly mode: ImportMode;
  /** Names the import: a batch of it that is there already is not taken again. */
  readonly importId: string;
  /** Number of the batch among those of the import for this table, from 1. */
  readonly batch: number;
  /** Encoded, one after another. */
  readonly rows: Uint8Array;
  readonly count: number;
  /** How many rows that break a constraint are left out; with one more, nothing is taken. */
  readonly skippedMax: number;
}

export type ImportOutcome =
  | {
      readonly kind: 'imported';
      readonly offset: CommitOffset;
      /** Rows that were left out. */
      readonly faults: readonly ImportFault[];
    }
  /** The batch was there already. */
  | { readonly kind: 'there'; readonly offset: CommitOffset }
  /** A row breaks a constraint; nothing of the batch was taken. */
  | { readonly kind: 'stopped'; readonly fault: ImportFault }
  /** Nothing of the batch was taken. */
  | { readonly kind: 'failed'; readonly error: ImportError };

export interface ImportFault {
  /** Position of the row in the batch, from 0. */
  readonly row: number;
  /** The column, if there is one that is at fault. */
  readonly column: string | null;
  readonly message: string;
}

export interface ImportError {
  readonly code:
    | 'import.noTable'
    /** Event tables and views. */
    | 'import.notImportable'
    | 'import.notEmpty'
    | 'import.noKey'
    /** The caller may not. */
    | 'import.readOnly'
    /** A view refuses the rows. */
    | 'import.refused'
    /** The database is older than imports. */
    | 'import.tooOld'
    | 'import.overBudget'
    | 'schema.changed'
    | 'quota.exceeded';
  readonly message: string;
}
