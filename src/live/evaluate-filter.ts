import type { RowMaker } from '../sql/expressions/row-compiler.ts';
import { ComputedRows } from './computed-rows.ts';
import type { LiveFragment, LiveFrame } from './fragment.ts';
import { changesOf, eventsOf, type RowChanges } from './live-update.ts';
import { type RowSet, RowSetBuilder, rowCountOf } from './row-set.ts';
import type { FragmentHits } from './source-changes.ts';
import { eachPicked, type Picked, type PickedChanges } from './source-changes.ts';

/** The change of a fragment over one relation: the changed rows that satisfy its conditions. */
export function filterChanges(
  fragment: LiveFragment,
  [hit]: FragmentHits,
  frame: LiveFrame,
): RowChanges | undefined {
  if (hit === undefined) return undefined;
  const { relations, isEvent, parameters, output } = fragment;
  frame.parameters = parameters;
  if (output.kind === 'computed') return computedChanges(fragment, hit, output.rowOf, frame);
  const sift = (rows: RowSet, picked: Picked): RowSet => {
    const test = relations[0]?.test;
    if (test === undefined && picked === undefined) return rows;
    const { data } = rows;
    const found = new RowSetBuilder();
    frame.pages[0] = data;
    eachPicked(rows, picked, (start, end) => {
      frame.rows[0] = start;
      if (test === undefined || test(frame)) found.add(data, start, end);
    });
    // When all rows match, all receivers share their bytes.
    return found.count === rowCountOf(rows) ? rows : found.finish();
  };
  const inserts = sift(hit.changes.inserts, hit.inserts);
  if (isEvent) return eventsOf(inserts);
  return changesOf(inserts, sift(hit.changes.deletes, hit.deletes));
}

function computedChanges(
  { relations }: LiveFragment,
  hit: PickedChanges,
  rowOf: RowMaker,
  frame: LiveFrame,
): RowChanges | undefined {
  const computed = new ComputedRows(rowOf);
  const test = relations[0]?.test;
  for (const list of ['deletes', 'inserts'] as const) {
    const rows = hit.changes[list];
    frame.pages[0] = rows.data;
    eachPicked(rows, hit[list], (start) => {
      frame.rows[0] = start;
      if (test === undefined || test(frame)) computed.add(frame, list === 'inserts' ? 1 : -1);
    });
  }
  return computed.changes();
}
