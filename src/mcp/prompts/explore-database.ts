import type { Prompt } from '../../mcp-protocol/prompt.ts';
import { invalidParams } from '../../mcp-protocol/rpc-error.ts';
import { type ReadableTable, readableTables } from '../resources/table-rows.ts';
import type { McpSession } from '../session.ts';
import {
  databaseHint,
  fencedSchema,
  filled,
  promptDatabase,
  userMessage,
  withDatabase,
} from './prompt-text.ts';

/** Asks an agent to find out what a database, or one table or column of it, contains. */
export function exploreDatabase(session: McpSession): Prompt<McpSession> {
  return {
    name: 'explore_database',
    title: 'Explore a database',
    description: 'What a database is about, what its tables hold, and what looks odd in them.',
    arguments: withDatabase(session, [
      { name: 'table', description: 'A table or view to look at closely.', required: false },
      { name: 'column', description: 'One of its columns to look at.', required: false },
    ]),
    get: async (args) => {
      const database = await promptDatabase(session, args);
      const { name, definition, caller } = database;
      const tables = readableTables(definition, caller.rights);
      const table = tableIn(tables, filled(args, 'table'));
      const column = columnIn(table, filled(args, 'column'));
      return userMessage(
        `Explore the database \`${name}\` and tell me what you find. Change nothing: read with ` +
          `\`sql\`, one SELECT at a time, and call no reducer.${databaseHint(session, name)}`,
        'This is what its module declares:',
        fencedSchema(database),
        tables.length === 0
          ? 'I may read none of its tables: say so, and explain what the schema tells.'
          : `These can be read: ${tables.map((one) => `\`${one.name}\``).join(', ')}.`,
        taskWords(table, column),
        'Keep answers small: count before you list, and end statements with LIMIT. What this SQL ' +
          'can do is in the resource reducerdb:///docs/sql. Say which statements led you to what ' +
          'you say, and what you could not see.',
      );
    },
  };
}

function taskWords(table: ReadableTable | undefined, column: string | undefined): string {
  if (table === undefined) {
    return (
      'Say in a few sentences what the database is for. Then, for each table: how many rows it ' +
      'has, what one row stands for, which columns point to which other tables, and when it was ' +
      'last written, if a column tells. End with what looks odd: rows that point nowhere, empty ' +
      'or repeated values, numbers out of range.'
    );
  }
  const { name, key } = table;
  if (column === undefined) {
    const order = key === undefined ? '' : `, by \`${key}\``;
    return (
      `Look closely at \`${name}\`: how many rows it has, its first and its last few${order}, ` +
      'and for each column how many different values it has, its smallest and largest, and how ' +
      'many are missing. Then say what a row stands for, what refers to it, and what looks odd.'
    );
  }
  return (
    `Look closely at the column \`${column}\` of \`${name}\`: how many different values it has, ` +
    'the most frequent with their counts, the smallest and the largest, how many are missing or ' +
    'empty, and which do not fit the others. Then say what it means and what depends on it.'
  );
}

function tableIn(tables: readonly ReadableTable[], name: string | undefined) {
  const found = tables.find((one) => one.name === name);
  if (name !== undefined && found === undefined) throw invalidParams(`no such table: ${name}`);
  return found;
}

function columnIn(table: ReadableTable | undefined, column: string | undefined) {
  if (column === undefined) return undefined;
  if (table === undefined) throw invalidParams('`column` requires `table`');
  if (!table.columns.some(({ name }) => name === column)) {
    throw invalidParams(`no such column of ${table.name}: ${column}`);
  }
  return column;
}
