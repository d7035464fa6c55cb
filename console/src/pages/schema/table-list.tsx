import { useMemo, useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { SearchBar } from '../../parts/field.tsx';
import { countText } from '../../parts/numbers.ts';
import { Panel } from '../../parts/page.tsx';
import { Empty } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { referencesOf } from '../../service/references.ts';
import type { DatabaseSchema, TableSchema } from '../../service/schema.ts';
import type { Field } from '../../service/types.ts';
import { Link, pageAddress, useParam } from '../../shell/router.tsx';
import { declaredType } from './declared-type.ts';
import styles from './schema.module.css';

interface TableListProps {
  readonly schema: DatabaseSchema;
  readonly database: string;
}

/** As many as are added at once: a schema can have thousands. */
const tablesAtOnce = 50;

/** Where columns lead, by `table.column`. */
type Leads = ReadonlyMap<string, string>;

/** Every table and view with its columns, and what holds for them. */
export function TableList({ schema, database }: TableListProps) {
  const [search, setSearch] = useParam('search');
  const [shownMax, setShownMax] = useState(tablesAtOnce);
  const shown = schema.tables.filter((table) => isFound(table, search));
  const leads = useMemo((): Leads => {
    const all = referencesOf(schema);
    return new Map(all.map(({ from, to }) => [`${from.table}.${from.column}`, to.table]));
  }, [schema]);
  const further = shown.length - shownMax;
  if (schema.tables.length === 0) {
    return (
      <Panel>
        <Empty icon="schema" title="No table that you may see">
          A module declares tables with <code>table(…)</code>; private ones are shown to those with
          the role reader.
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      <SearchBar
        label="Find tables and columns"
        value={search}
        onChange={setSearch}
        shown={shown.length}
        all={schema.tables.length}
      />
      {shown.slice(0, shownMax).map((table) => (
        <TablePanel key={table.name} {...{ table, database, leads }} />
      ))}
      {further > 0 && (
        <Button onClick={() => setShownMax(shownMax + tablesAtOnce)}>
          Show {Math.min(further, tablesAtOnce)} more of {countText(further)}
        </Button>
      )}
    </>
  );
}

function isFound({ name, columns }: TableSchema, search: string): boolean {
  const text = search.trim().toLowerCase();
  return [name, ...columns.map((column) => column.name)].some((one) => {
    return one.toLowerCase().includes(text);
  });
}

interface TablePanelProps {
  readonly table: TableSchema;
  readonly database: string;
  readonly leads: Leads;
}

function TablePanel({ table, database, leads }: TablePanelProps) {
  const actions = (
    <>
      {table.kind !== 'table' && <Badge kind="accent">{table.kind}</Badge>}
      <Badge kind={table.isPublic ? 'good' : 'warn'}>{table.isPublic ? 'public' : 'private'}</Badge>
      <Link to={pageAddress(database, 'data', { table: table.name })}>Rows</Link>
    </>
  );
  return (
    <Panel title={table.name} actions={actions} isBare>
      <div className={styles.columns}>
        <Table
          label={`Columns of ${table.name}`}
          columns={columnsOf(table, leads)}
          rows={table.columns}
          keyOf={({ name }) => name}
        />
      </div>
      {table.indexes.length > 0 && (
        <ul className={styles.indexes} aria-label={`Indexes of ${table.name}`}>
          {table.indexes.map(({ name, kind, columns }) => (
            <li key={name}>
              <span className={styles.kind}>{indexKind(kind)}</span>{' '}
              <code>{columns.join(', ')}</code>
              <span className={styles.name}>{name}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function columnsOf(table: TableSchema, leads: Leads): readonly TableColumn<Field>[] {
  return [
    { title: 'Column', cell: ({ name }) => <code>{name}</code> },
    {
      title: 'Type',
      cell: ({ type }) => <code className={styles.type}>{declaredType(type)}</code>,
    },
    {
      title: 'Rules',
      cell: ({ name }) => (
        <span className={styles.rules}>
          {name === table.primaryKey && <Badge kind="accent">primary key</Badge>}
          {name !== table.primaryKey && table.unique.includes(name) && <Badge>unique</Badge>}
          {table.sequences.includes(name) && <Badge>auto-increment</Badge>}
          {leads.has(`${table.name}.${name}`) && (
            <Badge title="As its name says; nothing enforces it.">
              → {leads.get(`${table.name}.${name}`)}
            </Badge>
          )}
        </span>
      ),
    },
  ];
}

/** `BTree` and its like, in words. */
function indexKind(kind: string): string {
  const words: Readonly<Record<string, string>> = {
    BTree: 'ordered index',
    Hash: 'hash index',
    Direct: 'direct index',
  };
  return words[kind] ?? `${kind.toLowerCase()} index`;
}
