import type { LiveUpdate, QueryRows, RowChanges } from '../live/live-update.ts';
import { type RowSet, rowCountOf } from '../live/row-set.ts';
import { emptyRowList } from '../protocol/row-list.ts';
import type { QueryUpdate, TableUpdate } from '../protocol/v1/server-message.ts';

/** Converts a commit's changes to the shape of version 1: each query once, an entry per table. */
export function tablesOfUpdates<Rows>(
  updates: Iterable<LiveUpdate>,
  encode: (update: LiveUpdate) => readonly Rows[],
): TableUpdate<Rows>[] {
  const tables = new Map<string, { tableId: number; rowCount: number; rows: Rows[] }>();
  for (const update of updates) {
    const { table: name, tableId, changes } = update;
    const table = tables.get(name) ?? { tableId, rowCount: 0, rows: [] };
    tables.set(name, table);
    table.rowCount += changes.reduce((sum, one) => sum + countOf(one), 0);
    table.rows.push(...encode(update));
  }
  return Array.from(tables, ([table, { tableId, rowCount, rows }]) => {
    return { tableId, table, rowCount: BigInt(rowCount), updates: rows };
  });
}

/** Whether rows are sent as inserts or as deletes. */
export type RowsAs = 'inserts' | 'deletes';

/** Groups the rows of queries by table. */
export function tablesOfRows(
  queries: readonly QueryRows[],
  as: RowsAs,
): TableUpdate<QueryUpdate>[] {
  const tables = new Map<string, QueryRows[]>();
  for (const query of queries) {
    const same = tables.get(query.table);
    if (same === undefined) tables.set(query.table, [query]);
    else same.push(query);
  }
  return Array.from(tables.values(), (same) => tableOfRows(same, as));
}

/** Collects the rows of queries of one table. */
export function tableOfRows(queries: readonly QueryRows[], as: RowsAs): TableUpdate<QueryUpdate> {
  const fragments = queries.flatMap((query) => query.fragments);
  const rowCount = fragments.reduce((sum, rows) => sum + rowCountOf(rows), 0);
  return {
    tableId: queries[0]?.tableId ?? 0,
    table: queries[0]?.table ?? '',
    rowCount: BigInt(rowCount),
    updates: fragments.map((rows) => allOf(rows, as)),
  };
}

function allOf(rows: RowSet, as: RowsAs): QueryUpdate {
  return as === 'inserts'
    ? { kind: 'plain', deletes: emptyRowList, inserts: rows }
    : { kind: 'plain', deletes: rows, inserts: emptyRowList };
}

/** Converts changes. Version 1 has no event tables, so its queries never return events. */
export function queryUpdate(changes: RowChanges): QueryUpdate {
  if (changes.kind === 'event') {
    return { kind: 'plain', deletes: emptyRowList, inserts: changes.events };
  }
  return { kind: 'plain', deletes: changes.deletes, inserts: changes.inserts };
}

function countOf(changes: RowChanges): number {
  if (changes.kind === 'event') return rowCountOf(changes.events);
  return rowCountOf(changes.inserts) + rowCountOf(changes.deletes);
}
