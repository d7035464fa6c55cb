import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { SearchField, Select } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import type { TableSchema } from '../../service/schema.ts';
import { Link, navigate, pageAddress } from '../../shell/router.tsx';
import { useChangeCount } from './kept-changes.ts';
import styles from './table-list.module.css';

interface TableListProps {
  readonly database: string;
  readonly tables: readonly TableSchema[];
  readonly chosen: string;
}

const groups = [
  { kind: 'table', title: 'Tables' },
  { kind: 'view', title: 'Views' },
  { kind: 'system', title: 'System' },
] as const;

/** All tables to choose from; in a narrow window a control that drops down. */
export function TableList({ database, tables, chosen }: TableListProps) {
  const [text, setText] = useState('');
  const found = tables.filter(({ name }) => name.includes(text.trim().toLowerCase()));
  return (
    <>
      <nav className={styles.list} aria-label="Tables">
        <SearchField label="Find a table" value={text} onChange={setText} />
        <div className={styles.groups}>
          {groups.map(({ kind, title }) => {
            const members = found.filter((table) => table.kind === kind);
            if (members.length === 0) return null;
            return (
              <section key={kind}>
                <h2>{title}</h2>
                {members.map((table) => (
                  <Item key={table.name} {...{ database, table, chosen }} />
                ))}
              </section>
            );
          })}
        </div>
      </nav>
      <div className={styles.choose}>
        <Select
          aria-label="Table"
          value={chosen}
          onChange={(event) => navigate(addressOf(database, event.target.value))}
        >
          {tables.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      </div>
    </>
  );
}

function Item(props: { database: string; table: TableSchema; chosen: string }) {
  const { database, table, chosen } = props;
  const changes = useChangeCount(database, table.name);
  return (
    <Link
      className={styles.item}
      to={addressOf(database, table.name)}
      aria-current={table.name === chosen}
      title={table.name}
    >
      <Icon name={table.kind === 'view' ? 'view' : 'table'} size={15} />
      <span>{table.name}</span>
      {changes > 0 && (
        <Badge kind="accent" title="Changes that are not applied">
          {changes}
          <span className="visually-hidden"> not applied</span>
        </Badge>
      )}
      {table.kind !== 'system' && !table.isPublic && (
        <span className={styles.lock} title="Private">
          <Icon name="lock" size={12} />
          <span className="visually-hidden">, private</span>
        </span>
      )}
    </Link>
  );
}

function addressOf(database: string, table: string): string {
  return pageAddress(database, 'data', { table });
}
