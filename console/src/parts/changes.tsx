import type { Json } from '../service/json.ts';
import type { Preview, PreviewedTable, PreviewedUpdate } from '../service/previews.ts';
import { Badge } from './badge.tsx';
import styles from './changes.module.css';
import { classes } from './classes.ts';
import { shortIdentity } from './identity.tsx';
import { countText } from './numbers.ts';
import { Notice } from './state.tsx';

const cellCharactersMax = 240;

/** The rows that a preview would change, before and after side by side. */
export function Changes({ of }: { readonly of: Preview }) {
  return (
    <div className={styles.changes}>
      {of.tables.length === 0 && <p className={styles.none}>No rows would change.</p>}
      {of.tables.map((table) => (
        <TableChanges key={table.table} of={table} />
      ))}
      {!of.isComplete && (
        <Notice kind="warn">Rows of tables that you may not read would change, too.</Notice>
      )}
    </div>
  );
}

function TableChanges({ of }: { readonly of: PreviewedTable }) {
  const { table, columns, inserted, deleted, updated, counts, hasMore } = of;
  const shown = inserted.length + deleted.length + updated.length;
  const total = counts.inserted + counts.deleted + counts.updated;
  return (
    <section className={styles.of} aria-label={`Changes in ${table}`}>
      <header className={styles.head}>
        <h3>{table}</h3>
        {counts.inserted > 0 && <Badge kind="good">{countText(counts.inserted)} inserted</Badge>}
        {counts.updated > 0 && <Badge kind="accent">{countText(counts.updated)} updated</Badge>}
        {counts.deleted > 0 && <Badge kind="danger">{countText(counts.deleted)} deleted</Badge>}
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
      <section className={styles.scroll} tabIndex={0} aria-label={`Changed rows of ${table}`}>
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">
                <span className="visually-hidden">Change</span>
              </th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {updated.map((update, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a preview never move
              <UpdatedRow key={`updated ${at}`} columns={columns} of={update} />
            ))}
            {inserted.map((cells, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a preview never move
              <ChangedRow key={`inserted ${at}`} columns={columns} cells={cells} kind="inserted" />
            ))}
            {deleted.map((cells, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a preview never move
              <ChangedRow key={`deleted ${at}`} columns={columns} cells={cells} kind="deleted" />
            ))}
          </tbody>
        </table>
      </section>
      {hasMore && (
        <p className={styles.none}>
          {countText(shown)} of {countText(total)} changed rows are shown.
        </p>
      )}
    </section>
  );
}

interface RowProps {
  readonly columns: readonly string[];
  readonly cells: readonly Json[];
  readonly kind: 'inserted' | 'deleted';
}

function ChangedRow({ columns, cells, kind }: RowProps) {
  return (
    <tr className={styles[kind]}>
      <td className={styles.sign}>
        <span aria-hidden="true">{kind === 'inserted' ? '+' : '−'}</span>
        <span className="visually-hidden">{kind}</span>
      </td>
      {columns.map((column, at) => (
        <td key={column}>
          <PlainValue value={cells[at]} />
        </td>
      ))}
    </tr>
  );
}

function UpdatedRow(props: { readonly columns: readonly string[]; readonly of: PreviewedUpdate }) {
  const { columns, of } = props;
  return (
    <tr>
      <td className={styles.sign}>
        <span aria-hidden="true">~</span>
        <span className="visually-hidden">updated</span>
      </td>
      {columns.map((column, at) => {
        const [before, after] = [of.before[at], of.after[at]];
        if (JSON.stringify(before) === JSON.stringify(after)) {
          return (
            <td key={column} className={styles.same}>
              <PlainValue value={after} />
            </td>
          );
        }
        return (
          <td key={column}>
            <span className={styles.pair}>
              <del>
                <PlainValue value={before} />
              </del>
              <span aria-hidden="true">→</span>
              <ins>
                <PlainValue value={after} />
              </ins>
            </span>
          </td>
        );
      })}
    </tr>
  );
}

/** A value in the plain form, on one line. */
export function PlainValue({ value }: { readonly value: Json | undefined }) {
  const whole = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  const isIdentity = /^[\da-f]{64}$/.test(whole);
  const isCut = isIdentity || whole.length > cellCharactersMax;
  const text = isIdentity
    ? shortIdentity(whole)
    : isCut
      ? `${whole.slice(0, cellCharactersMax)}…`
      : whole;
  const line = text.replace(/\r?\n/g, '⏎').replace(/\t/g, '⇥');
  return (
    <code
      className={classes(styles.value, (value === null || value === undefined) && styles.null)}
      title={isCut ? whole.slice(0, 2_000) : undefined}
    >
      {line === '' ? <span className={styles.null}>empty</span> : line}
    </code>
  );
}
