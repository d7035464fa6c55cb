import type { TableFigures } from '../../host/supervision/database-handle.ts';
import { databaseArgument } from '../database-argument.ts';
import { openDatabase } from '../open-database.ts';
import {
  objectSchema,
  optionalStringArgument,
  stringsSchema,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

const count = { type: 'integer' } as const;

/** Shows the size of each table, and the columns and indexes that queries can use. */
export const tableStatistics: ToolSource = {
  name: 'table_statistics',
  title: 'Table statistics',
  description:
    'For each table that you can read: columns, primary key, indexes with their kind, and the ' +
    'numbers of rows and bytes. A condition that no index serves reads the whole table.',
  properties: { table: { type: 'string', description: 'Only this table.' } },
  required: [],
  outputSchema: objectSchema({
    tables: {
      type: 'array',
      items: objectSchema(
        {
          table: { type: 'string' },
          public: { type: 'boolean' },
          event: { type: 'boolean' },
          columns: stringsSchema,
          indexes: {
            type: 'array',
            items: objectSchema({
              name: { type: 'string' },
              columns: stringsSchema,
              kind: { type: 'string' },
              unique: { type: 'boolean' },
            }),
          },
        },
        {
          primary_key: { type: 'string' },
          auto_increment: stringsSchema,
          rows: count,
          row_bytes: count,
          index_bytes: count,
        },
      ),
    },
  }),
  takesDatabase: true,
  effect: 'reads',
  run: async (args, context) => {
    const name = databaseArgument(args, context);
    const only = optionalStringArgument(args, 'table');
    const { handle, caller } = openDatabase(name, context);
    const all = await handle.tables(caller);
    const tables = only === undefined ? all : all.filter(({ table }) => table === only);
    if (only !== undefined && tables.length === 0) throw new ToolFailure(`no such table: ${only}`);
    const shown = tables.map(shownTable);
    const texts = shown.length === 0 ? ['No tables.'] : [shown.map(textOf).join('\n')];
    return { texts, structured: JSON.stringify({ tables: shown }) };
  },
};

type ShownTable = ReturnType<typeof shownTable>;

function shownTable({ table, isPublic, isEvent, columns, indexes, size }: TableFigures) {
  const key = columns.find(({ isPrimaryKey }) => isPrimaryKey);
  const automatic = columns.filter(({ isAutoIncrement }) => isAutoIncrement);
  return {
    table,
    public: isPublic,
    event: isEvent,
    columns: columns.map(({ name }) => name),
    ...(key === undefined ? {} : { primary_key: key.name }),
    ...(automatic.length === 0 ? {} : { auto_increment: automatic.map(({ name }) => name) }),
    indexes: indexes.map(({ name, columns, kind, isUnique }) => {
      return { name, columns, kind, unique: isUnique };
    }),
    ...(size === undefined
      ? {}
      : { rows: size.rowCount, row_bytes: size.rowBytes, index_bytes: size.indexBytes }),
  };
}

/** Formats `task (public): 3 rows, 120 bytes, indexes 64 bytes`, with columns and indexes below. */
function textOf(shown: ShownTable): string {
  const access = shown.public ? 'public' : 'private';
  const kind = shown.event ? `${access}, events` : access;
  const size =
    shown.rows === undefined
      ? 'you see only some of its rows'
      : `${shown.rows} rows, ${shown.row_bytes} bytes, indexes ${shown.index_bytes} bytes`;
  const columns = shown.columns.map((name) => `${name}${columnWords(shown, name)}`);
  return [
    `${shown.table} (${kind}): ${size}`,
    `  columns ${columns.join(', ')}`,
    ...shown.indexes.map(({ name, columns, kind, unique }) => {
      return `  index ${name}: ${kind} on ${columns.join(', ')}${unique ? ', unique' : ''}`;
    }),
  ].join('\n');
}

function columnWords({ primary_key: key, auto_increment: automatic }: ShownTable, name: string) {
  const words = [
    ...(key === name ? ['primary key'] : []),
    ...(automatic?.includes(name) === true ? ['auto-increment'] : []),
  ];
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}
