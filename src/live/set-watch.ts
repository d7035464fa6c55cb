import { assert, present } from '../assert.ts';
import type { TableId } from '../schema/ids.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { TableChange } from '../store/change-set.ts';
import { noRow, type RowRef } from '../store/row-ref.ts';
import { filterChanges } from './evaluate-filter.ts';
import { joinChanges } from './evaluate-join.ts';
import { frameOf, type LiveFragment } from './fragment.ts';
import type { LiveSchema } from './live-schema.ts';
import type { RowChanges } from './live-update.ts';
import { type RowSet, RowSetBuilder, rowCountOf } from './row-set.ts';
import {
  eachPicked,
  type FragmentHits,
  type SourceChanges,
  type SourceKey,
  sourceChangesOf,
} from './source-changes.ts';
import { WatchIndex } from './watch-index.ts';

/** The rows that a set may lack, and those that it must lose. */
export type SetChanges = Extract<RowChanges, { readonly kind: 'persistent' }>;

/** The tables after the changes. */
export interface ChangedTables {
  readonly changes: readonly TableChange[];
  readonly schema: LiveSchema;
  readonly tables: SqlTables;
}

/** Fragments of `SetQuery`: finds what changes of stored tables do to their rows. */
export class SetWatch {
  readonly #watched = new WatchIndex();
  readonly #frame = frameOf([]);

  has(table: TableId): boolean {
    return this.#watched.has(table);
  }

  add(fragment: LiveFragment): void {
    this.#watched.add(fragment);
  }

  remove(fragment: LiveFragment): void {
    this.#watched.remove(fragment);
  }

  /**
   * The fragments that the changes concern, with what they mean to each. A row that is to be
   * inserted may be there already. Callers whose change is known to be the same share it.
   */
  changes(changed: ChangedTables): ReadonlyMap<LiveFragment, SetChanges> {
    const found = new Map<LiveFragment, SetChanges>();
    for (const [fragment, hit] of this.#collect(changed)) {
      const change = this.#changesOf(fragment, hit, changed.tables);
      if (change !== undefined) found.set(fragment, change);
    }
    return found;
  }

  #collect({ changes, schema, tables }: ChangedTables): Map<LiveFragment, FragmentHits> {
    const hits = new Map<LiveFragment, FragmentHits>();
    const changed = new Map<SourceKey, SourceChanges>();
    for (const change of changes) {
      const table = present(schema.table(change.tableId), 'a table that is watched');
      const { shape } = schema.layoutOf(table);
      const source = sourceChangesOf(change, shape);
      changed.set(change.tableId, source);
      this.#watched.collect(change.tableId, source, shape, hits);
    }
    this.#watched.collectForCallers(changed, hits, () => tables);
    return hits;
  }

  #changesOf(fragment: LiveFragment, hit: FragmentHits, tables: SqlTables): SetChanges | undefined {
    const side = fragment.caller?.join.side;
    const known = side === undefined ? undefined : hit[side]?.result;
    if (known !== undefined) return setChanges(known[0]);
    const frame = this.#frame;
    if (fragment.join === undefined) return setChanges(filterChanges(fragment, hit, frame));
    const scan = (_: unknown, read: () => void): void => read();
    const change = setChanges(joinChanges(fragment, hit, { frame, tables, scan }));
    if (change === undefined || rowCountOf(change.deletes) === 0) return change;
    return { ...change, deletes: this.#unmatched(fragment, change.deletes, tables) };
  }

  /** Those of the rows that are joined with nothing any more, or are gone themselves. */
  #unmatched(fragment: LiveFragment, rows: RowSet, tables: SqlTables): RowSet {
    const unmatched = new RowSetBuilder();
    eachPicked(rows, undefined, (start, end) => {
      if (!this.#isMatched(fragment, { page: rows.data, start, end }, tables)) {
        unmatched.add(rows.data, start, end);
      }
    });
    return unmatched.finish();
  }

  #isMatched(
    { relations, join, output }: LiveFragment,
    {
      page,
      start,
      end,
    }: { readonly page: Uint8Array; readonly start: number; readonly end: number },
    tables: SqlTables,
  ): boolean {
    assert(join !== undefined && output.kind === 'row', 'a join that returns rows');
    const { slot } = output;
    const other = slot === 0 ? 1 : 0;
    const own = present(relations[slot], 'the relation that is returned');
    if (tables.table(own.table.id).findRow(page, start, end - start) === noRow) return false;
    const relation = present(relations[other], 'the other relation');
    const table = tables.table(relation.table.id);
    const frame = this.#frame;
    frame.pages[slot] = page;
    frame.rows[slot] = start;
    const { index } = present(join.probes[other].access, 'the index of the other relation');
    const refs = index.find(table, frame);
    for (let at = 0; at < refs.length; at++) {
      const ref = refs[at] as RowRef;
      frame.pages[other] = table.pageOf(ref);
      frame.rows[other] = table.offsetOf(ref);
      if ((relation.test?.(frame) ?? true) && join.test(frame)) return true;
    }
    return false;
  }
}

/** Events are in no set: their tables cannot be read by what is kept. */
function setChanges(change: RowChanges | undefined): SetChanges | undefined {
  return change?.kind === 'persistent' ? change : undefined;
}
