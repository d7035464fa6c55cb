import type { TableId, ViewId } from '../schema/ids.ts';
import type { RowList } from '../store/change-set.ts';
import type { RowShape } from '../store/row-shape.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { RowChanges } from './live-update.ts';
import { inRowOrder, type RowSet, rowCountOf, rowSetOf } from './row-set.ts';

/**
 * Where rows come from: the id of a table or of an anonymous view, or, for a view with separate
 * rows for each caller, a text made of its id and the caller.
 */
export type SourceKey = TableId | string;

export function sourceOfView(viewId: ViewId, sender: CallerIdentity | undefined): SourceKey {
  return sender === undefined ? viewId : `${viewId} ${sender.toString(16)}`;
}

/** The change of one source by one commit. No row is in both sets. */
export interface SourceChanges {
  readonly inserts: RowSet;
  readonly deletes: RowSet;
  /** All of it, as what several queries have changed by; made when it is first needed. */
  whole?: readonly RowChanges[];
}

export function sourceChangesOf(
  { inserts, deletes }: ChangedLists,
  shape: RowShape,
): SourceChanges {
  return {
    inserts: rowSetOf(inserts.bytes, inserts.count, shape),
    deletes: rowSetOf(deletes.bytes, deletes.count, shape),
  };
}

/** The same of a view: its code visits rows as they are stored. */
export function viewChangesOf(rows: ChangedLists, shape: RowShape): SourceChanges {
  const { inserts, deletes } = sourceChangesOf(rows, shape);
  return { inserts: inRowOrder(inserts), deletes: inRowOrder(deletes) };
}

interface ChangedLists {
  readonly inserts: RowList;
  readonly deletes: RowList;
}

/** Some rows of a set, by position, in ascending order; `undefined`: all of them. */
export type Picked = readonly number[] | undefined;

/** The changed rows of one source that a fragment must examine. */
export interface PickedChanges {
  readonly changes: SourceChanges;
  readonly inserts: Picked;
  readonly deletes: Picked;
  /** The change of the fragment, if that is known already. */
  readonly result?: readonly RowChanges[];
}

/** The changed rows that a fragment must examine, by relation. */
export type FragmentHits = (PickedChanges | undefined)[];

/** Calls `visit` with each picked row, as bounds in `rows.data`. */
export function eachPicked(
  rows: RowSet,
  picked: Picked,
  visit: (start: number, end: number) => void,
): void {
  const count = picked === undefined ? rowCountOf(rows) : picked.length;
  const { data } = rows;
  for (let at = 0; at < count; at++) {
    const row = picked === undefined ? at : (picked[at] as number);
    if (rows.kind === 'fixedSize') visit(row * rows.rowBytes, (row + 1) * rows.rowBytes);
    else visit(rows.starts[row] as number, rows.starts[row + 1] ?? data.length);
  }
}
