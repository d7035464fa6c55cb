import type { ModuleDefinition, TableDefinition } from '../../schema/definition.ts';
import { flatDefinition } from '../../schema/flat-definition.ts';
import type { RowColumn, RowTable } from '../../transfer/row-table.ts';
import { fixedSizeOf } from '../../values/layout.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';

/** The table of this name, as the text of its rows needs to know it. */
export function rowTableOf(definition: ModuleDefinition, name: string): RowTable | undefined {
  const { tables, typespace: types } = flatDefinition(definition);
  const table = tables.find((one) => one.name === name && one.tableType === 'user');
  if (table === undefined || table.isEvent) return undefined;
  return { name, types, columns: table.columns.map((_, at) => columnOf(table, at, types)) };
}

function columnOf(table: TableDefinition, at: number, types: Typespace): RowColumn {
  const { name, sourceName, type, defaultBytes } = table.columns[
    at
  ] as TableDefinition['columns'][0];
  const isSequence = table.sequences.some(({ column }) => column === at);
  const column = { name, sourceName, type, isSequence };
  if (isSequence) return { ...column, filler: new Uint8Array(fixedSizeOf(type, types) ?? 0) };
  const isOption = specialKindOf(resolveType(type, types)) === 'option';
  return { ...column, filler: defaultBytes ?? (isOption ? absentOption : undefined) };
}

/** The tag of `none`. */
const absentOption = Uint8Array.of(1);
