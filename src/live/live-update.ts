import { type RowSet, rowCountOf } from './row-set.ts';

/**
 * What one commit changed for one live query, for all who watch it: there is one such object,
 * however many they are.
 */
export interface LiveUpdate {
  /** Number of the live query; no two of a database have had the same. */
  readonly query: number;
  /** Whose rows they are: canonical name and id. */
  readonly table: string;
  readonly tableId: number;
  /** One for each fragment of the query that changed; at least one. */
  readonly changes: readonly RowChanges[];
}

/** Copies count: a row is there as often as it was derived. Not both lists are empty. */
export type RowChanges =
  | { readonly kind: 'persistent'; readonly inserts: RowSet; readonly deletes: RowSet }
  | { readonly kind: 'event'; readonly events: RowSet };

export function eventsOf(events: RowSet): RowChanges | undefined {
  return rowCountOf(events) === 0 ? undefined : { kind: 'event', events };
}

/** `undefined`: nothing changed. */
export function changesOf(inserts: RowSet, deletes: RowSet): RowChanges | undefined {
  const isNone = rowCountOf(inserts) === 0 && rowCountOf(deletes) === 0;
  return isNone ? undefined : { kind: 'persistent', inserts, deletes };
}

/** A live query that could not be evaluated for a commit; it is removed. */
export interface LiveFailure {
  readonly query: number;
  /** For those who watch it: the reason, and which query. */
  readonly error: string;
}

/** The rows of a live query at one moment. */
export interface QueryRows {
  readonly query: number;
  readonly table: string;
  readonly tableId: number;
  /** Rows of event tables come in updates only. */
  readonly isEvent: boolean;
  /** One for each fragment that reads no empty table. */
  readonly fragments: readonly RowSet[];
}
