import type { TableSpec } from '../schema/catalog.ts';
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
  };
}

/** The sizes of the tables of a plan when it was made. */
export type PlannedSizes = readonly { readonly id: number; readonly rowCount: number }[];

/** Leaves out tables that the plan does not depend on: replanning could reveal their growth. */
export function sizesOf(
  specs: readonly TableSpec[],
  { schema, rights, tables }: SizeScope,
): PlannedSizes {
  return specs
    .filter(({ id }) => !hidesSize(schema, rights, id))
    .map(({ id }) => ({ id, rowCount: tables.table(id).rowCount }));
}

export interface SizeScope {
  readonly schema: SqlSchema;
  readonly rights: Rights;
  readonly tables: SqlTables;
}

function hidesSize({ filters, views }: SqlSchema, rights: Rights, id: number): boolean {
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
