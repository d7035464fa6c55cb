import type { CallerJoin } from './caller-join.ts';
import { changesOf, eventsOf, type RowChanges } from './live-update.ts';
import { type RowSet, RowSetBuilder, rowCountOf } from './row-set.ts';
import { eachPicked, type PickedChanges, type SourceChanges } from './source-changes.ts';

/**
 * Changed rows of one source, in the order in which they were found, each as often as it was. Those
 * who find the same ones, one after another, share the object and what is made of it.
 */
export class FoundRows {
  readonly #changes: SourceChanges;
  readonly #join: Pick<CallerJoin, 'isExact' | 'isEvent'>;
  readonly #before: FoundRows | undefined;
  readonly #list: 'inserts' | 'deletes';
  readonly #row: number;
  #hit: PickedChanges | undefined;
  /** The one that was asked for last, and all, if they are several. */
  #last: FoundRows | undefined;
  #next: Map<number, FoundRows> | undefined;

  constructor(
    changes: SourceChanges,
    join: Pick<CallerJoin, 'isExact' | 'isEvent'>,
    before?: FoundRows,
    list: 'inserts' | 'deletes' = 'inserts',
    row = -1,
  ) {
    this.#changes = changes;
    this.#join = join;
    this.#before = before;
    this.#list = list;
    this.#row = row;
  }

  /** These and one more. */
  and(list: 'inserts' | 'deletes', row: number): FoundRows {
    const last = this.#last;
    if (last !== undefined && last.#list === list && last.#row === row) return last;
    const number = 2 * row + (list === 'inserts' ? 1 : 0);
    const known = this.#next?.get(number);
    const next = known ?? new FoundRows(this.#changes, this.#join, this, list, row);
    if (known === undefined && last !== undefined) {
      this.#next ??= new Map([[2 * last.#row + (last.#list === 'inserts' ? 1 : 0), last]]);
      this.#next.set(number, next);
    }
    this.#last = next;
    return next;
  }

  /** What the rows mean to a fragment of which no other row changed. */
  get hit(): PickedChanges {
    this.#hit ??= this.#hitOf();
    return this.#hit;
  }

  #hitOf(): PickedChanges {
    const rows = { inserts: [] as number[], deletes: [] as number[] };
    for (let at: FoundRows | undefined = this; at !== undefined; at = at.#before) {
      if (at.#row >= 0) rows[at.#list].push(at.#row);
    }
    const inserts = rows.inserts.reverse();
    const deletes = rows.deletes.reverse();
    const { isExact } = this.#join;
    if (!isExact) {
      return { changes: this.#changes, inserts: unique(inserts), deletes: unique(deletes) };
    }
    const change = this.#resultOf(inserts, deletes);
    const result = change === undefined ? [] : [change];
    return { changes: this.#changes, inserts, deletes, result };
  }

  #resultOf(inserts: readonly number[], deletes: readonly number[]): RowChanges | undefined {
    const inserted = setOf(this.#changes.inserts, inserts);
    if (this.#join.isEvent) return eventsOf(inserted);
    return changesOf(inserted, setOf(this.#changes.deletes, deletes));
  }
}

/** All who get all rows share their bytes. */
function setOf(rows: RowSet, picked: readonly number[]): RowSet {
  if (picked.length === rowCountOf(rows) && picked.every((row, at) => row === at)) return rows;
  const builder = new RowSetBuilder();
  eachPicked(rows, picked, (start, end) => builder.add(rows.data, start, end));
  return builder.finish();
}

function unique(ascending: readonly number[]): readonly number[] {
  return ascending.filter((row, at) => at === 0 || row !== ascending[at - 1]);
}
