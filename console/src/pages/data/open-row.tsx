import { Dialog } from '../../parts/dialog.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { useLoad } from '../../service/load.ts';
import type { TableSchema } from '../../service/schema.ts';
import { runSql } from '../../service/sql.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import type { Row } from './grid-query.ts';
import type { ShownColumn } from './grid-row.tsx';
import { RowPanel } from './row-panel.tsx';
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

/** The row that the address names; it follows changes while it is open. */
export function OpenRow({ table, columns, text, whyNoDelete, onDelete, onClose }: OpenRowProps) {
  const { database } = useDatabase();
  const title = `${table.name} ${text}`;
  const row = useLoad(
    `${database}\n${table.name}\n${text}`,
    async (signal) => {
      const { rows } = await runSql(database, rowSql(table, text), { signal, isConfirmed: false });
      return rows[0] ?? null;
    },
    { everyMillis },
  );
  if (row.value !== undefined && row.value !== null) {
    const shown = row.value;
    return (
      <RowPanel
        title={title}
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
      <WhenLoaded of={row}>
        {() => (
          <Empty icon="search" title="This row does not exist">
            It was deleted, or you may not see it.
          </Empty>
        )}
      </WhenLoaded>
    </Dialog>
  );
}
