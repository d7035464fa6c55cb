import { present, unreachable } from '../../assert.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import { overBudget } from '../failure.ts';
import type { ReadPlan } from './plan.ts';

/**
 * Refuses a read whose estimate exceeds the system variable `row_limit`. It bounds the rows that
 * are looked at, not those that come out; the owner is not asked to pass here.
 */
export function requireWithinRowLimit(plan: ReadPlan, store: Store): void {
  const limit = rowLimitOf(store);
  if (limit === undefined) return;
  const estimate = estimateScan(plan, store);
  if (BigInt(estimate) <= limit) return;
  throw overBudget(`Estimated cardinality (${estimate} rows) exceeds limit (${limit} rows)`);
}

/** Key of the variable in `st_var`: the encoded text `row_limit`. */
const rowLimitKey = Uint8Array.of(9, 0, 0, 0, ...new TextEncoder().encode('row_limit'));
/** Tag of `U64` among the types that a variable may have. */
const u64Tag = 8;

/** The value in `st_var`, if it was set to a U64. */
function rowLimitOf(store: Store): bigint | undefined {
  const table = store.tableByName('st_var');
  const index = table?.indexes.find((candidate) => candidate.isUnique);
  if (table === undefined || index === undefined) return undefined;
  const ref = table.find(index, rowLimitKey, rowLimitKey.length);
  if (ref < 0) return undefined;
  const page = table.pageOf(ref);
  const at = table.columnOffset(ref, 1);
  if (page[at] !== u64Tag) return undefined;
  return new DataView(page.buffer, page.byteOffset + at + 1, 8).getBigUint64(0, true);
}

/** Rows that a plan is expected to look at. A filter looks at every row a second time. */
function estimateScan(plan: ReadPlan, store: Store): number {
  const { access, filter, table: spec } = plan.source;
  const table = present(store.table(spec.id), 'table of a plan');
  switch (access.kind) {
    case 'nothing':
      return 0;
    case 'range':
      // By contract a range is estimated as if there were no index for it.
      return table.rowCount * 2;
    case 'point':
      return bucketSize(table, access.index.id, access.key) * (filter === undefined ? 1 : 2);
    case 'fullScan': {
      if (filter !== undefined) return table.rowCount * 2;
      const isCut = plan.output.kind === 'row' && plan.limit !== undefined;
      return isCut ? Math.min(Number(plan.limit), table.rowCount) : table.rowCount;
    }
    default:
      return unreachable(access);
  }
}

/** A unique index is counted as one row, found or not; another one is asked how many there are. */
function bucketSize(table: Table, indexId: number, key: Uint8Array): number {
  const index = present(
    table.indexes.find((candidate) => candidate.spec.id === indexId),
    'index of a plan',
  );
  if (index.isUnique) return Math.min(1, table.rowCount);
  return table.scanPoint(index, key, key.length).length;
}
