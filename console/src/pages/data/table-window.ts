import { useEffect, useMemo } from 'react';
import { referenceOf } from '../../service/references.ts';
import type { TableSchema } from '../../service/schema.ts';
import { session } from '../../service/session-token.ts';
import { useStore } from '../../service/store.ts';
import type { Connection } from '../../shell/connection.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { followAddress } from './follow-address.ts';
import type { GridColumns } from './grid-columns.ts';
import { conditionOf, type GridQuery } from './grid-query.ts';
import type { ShownColumn } from './grid-row.tsx';
import { RowWindow } from './row-window.ts';

/** The window into the rows of a query; another query is another window. */
export function useRowWindow(
  database: string,
  query: GridQuery,
  connection: Connection | null,
): RowWindow {
  const who = useStore(session);
  // biome-ignore lint/correctness/useExhaustiveDependencies: somebody else may see other rows
  const rows = useMemo(() => new RowWindow(database, query), [database, query, who]);
  useEffect(() => {
    rows.open();
    return () => rows.close();
  }, [rows]);
  useEffect(() => rows.follow(connection), [rows, connection]);
  return rows;
}

/** The columns as rows draw them, with what their values lead to. */
export function useShownColumns(table: TableSchema, columns: GridColumns): readonly ShownColumn[] {
  const { database, schema } = useDatabase();
  const tables = schema.value?.tables;
  const leaves = columns.getVisibleLeafColumns();
  const sizes = leaves.map((leaf) => `${leaf.id} ${leaf.getSize()}`).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the sizes say all of the leaves
  return useMemo(() => {
    return leaves.flatMap((leaf): ShownColumn[] => {
      const at = table.columns.findIndex(({ name }) => name === leaf.id);
      const field = table.columns[at];
      if (field === undefined) return [];
      const reference = referenceOf(field, table, tables ?? []);
      return [
        {
          field,
          at,
          width: leaf.getSize(),
          leadsTo: reference?.table ?? '',
          follow:
            reference === null ? null : (value) => followAddress(database, field, value, reference),
        },
      ];
    });
  }, [sizes, table, tables, database]);
}

/** Whether a filter cannot be read: the rows would be others than its chip says. */
export function wrongFilter({ table, filters }: GridQuery): string | null {
  for (const filter of filters) {
    const condition = conditionOf(table, filter);
    if (condition.kind === 'wrong') return `${filter.column}: ${condition.why}`;
  }
  return null;
}
