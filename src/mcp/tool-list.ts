import type { Tool } from './tool.ts';
import { call } from './tools/call.ts';
import { getSchema } from './tools/get-schema.ts';
import { listDatabases } from './tools/list-databases.ts';
import { ping } from './tools/ping.ts';
import { sql } from './tools/sql.ts';

/** `host`: every data tool names its database; `database`: the path or the command fixed it. */
export type Mode = 'host' | 'database';

/** The tools of a mode, in the order in which clients see them. */
export function toolsOf(mode: Mode): readonly Tool[] {
  return mode === 'host'
    ? [listDatabases, ping, getSchema, sql, call]
    : [ping, getSchema, sql, call];
}

const databaseProperty = {
  database: { type: 'string', description: 'Name or identity of the database.' },
};

/** How a client sees a tool in `tools/list`. */
export function describeTool(tool: Tool, mode: Mode): object {
  const isNamed = tool.takesDatabase && mode === 'host';
  const required = isNamed ? ['database', ...tool.required] : tool.required;
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: {
      type: 'object',
      properties: isNamed ? { ...databaseProperty, ...tool.properties } : tool.properties,
      ...(required.length === 0 ? {} : { required }),
    },
    annotations: {
      title: tool.title,
      readOnlyHint: tool.isReadOnly,
      destructiveHint: !tool.isReadOnly,
      openWorldHint: false,
    },
  };
}
