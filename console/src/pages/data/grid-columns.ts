import {
  columnResizingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useMemo } from 'react';
import type { Field } from '../../service/types.ts';
import type { Row } from './grid-query.ts';

const features = tableFeatures({
  columnResizingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
});
const noRows: Row[] = [];

/** How wide a column begins, by what is in it. */
function widthOf({ name, type }: Field): number {
  const inner = type.kind === 'option' ? type.some() : type;
  const byKind: Partial<Record<typeof inner.kind, number>> = {
    string: 220,
    timestamp: 176,
    uuid: 290,
    identity: 140,
    connection: 140,
    bool: 90,
    product: 200,
    array: 200,
    sum: 130,
  };
  return Math.max(byKind[inner.kind] ?? 120, 64 + name.length * 8);
}

/** The columns that are shown, and how wide they are; rows are not the business of this model. */
export function useGridColumns(fields: readonly Field[], hidden: ReadonlySet<string>) {
  const columns = useMemo(() => {
    return fields.map((field, at) => ({
      id: field.name,
      accessorFn: (row: Row) => row[at],
      size: widthOf(field),
      minSize: 60,
      maxSize: 900,
    }));
  }, [fields]);
  const columnVisibility = useMemo(() => {
    return Object.fromEntries([...hidden].map((name) => [name, false]));
  }, [hidden]);
  return useTable({
    features,
    columns,
    data: noRows,
    state: { columnVisibility },
    columnResizeMode: 'onChange',
  });
}

export type GridColumns = ReturnType<typeof useGridColumns>;
