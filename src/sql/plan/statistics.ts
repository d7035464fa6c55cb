import type { DerivedIndexSpec, IndexSpec, TableSpec } from '../../schema/catalog.ts';
import type { IndexId } from '../../schema/ids.ts';
import { noRow, pageShift, type RowRef, rowRef } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import { keyOf } from '../../store/transaction.ts';
import type { SqlTables } from '../schema.ts';

/** What the planner knows about the rows at the moment of planning. */
export interface Statistics {
  rowCount(table: TableSpec): number;
  /** Average number of rows with the same key; at least 1. */
  rowsPerKey(table: TableSpec, index: IndexSpec): number;
  /** Average number of rows that a derived index finds; at least 1. */
  rowsPerSearch(table: TableSpec, index: DerivedIndexSpec): number;
}

/**
 * Reads the numbers from the tables. In a table of at most `countedRowsMax` rows the keys are
 * counted; in a larger one their number is estimated from a few rows.
 */
export function statisticsOf(tables: SqlTables, countedRowsMax: number = 100): Statistics {
  const known = new Map<IndexId, number>();
  return {
    rowCount: (spec) => tables.table(spec.id).rowCount,
    rowsPerKey(spec, index) {
      if (index.isUnique) return 1;
      const before = known.get(index.id);
      if (before !== undefined) return before;
      const table = tables.table(spec.id);
      const isCounted = table.rowCount <= countedRowsMax;
      const found = isCounted ? countBuckets(table, index) : sampleBucket(table, index);
      known.set(index.id, found);
      return found;
    },
    rowsPerSearch(spec, index) {
      const before = known.get(index.id);
      if (before !== undefined) return before;
      const found = sampleSearch(tables.table(spec.id), index);
      known.set(index.id, found);
      return found;
    },
  };
}

/** For plans that must not depend on what the tables hold. */
export const unknownStatistics: Statistics = {
  rowCount: () => 1_000,
  rowsPerKey: (_table, index) => (index.isUnique ? 1 : 10),
  rowsPerSearch: () => 10,
};

/** Number of rows divided by the number of different keys. */
function countBuckets(table: Table, { columns }: IndexSpec): number {
  const keys = new Set<string>();
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    keys.add(keyOf(table.shape, columns, table.pageOf(ref), table.offsetOf(ref)).join());
  }
  return keys.size === 0 ? 1 : table.rowCount / keys.size;
}

const sampleCount = 5;
/** After a bucket of this many rows no more are looked at: finding all of its rows takes time. */
const longBucket = 20_000;

/** Samples meet long buckets more often than short ones, so the mean is the harmonic one. */
function sampleBucket(table: Table, spec: IndexSpec): number {
  const index = table.indexes.find((candidate) => candidate.spec.id === spec.id);
  if (index === undefined || table.rowCount === 0) return 1;
  let sum = 0;
  let count = 0;
  for (const ref of sampleRows(table)) {
    const key = keyOf(table.shape, spec.columns, table.pageOf(ref), table.offsetOf(ref));
    const size = table.scanPoint(index, key, key.length).length;
    if (size === 0) continue;
    sum += 1 / size;
    count++;
    if (size > longBucket) break;
  }
  return count === 0 ? 1 : Math.max(1, count / sum);
}

/** Searches for what a few rows would be found by. */
function sampleSearch(table: Table, spec: DerivedIndexSpec): number {
  const index = table.derivedIndexes.find((candidate) => candidate.spec.id === spec.id);
  if (index === undefined || table.rowCount === 0) return 1;
  let sum = 0;
  let count = 0;
  for (const ref of sampleRows(table)) {
    const request = index.body.requestFor(ref);
    const size = request === undefined ? 0 : (index.search(request)?.length ?? table.rowCount);
    if (size === 0) continue;
    sum += 1 / size;
    count++;
    if (size > longBucket) break;
  }
  return count === 0 ? 1 : Math.max(1, count / sum);
}

/** Samples rows from all over the table. */
function sampleRows(table: Table): readonly RowRef[] {
  const pageCount = table.heap.bytes.length - 1;
  const refs = new Set<RowRef>();
  for (let at = 0; at < sampleCount; at++) {
    const page = Math.floor((pageCount * at) / sampleCount);
    let ref = table.nextRow(rowRef(page << pageShift));
    // Neighbours are often alike: goes a little further for each sample.
    for (let step = 0; step < at * 7 && ref !== noRow; step++) {
      const next = table.nextRow(ref);
      if (next === noRow) break;
      ref = next;
    }
    if (ref !== noRow) refs.add(ref);
  }
  return [...refs];
}
