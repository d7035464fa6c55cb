import { overBudget } from './failure.ts';
import type { ReadPlan } from './plan/plan.ts';
import { estimateScan } from './plan/row-limit.ts';
import { type Statistics, statisticsOf } from './plan/statistics.ts';
import type { SqlTables } from './schema.ts';

/**
 * Refuses a read whose estimate exceeds the system variable `row_limit`. It bounds the rows that
 * are looked at, not the rows returned; reads of the owner are not passed to it. `visibleSizes` has
 * the sizes of tables with hidden rows, as the caller sees them.
 */
export function requireWithinRowLimit(
  plan: ReadPlan,
  tables: SqlTables,
  visibleSizes: ReadonlyMap<number, number> = noSizes,
): void {
  requireAllWithinRowLimit([plan], tables, visibleSizes);
}

/** Refuses reads that are made together if the sum of their estimates exceeds `row_limit`. */
export function requireAllWithinRowLimit(
  plans: readonly ReadPlan[],
  tables: SqlTables,
  visibleSizes: ReadonlyMap<number, number> = noSizes,
): void {
  const limit = rowLimitOf(tables);
  if (limit === undefined) return;
  const known = statisticsOf(tables, countedRowsMax);
  const statistics: Statistics = {
    rowCount: (table) => visibleSizes.get(table.id) ?? known.rowCount(table),
    rowsPerKey: (table, index) => {
      const size = visibleSizes.get(table.id);
      // The spread of visible rows over the keys is not examined: all may have the same key.
      if (size !== undefined) return index.isUnique ? 1 : Math.max(1, size);
      return known.rowsPerKey(table, index);
    },
  };
  const estimate = plans.reduce((sum, plan) => sum + estimateScan(plan, statistics), 0n);
  if (estimate <= limit) return;
  throw overBudget(`Estimated cardinality (${estimate} rows) exceeds limit (${limit} rows)`);
}

const noSizes: ReadonlyMap<number, number> = new Map();

/** Keys of larger tables are estimated: counting them would cost more than the statement. */
const countedRowsMax = 20_000;

/** `st_var`, which every database has. */
const variableTableId = 8;
/** Key of the variable in it: the encoded text `row_limit`. */
const rowLimitKey = Uint8Array.of(9, 0, 0, 0, ...new TextEncoder().encode('row_limit'));
/** Tag of `U64` among the types that a variable can have. */
const u64Tag = 8;

/** The value in `st_var`, if it was set to a U64. */
export function rowLimitOf(tables: SqlTables): bigint | undefined {
  const table = tables.table(variableTableId);
  const index = table.indexes.find((candidate) => candidate.isUnique);
  if (index === undefined) return undefined;
  const ref = table.find(index, rowLimitKey, rowLimitKey.length);
  if (ref < 0) return undefined;
  const page = table.pageOf(ref);
  const at = table.columnOffset(ref, 1);
  if (page[at] !== u64Tag) return undefined;
  return new DataView(page.buffer, page.byteOffset + at + 1, 8).getBigUint64(0, true);
}
