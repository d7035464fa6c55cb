import { present } from '../assert.ts';
import type { Test } from '../sql/expressions/frame.ts';
import type { RowShape } from '../store/row-shape.ts';
import { CallerWatch, type TablesOfAny } from './caller-watch.ts';
import { frameOf, type LiveFragment, type WatchedValue, type Watcher } from './fragment.ts';
import { numberReaderOf } from './number-reader.ts';
import { type RowSet, rowCountOf, startOfRow } from './row-set.ts';
import type { FragmentHits, SourceChanges, SourceKey } from './source-changes.ts';
import { watchKeyOf } from './watch-key.ts';
import { WatchedRanges } from './watch-ranges.ts';

/**
 * Finds the fragments that a changed row may concern: those that ask for one value of a column are
 * found by that value, and those that ask for a range of a column are tested very fast, so a commit
 * costs by the fragments it concerns, however many exist. The others see every changed row of their
 * source.
 */
export class WatchIndex {
  readonly #sources = new Map<SourceKey, SourceWatch>();
  readonly #callers = new CallerWatch();

  has(source: SourceKey): boolean {
    return this.#sources.has(source) || this.#callers.has(source);
  }

  add(fragment: LiveFragment): void {
    this.#callers.add(fragment);
    for (const watcher of fragment.watchers) {
      const { source } = watcher.relation;
      const known = this.#sources.get(source) ?? new SourceWatch();
      this.#sources.set(source, known);
      known.add(watcher);
    }
  }

  remove(fragment: LiveFragment): void {
    this.#callers.remove(fragment);
    for (const watcher of fragment.watchers) {
      const { source } = watcher.relation;
      const known = this.#sources.get(source);
      known?.remove(watcher);
      if (known?.isEmpty === true) this.#sources.delete(source);
    }
  }

  /** Must follow `collect` of all sources, whose changes are given. */
  collectForCallers(
    changed: ReadonlyMap<SourceKey, SourceChanges>,
    hits: Map<LiveFragment, FragmentHits>,
    tablesOf: TablesOfAny,
  ): void {
    this.#callers.collect(changed, hits, tablesOf);
  }

  /** Adds to `hits` what the changes of a source, whose rows have that shape, mean to fragments. */
  collect(
    source: SourceKey,
    changes: SourceChanges,
    shape: RowShape,
    hits: Map<LiveFragment, FragmentHits>,
  ): void {
    const watch = this.#sources.get(source);
    if (watch === undefined) return;
    watch.findByValue(changes, shape, hits);
    watch.findByRange(changes, shape, hits);
    const rowCount = rowCountOf(changes.inserts) + rowCountOf(changes.deletes);
    if (rowCount <= siftedRowsMax) watch.siftForAll(changes, hits);
    else watch.passToAll(changes, hits);
  }
}

/** Up to this many changed rows are tested before a fragment gets an entry: most tests fail. */
const siftedRowsMax = 16;
const frame = frameOf([]);

class SourceWatch {
  readonly #all = new Set<Watcher>();
  /** By column, then by key of the value. A single watcher has no set: most are alone. */
  readonly #values = new Map<number, Map<number | string, Watcher | Set<Watcher>>>();
  /** By column. */
  readonly #ranges = new Map<number, WatchedRanges>();

  get isEmpty(): boolean {
    return this.#all.size === 0 && this.#values.size === 0 && this.#ranges.size === 0;
  }

  add(watcher: Watcher): void {
    const { watch } = watcher.relation;
    switch (watch?.kind) {
      case undefined:
        this.#all.add(watcher);
        return;
      case 'value':
        this.#addValue(watcher, watch);
        return;
      case 'range': {
        const ranges = this.#ranges.get(watch.column) ?? new WatchedRanges();
        this.#ranges.set(watch.column, ranges);
        ranges.add(watcher, watch);
        return;
      }
    }
  }

  remove(watcher: Watcher): void {
    const { watch } = watcher.relation;
    switch (watch?.kind) {
      case undefined:
        this.#all.delete(watcher);
        return;
      case 'value':
        this.#removeValue(watcher, watch);
        return;
      case 'range': {
        const ranges = this.#ranges.get(watch.column);
        ranges?.remove(watcher);
        if (ranges?.isEmpty === true) this.#ranges.delete(watch.column);
        return;
      }
    }
  }

  #addValue(watcher: Watcher, { column, key }: WatchedValue): void {
    const values = this.#values.get(column) ?? new Map<number | string, Watcher>();
    this.#values.set(column, values);
    const known = values.get(key);
    if (known === undefined) values.set(key, watcher);
    else if (known instanceof Set) known.add(watcher);
    else values.set(key, new Set([known, watcher]));
  }

  #removeValue(watcher: Watcher, { column, key }: WatchedValue): void {
    const values = this.#values.get(column);
    const known = values?.get(key);
    if (values === undefined || known === undefined) return;
    if (known instanceof Set) known.delete(watcher);
    if (known === watcher || (known instanceof Set && known.size === 0)) values.delete(key);
    if (values.size === 0) this.#values.delete(column);
  }

  passToAll(changes: SourceChanges, hits: Map<LiveFragment, FragmentHits>): void {
    for (const { fragment, side } of this.#all) {
      hitsOf(hits, fragment)[side] = { changes, inserts: undefined, deletes: undefined };
    }
  }

  siftForAll(changes: SourceChanges, hits: Map<LiveFragment, FragmentHits>): void {
    for (const watcher of this.#all) {
      const { fragment, side, relation } = watcher;
      if (relation.test === undefined) {
        hitsOf(hits, fragment)[side] = { changes, inserts: undefined, deletes: undefined };
      } else {
        siftRows(watcher, relation.test, changes, hits);
      }
    }
  }

  findByRange(
    changes: SourceChanges,
    shape: RowShape,
    hits: Map<LiveFragment, FragmentHits>,
  ): void {
    for (const [column, ranges] of this.#ranges) {
      const read = present(
        numberReaderOf(present(shape.columnTypes[column], 'type of a column')),
        'a column of whole numbers',
      );
      for (const list of ['inserts', 'deletes'] as const) {
        const { data } = changes[list];
        eachValue(changes[list], shape, column, (start, _end, row) => {
          ranges.find(read(data, start), (watcher) => pick(hits, watcher, changes, list, row));
        });
      }
    }
  }

  findByValue(
    changes: SourceChanges,
    shape: RowShape,
    hits: Map<LiveFragment, FragmentHits>,
  ): void {
    for (const [column, values] of this.#values) {
      const find = (rows: RowSet, list: 'inserts' | 'deletes'): void => {
        eachValue(rows, shape, column, (start, end, row) => {
          const found = values.get(watchKeyOf(rows.data, start, end));
          if (found === undefined) return;
          if (!(found instanceof Set)) pick(hits, found, changes, list, row);
          else for (const watcher of found) pick(hits, watcher, changes, list, row);
        });
      };
      find(changes.inserts, 'inserts');
      find(changes.deletes, 'deletes');
    }
  }
}

function siftRows(
  watcher: Watcher,
  test: Test,
  changes: SourceChanges,
  hits: Map<LiveFragment, FragmentHits>,
): void {
  const { side, fragment } = watcher;
  frame.parameters = fragment.parameters;
  for (const list of ['inserts', 'deletes'] as const) {
    const rows = changes[list];
    const count = rowCountOf(rows);
    frame.pages[side] = rows.data;
    for (let row = 0; row < count; row++) {
      frame.rows[side] = startOfRow(rows, row);
      if (test(frame)) pick(hits, watcher, changes, list, row);
    }
  }
}

function eachValue(
  rows: RowSet,
  shape: RowShape,
  column: number,
  visit: (start: number, end: number, row: number) => void,
): void {
  const count = rowCountOf(rows);
  const { data } = rows;
  for (let row = 0; row < count; row++) {
    const start = shape.startOf(data, startOfRow(rows, row), column);
    visit(start, shape.skip(data, start, column), row);
  }
}

function pick(
  hits: Map<LiveFragment, FragmentHits>,
  { fragment, side }: Watcher,
  changes: SourceChanges,
  list: 'inserts' | 'deletes',
  row: number,
): void {
  const sides = hitsOf(hits, fragment);
  const known = sides[side] ?? { changes, inserts: [], deletes: [] };
  sides[side] = known;
  (known[list] as number[]).push(row);
}

function hitsOf(hits: Map<LiveFragment, FragmentHits>, fragment: LiveFragment): FragmentHits {
  const known = hits.get(fragment);
  if (known !== undefined) return known;
  const made: FragmentHits = [];
  hits.set(fragment, made);
  return made;
}
