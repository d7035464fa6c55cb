import { type KeyboardEvent, useCallback, useMemo, useState } from 'react';
import { copyText } from '../../parts/copy.tsx';
import { Empty, Failure, Loading, Notice } from '../../parts/state.tsx';
import { complain } from '../../parts/toast.tsx';
import { typedText } from '../../parts/values.ts';
import type { TableSchema } from '../../service/schema.ts';
import { useStore } from '../../service/store.ts';
import { useConnection } from '../../shell/connection.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { useCellEditing, whyNotInsert, whyNotWrite } from './cell-editing.ts';
import { ChangeBar } from './change-bar.tsx';
import { type ChangeSet, withDelete, withInsert } from './change-set.ts';
import { Grid } from './grid.tsx';
import { GridBar } from './grid-bar.tsx';
import { useGridColumns } from './grid-columns.ts';
import type { Row } from './grid-query.ts';
import { useChanges } from './kept-changes.ts';
import { OpenRow } from './open-row.tsx';
import { RowForm } from './row-form.tsx';
import type { RowWindow } from './row-window.ts';
import { useSelection } from './selection.ts';
import { useRowWindow, useShownColumns, wrongFilter } from './table-window.ts';
import { useViewState, type ViewState } from './view-state.ts';

/** One table: its rows, as the address says. */
export function TableView({ table }: { readonly table: TableSchema }) {
  const { database } = useDatabase();
  const view = useViewState(table);
  const connection = useConnection(database);
  const rows = useRowWindow(database, view.query, connection);
  const state = useStore(rows.state);
  const fault = wrongFilter(view.query);
  if (state.error !== null && state.count === null && state.countMin === 0) {
    return <Failure error={state.error} onRetry={() => rows.refresh()} />;
  }
  return (
    <>
      {fault !== null && <Notice kind="danger">A filter is left out. {fault}</Notice>}
      <TableRows key={table.name} table={table} view={view} rows={rows} />
    </>
  );
}

interface TableRowsProps {
  readonly table: TableSchema;
  readonly view: ViewState;
  readonly rows: RowWindow;
}

function TableRows({ table: given, view, rows }: TableRowsProps) {
  const { database, whyNot } = useDatabase();
  const state = useStore(rows.state);
  // Columns of system tables are known by their answers alone.
  const fields = given.columns.length > 0 ? given.columns : state.columns;
  const table = useMemo(() => ({ ...given, columns: fields }), [given, fields]);
  const [set, setSet] = useChanges(database, table.name);
  const [isInserting, setInserting] = useState(false);
  const columns = useGridColumns(fields, view.hidden);
  const shown = useShownColumns(table, columns);
  const selection = useSelection(database, rows, view);
  const whyNoWrite = whyNotWrite(table, whyNot('write_sql'));
  const remove = (row: Row) => {
    if (whyNoWrite === false) setSet(withDelete(set, table, row));
    else complain('This row cannot be deleted', new Error(whyNoWrite));
  };
  const insert = (texts: Readonly<Record<string, string>>) => {
    setSet(withInsert(set, texts));
    setInserting(false);
  };
  const parts = { table, view, rows, columns, shown, selection, set, setSet, whyNoWrite, remove };
  return (
    <>
      <GridBar
        table={table}
        view={view}
        state={state}
        fields={fields}
        chosenRows={selection.chosenRows}
        onJump={(text) => void selection.jumpTo(text)}
        whyNoInsert={whyNotInsert(table, whyNot('write_sql'))}
        onInsert={() => setInserting(true)}
      />
      {state.error !== null && <Notice kind="warn">{state.error.message}</Notice>}
      <Rows {...parts} />
      <ChangeBar
        database={database}
        table={table}
        set={set}
        onChange={setSet}
        onApplied={() => rows.refresh()}
      />
      {isInserting && (
        <RowForm table={table} onClose={() => setInserting(false)} onInsert={insert} />
      )}
      {view.rowText !== '' && (
        <OpenRow
          table={table}
          columns={shown}
          text={view.rowText}
          whyNoDelete={whyNoWrite}
          onDelete={remove}
          onClose={() => view.openRow('')}
        />
      )}
    </>
  );
}

interface RowsProps extends TableRowsProps {
  readonly columns: ReturnType<typeof useGridColumns>;
  readonly shown: ReturnType<typeof useShownColumns>;
  readonly selection: ReturnType<typeof useSelection>;
  readonly set: ChangeSet;
  readonly setSet: (set: ChangeSet) => void;
  readonly whyNoWrite: string | false;
  readonly remove: (row: Row) => void;
}

/** The grid, and what its keys do; or that there is nothing. */
function Rows(props: RowsProps) {
  const { table, view, rows, columns, shown, selection, set, setSet, whyNoWrite, remove } = props;
  const { spot, setSpot, jump, openAt } = selection;
  const { count, countMin } = useStore(rows.state);
  const rowAt = useCallback((index: number) => rows.rowAt(index), [rows]);
  const onShow = useCallback((first: number, last: number) => rows.show(first, last), [rows]);
  const editing = useCellEditing({ table, shown, rowAt, set, setSet, whyNoWrite });
  const { draft, begin, type, done } = editing;
  const edit = useCallback(
    (row: number, column: number) => {
      setSpot({ row, column, from: row });
      begin(row, column);
    },
    [begin, setSpot],
  );
  const events = useMemo(
    () => ({ onOpen: openAt, onEdit: edit, onType: type, onDone: done }),
    [openAt, edit, type, done],
  );
  const press = (event: KeyboardEvent) => {
    const row = spot === null ? undefined : rowAt(spot.row);
    const column = shown[spot?.column ?? 0];
    if (spot === null || row === undefined || column === undefined) return;
    if (event.key === ' ' || (event.key === 'Enter' && whyNoWrite !== false)) openAt(spot.row);
    else if (event.key === 'Enter' || event.key === 'F2') begin(spot.row, spot.column);
    else if (event.key === 'Delete') remove(row);
    else if (event.key === 'c' && (event.ctrlKey || event.metaKey)) {
      void copyText(typedText(column.field.type, row[column.at]));
    } else return;
    event.preventDefault();
  };
  if (count === null && countMin === 0) {
    return <Loading label={`Loading ${table.name}`} lines={12} />;
  }
  if (count === 0) return <NoRows table={table} isFiltered={view.query.filters.length > 0} />;
  return (
    <Grid
      label={`Rows of ${table.name}`}
      count={count ?? countMin}
      isCounted={count !== null}
      {...{ table, columns, shown, rowAt, onShow, spot, set, draft, jump, events }}
      fields={table.columns}
      sort={view.query.sort}
      onSort={view.setSort}
      onSpot={setSpot}
      onKey={press}
    />
  );
}

function NoRows({ table, isFiltered }: { table: TableSchema; isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty icon="filter" title="No row fits the filters">
        Remove a filter to see more rows.
      </Empty>
    );
  }
  return (
    <Empty icon="table" title={`${table.name} has no rows`}>
      Rows appear here as soon as a reducer or a statement writes them.
    </Empty>
  );
}
