import { useCallback, useState } from 'react';
import { complain } from '../../parts/toast.tsx';
import { typedText } from '../../parts/values.ts';
import { literalOfText } from '../../service/literals.ts';
import type { TableSchema } from '../../service/schema.ts';
import { quoteName, runSql } from '../../service/sql.ts';
import { rangeOf, type Spot } from './grid.tsx';
import { countSql, type GridQuery, isByKey, type Row } from './grid-query.ts';
import type { RowWindow } from './row-window.ts';
import type { ViewState } from './view-state.ts';

/** Which rows are chosen, which one is open, and where the view jumps. */
export function useSelection(database: string, rows: RowWindow, view: ViewState) {
  const { query, openRow } = view;
  const [spot, setSpot] = useState<Spot | null>(null);
  const [jump, setJump] = useState<{ readonly index: number } | null>(null);
  const openAt = useCallback(
    (index: number) => {
      const row = rows.rowAt(index);
      if (row === undefined) return;
      if (query.table.primaryKey !== null) openRow(keyText(query.table, row));
      else complain('This row cannot be opened', new Error('The table has no primary key.'));
    },
    [rows, query, openRow],
  );
  const jumpTo = async (text: string) => {
    try {
      const index = await indexOf(database, query, text);
      if (!isByKey(query)) return openRow(text);
      setJump({ index });
      setSpot({ row: index, column: 0, from: index });
    } catch (error) {
      complain(`Row ${text} does not exist`, error);
    }
  };
  /** The chosen rows, as far as they are here; all that are here if none is chosen. */
  const chosenRows = (): readonly Row[] => {
    const [low, high] = rangeOf(spot);
    const numbers = Array.from({ length: low < 0 ? 0 : high - low + 1 }, (_, at) => low + at);
    const chosen = numbers.flatMap((number) => {
      const row = rows.rowAt(number);
      return row === undefined ? [] : [row];
    });
    return chosen.length === 0 ? rows.loadedRows() : chosen;
  };
  return { spot, setSpot, jump, openAt, jumpTo, chosenRows };
}

/** The key of a row in the form that people type. */
export function keyText(table: TableSchema, row: Row): string {
  const at = table.columns.findIndex(({ name }) => name === table.primaryKey);
  const field = table.columns[at];
  return field === undefined ? '' : typedText(field.type, row[at]);
}

/** The statement that reads one row by its key; throws where the text is no key. */
export function rowSql(table: TableSchema, text: string): string {
  const key = quoteName(table.primaryKey ?? '');
  return `SELECT * FROM ${quoteName(table.name)} WHERE ${key} = ${keyLiteralOf(table, text)}`;
}

function keyLiteralOf(table: TableSchema, text: string): string {
  const field = table.columns.find(({ name }) => name === table.primaryKey);
  if (field === undefined) throw new Error('The table has no primary key.');
  const literal = literalOfText(field.type, text);
  if (literal.kind === 'wrong') throw new Error(literal.why);
  return literal.sql;
}

/** The number of the row with this key in the order of the query. */
async function indexOf(database: string, query: GridQuery, text: string): Promise<number> {
  const found = await runSql(database, rowSql(query.table, text), { isConfirmed: false });
  if (found.rows.length === 0) throw new Error(`No row has this ${query.table.primaryKey}.`);
  if (!isByKey(query)) return 0;
  const sign = query.sort?.isDescending === true ? '>' : '<';
  const key = quoteName(query.table.primaryKey ?? '');
  const place = `${key} ${sign} ${keyLiteralOf(query.table, text)}`;
  const sql = `${countSql(query)} ${query.filters.length > 0 ? 'AND' : 'WHERE'} ${place}`;
  const { rows } = await runSql(database, sql, { isConfirmed: false });
  return Number(rows[0]?.[0] ?? 0);
}
