/** Edits that nobody has applied yet, and the statements that do them. */
import { typedText } from '../../parts/values.ts';
import { literalOfText } from '../../service/literals.ts';
import type { TableSchema } from '../../service/schema.ts';
import { quoteName } from '../../service/sql.ts';
import { keyLiteral, type Row, rowKey } from './grid-query.ts';

/** What somebody typed, by the names of columns. */
export type Texts = Readonly<Record<string, string>>;

export type Edit =
  | { readonly kind: 'insert'; readonly id: string; readonly texts: Texts }
  | { readonly kind: 'update'; readonly id: string; readonly row: Row; readonly texts: Texts }
  | { readonly kind: 'delete'; readonly id: string; readonly row: Row };

/** In the order in which they were made; at most one for a row. */
export type ChangeSet = readonly Edit[];

/** As many statements as a preview takes at once. */
export const editsMax = 1_000;

export function withInsert(set: ChangeSet, texts: Texts): ChangeSet {
  return [...set, { kind: 'insert', id: `new ${crypto.randomUUID()}`, texts }];
}

/** Sets one cell; a cell that is what it was is no change. */
export function withCell(
  set: ChangeSet,
  table: TableSchema,
  row: Row,
  cell: { readonly column: string; readonly text: string },
): ChangeSet {
  const id = rowKey(table, row);
  const at = table.columns.findIndex(({ name }) => name === cell.column);
  const field = table.columns[at];
  if (field === undefined) return set;
  const old = set.find((edit) => edit.id === id);
  const { [cell.column]: _, ...others } = old?.kind === 'update' ? old.texts : {};
  const isSame = typedText(field.type, row[at]) === cell.text;
  const texts = isSame ? others : { ...others, [cell.column]: cell.text };
  const rest = set.filter((edit) => edit !== old);
  if (Object.keys(texts).length === 0) return rest;
  const before = old?.kind === 'update' ? old.row : row;
  return [...rest, { kind: 'update', id, row: before, texts }];
}

export function withDelete(set: ChangeSet, table: TableSchema, row: Row): ChangeSet {
  const id = rowKey(table, row);
  return [...set.filter((edit) => edit.id !== id), { kind: 'delete', id, row }];
}

export function without(set: ChangeSet, id: string): ChangeSet {
  return set.filter((edit) => edit.id !== id);
}

/** The statement that does an edit. */
export function editSql(table: TableSchema, edit: Edit): string {
  const name = quoteName(table.name);
  if (edit.kind === 'delete') return `DELETE FROM ${name} WHERE ${whereSql(table, edit.row)};`;
  const literals = table.columns.flatMap((field) => {
    const text = edit.texts[field.name];
    if (text === undefined) return [];
    const literal = literalOfText(field.type, text);
    return literal.kind === 'literal' ? [[quoteName(field.name), literal.sql] as const] : [];
  });
  if (edit.kind === 'insert') {
    const columns = literals.map(([column]) => column).join(', ');
    const values = literals.map(([, sql]) => sql).join(', ');
    return `INSERT INTO ${name} (${columns}) VALUES (${values});`;
  }
  const sets = literals.map(([column, sql]) => `${column} = ${sql}`).join(', ');
  return `UPDATE ${name} SET ${sets} WHERE ${whereSql(table, edit.row)};`;
}

export function setSql(table: TableSchema, set: ChangeSet): string {
  return set.map((edit) => editSql(table, edit)).join('\n');
}

function whereSql(table: TableSchema, row: Row): string {
  return `${quoteName(table.primaryKey ?? '')} = ${keyLiteral(table, row)}`;
}

/** What is wrong with texts, by column; empty if nothing is. */
export function faultsOf(table: TableSchema, texts: Texts): Readonly<Record<string, string>> {
  const faults = table.columns.flatMap(({ name, type }) => {
    const text = texts[name];
    if (text === undefined) return [];
    const literal = literalOfText(type, text);
    return literal.kind === 'wrong' ? [[name, literal.why] as const] : [];
  });
  return Object.fromEntries(faults);
}
