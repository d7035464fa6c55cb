import { useMemo } from 'react';
import { FullPage } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { useLoad } from '../../service/load.ts';
import { type DatabaseSchema, readSystemTables, type TableSchema } from '../../service/schema.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { useParam } from '../../shell/router.tsx';
import styles from './table-list.module.css';
import { TableList } from './table-list.tsx';
import { TableView } from './table-view.tsx';

/** The tables of a database, one of them as a live grid. */
export function Page() {
  const { schema } = useDatabase();
  return (
    <FullPage title="Data">
      <WhenLoaded of={schema}>{(known) => <Tables schema={known} />}</WhenLoaded>
    </FullPage>
  );
}

function Tables({ schema }: { readonly schema: DatabaseSchema }) {
  const { database, whyNot } = useDatabase();
  const [name] = useParam('table');
  const system = useLoad(`system ${database}`, (signal) => readSystemTables(database, signal));
  const names = system.value?.join('\n') ?? '';
  const tables = useMemo(() => {
    return [...schema.tables, ...names.split('\n').filter(Boolean).map(systemTable)];
  }, [schema, names]);
  const chosen = name === '' ? tables[0] : tables.find((table) => table.name === name);
  if (tables.length === 0) {
    return (
      <Empty icon="table" title="This database has no tables">
        Declare one in its module, and publish it.
      </Empty>
    );
  }
  return (
    <div className={styles.place}>
      <TableList database={database} tables={tables} chosen={chosen?.name ?? ''} />
      <section className={styles.view} aria-label={chosen?.name ?? name}>
        {chosen === undefined ? (
          <Empty icon="search" title={`Table ${name} does not exist`}>
            Choose another one from the list. A publish may have renamed or dropped it.
          </Empty>
        ) : (
          <Chosen table={chosen} whyNot={chosen.isPublic ? false : whyNot('read_private')} />
        )}
      </section>
    </div>
  );
}

function Chosen({ table, whyNot }: { readonly table: TableSchema; whyNot: string | false }) {
  if (whyNot === false) return <TableView key={table.name} table={table} />;
  return (
    <Empty icon="lock" title={`${table.name} is private`}>
      {whyNot}
    </Empty>
  );
}

function systemTable(name: string): TableSchema {
  return {
    name,
    kind: 'system',
    isPublic: true,
    columns: [],
    primaryKey: null,
    unique: [],
    sequences: [],
    indexes: [],
  };
}
