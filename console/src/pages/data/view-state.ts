import { useMemo } from 'react';
import type { TableSchema } from '../../service/schema.ts';
import { setParams, useParam } from '../../shell/router.tsx';
import { type Filter, filterOf, filterText, type GridQuery, type Sort } from './grid-query.ts';

/** What the address says of the grid, and how it is changed. */
export interface ViewState {
  readonly query: GridQuery;
  readonly hidden: ReadonlySet<string>;
  /** The key of the row that is open, as text; empty: none. */
  readonly rowText: string;
  readonly setFilters: (filters: readonly Filter[]) => void;
  readonly setSort: (sort: Sort | null) => void;
  readonly setHidden: (hidden: ReadonlySet<string>) => void;
  readonly openRow: (text: string) => void;
}

export function useViewState(table: TableSchema): ViewState {
  const [where] = useParam('where');
  const [sortText] = useParam('sort');
  const [hide] = useParam('hide');
  const [rowText] = useParam('row');
  return useMemo(() => {
    const filters = where.split(',').flatMap((text) => filterOf(text) ?? []);
    return {
      query: { table, filters, sort: sortOf(sortText) },
      hidden: new Set(hide.split(',').filter((name) => name !== '')),
      rowText,
      setFilters: (next) => {
        const text = next.map(filterText).join(',');
        setParams({ where: text === '' ? null : text }, 'step');
      },
      setSort: (sort) => {
        const text = sort === null ? null : `${sort.column}${sort.isDescending ? ':desc' : ''}`;
        setParams({ sort: text });
      },
      setHidden: (hidden) => setParams({ hide: hidden.size === 0 ? null : [...hidden].join(',') }),
      openRow: (text) =>
        setParams({ row: text === '' ? null : text, ...(text === '' && { show: null }) }, 'step'),
    };
  }, [table, where, sortText, hide, rowText]);
}

function sortOf(text: string): Sort | null {
  if (text === '') return null;
  const isDescending = text.endsWith(':desc');
  return { column: isDescending ? text.slice(0, -':desc'.length) : text, isDescending };
}
