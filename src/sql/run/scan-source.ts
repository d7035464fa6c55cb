import { assert, present, unreachable } from '../../assert.ts';
import type { IndexSpec } from '../../schema/catalog.ts';
import { noRow, type RowRef } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { Index } from '../../store/table-index.ts';
import { type Budget, rowsPerCheck } from '../budget.ts';
import type { Access, Source } from '../plan/plan.ts';
import { compilePredicate, type Predicate } from './predicate.ts';

/** Sees a row as the bytes that hold it; false ends the scan. */
export type RowVisitor = (page: Uint8Array, row: number, ref: RowRef) => boolean;

/**
 * Shows every row of a source to `visit`, until that returns false. The rows are those of this
 * moment; `visit` must not write to the table.
 */
export function scanSource(
  { access, filter }: Source,
  table: Table,
  budget: Budget,
  visit: RowVisitor,
): void {
  const predicate = filter === undefined ? undefined : compilePredicate(filter, table.shape);
  budget.check();
  switch (access.kind) {
    case 'nothing':
      return;
    case 'fullScan':
      scanTable(table, predicate, budget, visit);
      return;
    case 'point':
    case 'range':
      scanRefs(refsOf(access, table), table, predicate, budget, visit);
      return;
    default:
      unreachable(access);
  }
}

/** The rows that an index gives. */
function refsOf(access: Extract<Access, { index: IndexSpec }>, table: Table): Int32Array {
  const index = indexOf(table, access.index);
  if (access.kind === 'range') return table.scanRange(index, access.range);
  const { key } = access;
  if (!index.isUnique) return table.scanPoint(index, key, key.length);
  const ref = table.find(index, key, key.length);
  assert(ref !== -3, 'a planned key is a key of its index');
  return ref === -1 ? new Int32Array(0) : Int32Array.of(ref);
}

function indexOf(table: Table, spec: IndexSpec): Index {
  return present(
    table.indexes.find((index) => index.spec.id === spec.id),
    `index ${spec.name}, which was planned with`,
  );
}

function scanTable(
  table: Table,
  predicate: Predicate | undefined,
  budget: Budget,
  visit: RowVisitor,
): void {
  let left = rowsPerCheck;
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    if (--left === 0) {
      budget.check();
      left = rowsPerCheck;
    }
    const page = table.pageOf(ref);
    const row = table.offsetOf(ref);
    if (predicate !== undefined && !predicate(page, row)) continue;
    if (!visit(page, row, ref)) return;
  }
}

function scanRefs(
  refs: Int32Array,
  table: Table,
  predicate: Predicate | undefined,
  budget: Budget,
  visit: RowVisitor,
): void {
  let left = rowsPerCheck;
  for (const ref of refs) {
    if (--left === 0) {
      budget.check();
      left = rowsPerCheck;
    }
    const page = table.pageOf(ref);
    const row = table.offsetOf(ref);
    if (predicate !== undefined && !predicate(page, row)) continue;
    if (!visit(page, row, ref)) return;
  }
}
