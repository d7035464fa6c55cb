import type { TableSpec } from '../../schema/catalog.ts';
import { optionInnerType } from '../functions/convert.ts';
import type { QueryValue } from '../functions/function.ts';
import { isVisible } from '../rights.ts';
import { constantRows, numberType, textColumns } from './constant-rows.ts';
import type { StatementContext } from './context.ts';
import { readableType } from './readable-type.ts';
import type { TypedQuery } from './typed.ts';

/**
 * `information_schema`: what a caller may know of the schema, as rows. Tables that the caller may
 * not read are in none of them. They are of the schema and the rights, as every typed statement is.
 */

/** The names that `information_schema` has. */
export const informationTables: readonly string[] = [
  'information_schema.tables',
  'information_schema.columns',
  'information_schema.table_constraints',
  'information_schema.key_column_usage',
];

/** The rows of a table of `information_schema`; `undefined` for other names. */
export function informationRows(name: string, statement: StatementContext): TypedQuery | undefined {
  if (!informationTables.includes(name)) return undefined;
  const tables = visibleTables(statement);
  switch (name) {
    case 'information_schema.tables':
      return constantRows(
        textColumns('table_schema', 'table_name', 'table_type'),
        tables.map((table) => [schemaOf(table), table.name, tableTypes[table.kind]]),
      );
    case 'information_schema.columns':
      return constantRows(
        [
          ...textColumns('table_schema', 'table_name', 'column_name'),
          { name: 'ordinal_position', type: numberType },
          ...textColumns('data_type', 'is_nullable', 'is_identity'),
        ],
        tables.flatMap((table) => informationColumns(table, statement)),
      );
    case 'information_schema.table_constraints':
      return constantRows(
        textColumns('table_schema', 'table_name', 'constraint_name', 'constraint_type'),
        tables.flatMap((table) =>
          keysOf(table).map(({ constraint, type }) => {
            return [schemaOf(table), table.name, constraint, type];
          }),
        ),
      );
    default:
      return constantRows(
        [
          ...textColumns('table_schema', 'table_name', 'constraint_name', 'column_name'),
          { name: 'ordinal_position', type: numberType },
        ],
        tables.flatMap((table) => informationKeys(table)),
      );
  }
}

const tableTypes: Readonly<Record<TableSpec['kind'], string>> = {
  user: 'BASE TABLE',
  view: 'VIEW',
  system: 'SYSTEM TABLE',
};

function schemaOf({ kind }: TableSpec): string {
  return kind === 'system' ? 'system' : 'public';
}

function informationColumns(table: TableSpec, statement: StatementContext): QueryValue[][] {
  return table.columns.map(({ name, type }, at) => [
    schemaOf(table),
    table.name,
    name,
    at + 1,
    readableType(type, statement.typespace),
    isOption(type, statement) ? 'YES' : 'NO',
    table.sequences.some(({ column }) => column === at) ? 'YES' : 'NO',
  ]);
}

function informationKeys(table: TableSpec): QueryValue[][] {
  return keysOf(table).flatMap(({ constraint, columns }) =>
    columns.map((column, at) => {
      const { name = '' } = table.columns[column] ?? {};
      return [schemaOf(table), table.name, constraint, name, at + 1];
    }),
  );
}

interface Key {
  readonly constraint: string;
  readonly type: string;
  readonly columns: readonly number[];
}

/** The unique keys of a table; that of its primary key is called so. */
function keysOf({ primaryKey, indexes, constraints }: TableSpec): readonly Key[] {
  return indexes
    .filter(({ isUnique }) => isUnique)
    .map(({ name, columns }): Key => {
      const constraint = constraints.find((one) => one.columns.join() === columns.join());
      const isPrimary = columns.length === 1 && columns[0] === primaryKey;
      const type = isPrimary ? 'PRIMARY KEY' : 'UNIQUE';
      return { constraint: constraint?.name ?? name, type, columns };
    });
}

export function isOption(
  type: TableSpec['columns'][number]['type'],
  { typespace }: StatementContext,
) {
  return optionInnerType(type, typespace) !== undefined;
}

export function visibleTables({ schema, rights }: StatementContext): readonly TableSpec[] {
  const visible = schema.tables.filter((table) => isVisible(table, rights));
  return visible.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
