/** Plans for a caller: what may be known of the sizes of tables, and the limit on rows read. */

import type { TableSpec } from '../schema/catalog.ts';
import { type TableId, tableId } from '../schema/ids.ts';
import type { Typespace } from '../values/type.ts';
import type { TypedRead } from './check/typed.ts';
import { overBudget } from './failure.ts';
import type { ReadPlan } from './plan/plan.ts';
import { planStatement } from './plan/plan-statement.ts';
import { estimateScan } from './plan/scan-estimate.ts';
import { type Statistics, statisticsOf, unknownStatistics } from './plan/statistics.ts';
import type { Rights } from './rights.ts';
import type { SqlSchema, SqlTables } from './schema.ts';

/**
 * The statistics that a plan for callers with these rights can depend on: it serves them all. A
 * table some of whose rows are hidden from them has no size, nor has a view with separate rows for
 * each caller: the number of rows must not show in the shape of a plan.
 */
export function planningStatistics(
  schema: SqlSchema,
  rights: Rights,
  tables: SqlTables,
): Statistics {
  const known = statisticsOf(tables);
  const statisticsFor = ({ id }: TableSpec): Statistics => {
    return hidesSize(schema, rights, id) ? unknownStatistics : known;
  };
  return {
    rowCount: (table) => statisticsFor(table).rowCount(table),
    rowsPerKey: (table, index) => statisticsFor(table).rowsPerKey(table, index),
    rowsPerSearch: (table, index) => statisticsFor(table).rowsPerSearch(table, index),
  };
}

/** Plans reads for the current sizes of the tables. */
export function planReads(
  reads: readonly TypedRead[],
  types: Typespace,
  { schema, rights, tables }: PlanScope,
): readonly ReadPlan[] {
  const statistics = planningStatistics(schema, rights, tables);
  return reads.map((read) => planStatement(read, { types, statistics }));
}

/** The schema and the tables that a plan is for, and what its callers may do. */
export interface PlanScope {
  readonly schema: SqlSchema;
  readonly rights: Rights;
  readonly tables: SqlTables;
}

/** The sizes of the tables of a plan when it was made. */
export type PlannedSizes = readonly { readonly id: TableId; readonly rowCount: number }[];

/** Leaves out tables that the plan does not depend on: replanning could reveal their growth. */
export function sizesOf(
  specs: readonly TableSpec[],
  { schema, rights, tables }: PlanScope,
): PlannedSizes {
  return specs
    .filter(({ id }) => !hidesSize(schema, rights, id))
    .map(({ id }) => ({ id, rowCount: tables.table(id).rowCount }));
}

function hidesSize({ filters, views }: SqlSchema, rights: Rights, id: TableId): boolean {
  if (rights.bypassesFilters) return false;
  return filters.has(id) || views.get(id)?.isAnonymous === false;
}

/** True if a table has grown or shrunk so much that another plan may be better. */
export function isOutgrown(sizes: PlannedSizes, tables: SqlTables): boolean {
  return sizes.some(({ id, rowCount }) => {
    const now = tables.table(id).rowCount;
    return Math.max(now, rowCount) > growthMax * Math.min(now, rowCount) + smallRowCount;
  });
}

const growthMax = 8;
/** With so few rows every plan is good. */
const smallRowCount = 1_000;

/**
 * Refuses a read whose estimate exceeds the system variable `row_limit`. It bounds the rows that
 * are looked at, not the rows returned; reads of the owner are not passed to it. `visibleSizes` has
 * the sizes of tables with hidden rows, as the caller sees them.
 */
export function requireWithinRowLimit(
  plan: ReadPlan,
  tables: SqlTables,
  visibleSizes: ReadonlyMap<TableId, number> = noSizes,
): void {
  requireAllWithinRowLimit([plan], tables, visibleSizes);
}

/** Refuses reads that are made together if the sum of their estimates exceeds `row_limit`. */
export function requireAllWithinRowLimit(
  plans: readonly ReadPlan[],
  tables: SqlTables,
  visibleSizes: ReadonlyMap<TableId, number> = noSizes,
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
    rowsPerSearch: (table, index) => {
      return visibleSizes.get(table.id) ?? known.rowsPerSearch(table, index);
    },
  };
  const estimate = plans.reduce((sum, plan) => sum + estimateScan(plan, statistics), 0n);
  if (estimate <= limit) return;
  throw overBudget(`Estimated cardinality (${estimate} rows) exceeds limit (${limit} rows)`);
}

const noSizes: ReadonlyMap<TableId, number> = new Map();

/** Keys of larger tables are estimated: counting them would cost more than the statement. */
const countedRowsMax = 20_000;

/** `st_var`, which every database has. */
const variableTableId = tableId(8);
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
  if (ref === -1 || ref === -3) return undefined;
  const page = table.pageOf(ref);
  const at = table.columnOffset(ref, 1);
  if (page[at] !== u64Tag) return undefined;
  return new DataView(page.buffer, page.byteOffset + at + 1, 8).getBigUint64(0, true);
}
