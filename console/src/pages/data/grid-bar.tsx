import { type SyntheticEvent, useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { copyText } from '../../parts/copy.tsx';
import { Input } from '../../parts/field.tsx';
import { Menu, type MenuItem } from '../../parts/menu.tsx';
import { countText } from '../../parts/numbers.ts';
import { Bar, Space } from '../../parts/page.tsx';
import { rowsAsCsv, rowsAsJson, rowsAsSql } from '../../parts/rows-as-text.ts';
import { say } from '../../parts/toast.tsx';
import type { TableSchema } from '../../service/schema.ts';
import type { Field } from '../../service/types.ts';
import { FilterBar } from './filter-bar.tsx';
import styles from './grid-bar.module.css';
import type { Row } from './grid-query.ts';
import type { WindowState } from './row-window.ts';
import type { ViewState } from './view-state.ts';

interface GridBarProps {
  readonly table: TableSchema;
  readonly view: ViewState;
  readonly state: WindowState;
  readonly fields: readonly Field[];
  /** The rows that are chosen; those in view if none are. */
  readonly chosenRows: () => readonly Row[];
  readonly onJump: (text: string) => void;
  readonly whyNoInsert: string | false;
  readonly onInsert: () => void;
}

/** What the grid shows, and what one can do with it. */
export function GridBar(props: GridBarProps) {
  const { table, view, state, fields, whyNoInsert, onInsert } = props;
  const { count, isLive } = state;
  return (
    <Bar label={`Rows of ${table.name}`}>
      <FilterBar table={table} filters={view.query.filters} onChange={view.setFilters} />
      <Space />
      <span className={styles.count} role="status">
        {count === null ? '' : `${countText(count)} ${count === 1 ? 'row' : 'rows'}`}
      </span>
      <span className={styles.wideOnly}>
        <Badge kind={isLive ? 'good' : 'quiet'} hasDot title={isLive ? liveText : followText}>
          {isLive ? 'Live' : 'Follows'}
        </Badge>
      </span>
      {table.primaryKey !== null && <Jump table={table} onJump={props.onJump} />}
      <ColumnsMenu fields={fields} view={view} />
      <Menu
        size="small"
        kind="plain"
        icon="copy"
        items={copyItems(props)}
        aria-label="Copy rows"
        title="Copy rows"
      />
      <Button
        size="small"
        kind="accent"
        icon="plus"
        off={whyNoInsert}
        aria-label="Insert"
        onClick={onInsert}
      >
        <span className={styles.wideOnly}>Insert</span>
      </Button>
    </Bar>
  );
}

const liveText = 'Rows follow a subscription to what is in view';
const followText =
  'Rows are read again every few seconds: this order or this kind of table has no subscription';

function Jump({ table, onJump }: { table: TableSchema; onJump: (text: string) => void }) {
  const [text, setText] = useState('');
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (text.trim() !== '') onJump(text.trim());
  };
  return (
    <form onSubmit={submit} className={styles.jump}>
      <Input
        isData
        aria-label={`Jump to ${table.primaryKey}`}
        placeholder={`Jump to ${table.primaryKey}`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  );
}

function ColumnsMenu({ fields, view }: { fields: readonly Field[]; view: ViewState }) {
  const { hidden, setHidden } = view;
  const items = fields.map(({ name }): MenuItem => {
    const isChecked = !hidden.has(name);
    const isLast = isChecked && hidden.size >= fields.length - 1;
    return {
      label: name,
      isChecked,
      off: isLast && 'One column has to stay',
      run: () => {
        const next = new Set(hidden);
        if (isChecked) next.add(name);
        else next.delete(name);
        setHidden(next);
      },
    };
  });
  return (
    <Menu
      size="small"
      kind="plain"
      icon="columns"
      items={items}
      aria-label="Show and hide columns"
      title="Show and hide columns"
    />
  );
}

function copyItems({ table, fields, chosenRows }: GridBarProps): readonly MenuItem[] {
  const copy = async (text: (rows: readonly Row[]) => string) => {
    const rows = chosenRows();
    if (await copyText(text(rows)))
      say(rows.length === 1 ? '1 row copied' : `${countText(rows.length)} rows copied`);
  };
  const forms = [
    ['JSON', (rows: readonly Row[]) => rowsAsJson(fields, rows)],
    ['CSV', (rows: readonly Row[]) => rowsAsCsv(fields, rows)],
    ['SQL', (rows: readonly Row[]) => rowsAsSql(table.name, fields, rows)],
  ] as const;
  return forms.map(([name, text]) => ({
    label: `Copy as ${name}`,
    icon: 'copy',
    run: () => void copy(text),
  }));
}
