import { FullPage } from '../../parts/page.tsx';
import { WhenLoaded } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { useDatabase } from '../../shell/database-context.tsx';

/** The tables of a database. */
export function Page() {
  const { schema } = useDatabase();
  return (
    <FullPage title="Data">
      <WhenLoaded of={schema}>
        {({ tables }) => (
          <Table
            label="Tables"
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Columns', isNumber: true, cell: ({ columns }) => columns.length },
            ]}
            rows={tables}
            keyOf={({ name }) => name}
          />
        )}
      </WhenLoaded>
    </FullPage>
  );
}
