import { bytesText, countText } from '../../parts/numbers.ts';
import { Panel } from '../../parts/page.tsx';
import { Empty } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import type { TableMemory } from '../../service/metrics.ts';
import styles from './metrics.module.css';

/** What each table takes now, the largest first, with its indexes. */
export function MemoryOfTables({ tables }: { readonly tables: readonly TableMemory[] }) {
  const largest = Math.max(1, ...tables.map(({ memoryBytes }) => memoryBytes ?? 0));
  const sorted = [...tables].sort((one, other) => {
    return (other.memoryBytes ?? 0) - (one.memoryBytes ?? 0) || (one.table < other.table ? -1 : 1);
  });
  return (
    <Panel title="Memory by table" isBare>
      {tables.length === 0 ? (
        <Empty icon="table" title="No table is in memory">
          The database is closed or asleep, or you may see none of its tables.
        </Empty>
      ) : (
        <Table
          label="Memory by table"
          columns={columnsFor(largest)}
          rows={sorted}
          keyOf={({ table }) => table}
        />
      )}
    </Panel>
  );
}

function columnsFor(largest: number): readonly TableColumn<TableMemory>[] {
  const orUnknown = (value: number | null, text: (value: number) => string) =>
    value === null ? '–' : text(value);
  return [
    { title: 'Table', cell: ({ table }) => <code>{table}</code> },
    { title: 'Rows', isNumber: true, cell: ({ rows }) => orUnknown(rows, countText) },
    {
      title: 'Rows and indexes',
      isNumber: true,
      cell: ({ memoryBytes }) => (
        <span className={styles.share}>
          <progress max={largest} value={memoryBytes ?? 0} aria-hidden="true" />
          {orUnknown(memoryBytes, bytesText)}
        </span>
      ),
    },
    {
      title: 'Indexes',
      cell: ({ indexes }) =>
        indexes.length === 0 ? (
          '–'
        ) : (
          <ul className={styles.indexes}>
            {indexes.map(({ name, memoryBytes }) => (
              <li key={name}>
                <code>{name}</code> {orUnknown(memoryBytes, bytesText)}
              </li>
            ))}
          </ul>
        ),
    },
  ];
}
