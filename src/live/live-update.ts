import type { TableId } from '../schema/ids.ts';
import { type RowSet, rowCountOf } from './row-set.ts';

/**
 * The change of one live query by one commit, for all who watch it: one object, however many they
 * are.
 */
export interface LiveUpdate {
  /** Number of the live query; never reused within a database. */
  readonly query: number;
  /** Canonical name and id of what the rows belong to. */
  readonly table: string;
  readonly tableId: TableId;
  /**
   * One for each changed fragment of the query; at least one. The same list for all queries that
   * are known to differ in their caller alone and to have changed alike.
   */
  readonly changes: readonly RowChanges[];
}

/** Copies count: a row occurs as often as it was derived. At least one list is not empty. */
export type RowChanges =
  | { readonly kind: 'persistent'; readonly inserts: RowSet; readonly deletes: RowSet }
  | { readonly kind: 'event'; readonly events: RowSet };

export function eventsOf(events: RowSet): RowChanges | undefined {
  return rowCountOf(events) === 0 ? undefined : { kind: 'event', events };
}

/** Returns `undefined` if nothing changed. */
export function changesOf(inserts: RowSet, deletes: RowSet): RowChanges | undefined {
  const isNone = rowCountOf(inserts) === 0 && rowCountOf(deletes) === 0;
  return isNone ? undefined : { kind: 'persistent', inserts, deletes };
}

/** A live query that could not be evaluated for a commit; it is removed. */
export interface LiveFailure {
  readonly query: number;
  /** For its subscribers: the reason, and which query. */
  readonly error: string;
}

/** The rows of a live query at one moment. */
export interface QueryRows {
  readonly query: number;
  readonly table: string;
  readonly tableId: TableId;
  /** Rows of event tables come in updates only. */
  readonly isEvent: boolean;
  /** Names of the tables and views that it reads, for a caller whose token is limited. */
  readonly reads?: readonly string[];
  /** One for each fragment that reads no empty table. */
  readonly fragments: readonly RowSet[];
}
