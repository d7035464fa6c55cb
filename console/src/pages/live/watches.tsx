import { Badge } from '../../parts/badge.tsx';
import { countText, microsText } from '../../parts/numbers.ts';
import { Empty } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import type { WatchedQuery } from '../../service/connections.ts';
import styles from './live.module.css';

/** Watched queries, those that took the most time first. */
export function Watches({ list }: { readonly list: readonly WatchedQuery[] }) {
  if (list.length === 0) {
    return (
      <Empty icon="live" title="Nobody watches a query">
        A client watches with <code>connection.watch('SELECT …')</code>, or with{' '}
        <code>reducerdb subscribe</code>.
      </Empty>
    );
  }
  // Texts are cut, so two long ones can be equal.
  const places = new Map(list.map((query, at) => [query, at]));
  return (
    <Table
      label="Watched queries"
      columns={columns}
      rows={list}
      keyOf={(query) => `${places.get(query)}`}
    />
  );
}

const columns: readonly TableColumn<WatchedQuery>[] = [
  {
    title: 'Query',
    cell: ({ sql }) => (
      <code className={styles.sql} title={sql}>
        {sql}
      </code>
    ),
  },
  {
    title: 'How',
    cell: ({ isIncremental, reason }) =>
      isIncremental ? (
        <Badge kind="good" title="Each commit is followed by its changed rows.">
          incremental
        </Badge>
      ) : (
        <span className={styles.rerun}>
          <Badge kind="warn">run again</Badge>
          {reason !== null && <span className={styles.reason}>{reason}</span>}
        </span>
      ),
  },
  { title: 'Subscribers', isNumber: true, cell: ({ subscribers }) => countText(subscribers) },
  {
    title: 'Rows',
    isNumber: true,
    cell: ({ rows }) => (rows === null ? '–' : countText(rows)),
  },
  { title: 'Evaluated', isNumber: true, cell: ({ evaluations }) => countText(evaluations) },
  {
    title: 'Mean cost',
    isNumber: true,
    cell: ({ microsMean, evaluations }) => (evaluations === 0 ? '–' : microsText(microsMean)),
  },
];
