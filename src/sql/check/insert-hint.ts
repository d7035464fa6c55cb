import type { TableSpec } from '../../schema/catalog.ts';
import type { Insert } from '../syntax/ast.ts';
import type { Environment } from './context.ts';
import { columnPosition } from './scope.ts';
import { defaultOf } from './type-default.ts';

/** A list of columns that an INSERT could have: those that it names and those without a default. */
export function columnsHint(
  { table: written, columns, source }: Insert,
  table: TableSpec,
  { statement }: Environment,
): string {
  const named = new Set(columns.map((column) => columnPosition(table.columns, column)));
  const required = table.columns.filter((_, at) => defaultOf(table, at, statement) === undefined);
  const missing = required.filter((column) => !named.has(table.columns.indexOf(column)));
  if (columns.length === 0) {
    const isWhole = source.kind === 'values' && source.rows[0]?.length === table.columns.length;
    const list = namesOf(isWhole || required.length === 0 ? table.columns : required);
    return `Name the columns that get the values: INSERT INTO ${written} (${list}) …`;
  }
  if (missing.length > 0) {
    const all = table.columns.filter((column, at) => named.has(at) || missing.includes(column));
    return (
      `These columns need a value: ${namesOf(missing)}. ` +
      `Write INSERT INTO ${written} (${namesOf(all)}) …`
    );
  }
  return `Name each column once: INSERT INTO ${written} (${namesOf(table.columns)}) …`;
}

function namesOf(columns: TableSpec['columns']): string {
  return columns.map(({ name }) => name).join(', ');
}
