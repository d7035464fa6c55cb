import type { LiveFragment, LiveFrame } from './fragment.ts';
import type { RowChanges } from './live-update.ts';
import { emptyRowSet, RowCollector, type RowSet, rowCountOf } from './row-set.ts';
import { eachPicked, type Picked } from './source-changes.ts';
import type { FragmentHits } from './watch-index.ts';

/** What changed in a fragment over one relation: the changed rows that satisfy its conditions. */
export function filterChanges(
  { relations, table, parameters }: LiveFragment,
  [hit]: FragmentHits,
  frame: LiveFrame,
): RowChanges | undefined {
  if (hit === undefined) return undefined;
  frame.parameters = parameters;
  const sift = (rows: RowSet, picked: Picked): RowSet => {
    const test = relations[0]?.test;
    if (test === undefined && picked === undefined) return rows;
    const { data } = rows;
    const found = new RowCollector();
    frame.pages[0] = data;
    eachPicked(rows, picked, (start, end) => {
      frame.rows[0] = start;
      if (test === undefined || test(frame)) found.add(data, start, end);
    });
    // All of them: the bytes are shared by everybody who gets them.
    return found.count === rowCountOf(rows) ? rows : found.finish();
  };
  const inserts = sift(hit.changes.inserts, hit.inserts);
  if (table.isEvent) return eventsOf(inserts);
  return changesOf(inserts, sift(hit.changes.deletes, hit.deletes));
}

export function eventsOf(events: RowSet): RowChanges | undefined {
  return rowCountOf(events) === 0 ? undefined : { kind: 'event', events };
}

export function changesOf(inserts: RowSet, deletes: RowSet): RowChanges | undefined {
  const isNone = rowCountOf(inserts) === 0 && rowCountOf(deletes) === 0;
  return isNone ? undefined : { kind: 'persistent', inserts, deletes };
}

export const noChanges = { inserts: emptyRowSet, deletes: emptyRowSet };
