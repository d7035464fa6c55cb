import { Dialog } from '../../parts/dialog.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { useLoad } from '../../service/load.ts';
import type { TableSchema } from '../../service/schema.ts';
import { useConnection } from '../../shell/connection.ts';
import { useDatabase, useService } from '../../shell/database-context.tsx';
import { useParam } from '../../shell/router.tsx';
import type { Row } from './grid-query.ts';
import type { ShownColumn } from './grid-row.tsx';
import { RowChanges } from './row-changes.tsx';
import { RowPanel } from './row-panel.tsx';
import { readRows } from './row-reader.ts';
import { rowSql } from './selection.ts';

interface OpenRowProps {
  readonly table: TableSchema;
  readonly columns: readonly ShownColumn[];
  /** The key of the row, as somebody types it. */
  readonly text: string;
  readonly whyNoDelete: string | false;
  readonly onDelete: (row: Row) => void;
  readonly onClose: () => void;
}

const everyMillis = 2_000;
const views = [
  { id: 'values', label: 'Values' },
  { id: 'history', label: 'History' },
] as const;

/** The row that the address names; it follows changes while it is open. */
export function OpenRow({ table, columns, text, whyNoDelete, onDelete, onClose }: OpenRowProps) {
  const { database } = useDatabase();
  const connection = useConnection(database);
  const title = `${table.name} ${text}`;
  const row = useLoad(
    `${database}\n${table.name}\n${text}`,
    async (signal) => {
      const [sql, fields] = [rowSql(table, text), table.columns];
      const { rows } = await readRows({ database, connection, sql, columns: fields, signal });
      return rows[0] ?? null;
    },
    { everyMillis },
  );
  const hasHistory = useService()?.features.has('row-history') === true && table.kind === 'table';
  const [view, setView] = useParam('show', 'values');
  const isHistory = hasHistory && view === 'history';
  const tabs = hasHistory && (
    <Tabs
      label="Views of the row"
      tabs={views}
      chosen={isHistory ? 'history' : 'values'}
      onChoose={setView}
    />
  );
  const history = isHistory ? (
    <RowChanges table={table.name} text={text} version={JSON.stringify(row.value ?? null)} />
  ) : null;
  if (row.value !== undefined && row.value !== null) {
    const shown = row.value;
    return (
      <RowPanel
        title={title}
        tabs={tabs}
        instead={history}
        fields={table.columns}
        columns={columns}
        row={shown}
        whyNoDelete={whyNoDelete}
        onDelete={() => {
          onDelete(shown);
          onClose();
        }}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog title={title} form="side" onClose={onClose}>
      {tabs}
      <WhenLoaded of={row}>
        {() =>
          history ?? (
            <Empty icon="search" title="This row does not exist">
              It was deleted, or you may not see it.
            </Empty>
          )
        }
      </WhenLoaded>
    </Dialog>
  );
}
