import { Refusal } from '../database/outcome.ts';
import { type Tool, type ToolResult, text } from '../mcp-protocol/tool.ts';
import type { JsonObject } from '../values/json.ts';
import type { McpSession } from './session.ts';
import { type ToolContext, ToolFailure, type ToolSource } from './tool.ts';
import { call } from './tools/call.ts';
import { getSchema } from './tools/get-schema.ts';
import { listDatabases } from './tools/list-databases.ts';
import { ping } from './tools/ping.ts';
import { sql } from './tools/sql.ts';

/** `host`: every data tool names its database; `database`: the path or the command fixed it. */
export type Mode = 'host' | 'database';

export function modeOf({ database }: McpSession): Mode {
  return database === undefined ? 'host' : 'database';
}

/** The tools of a mode, in the order in which clients see them. */
export function toolsOf(mode: Mode): readonly Tool<McpSession>[] {
  return mode === 'host' ? hostTools : databaseTools;
}

const databaseProperty = {
  database: { type: 'string', description: 'Name or identity of the database.' },
};

const inDatabase = [ping, getSchema, sql, call];
const databaseTools = inDatabase.map((source) => makeTool(source, 'database'));
const hostTools = [listDatabases, ...inDatabase].map((source) => makeTool(source, 'host'));

function makeTool(source: ToolSource, mode: Mode): Tool<McpSession> {
  const { name, title, description, isReadOnly } = source;
  return {
    name,
    title,
    description,
    inputSchema: inputSchemaOf(source, mode),
    annotations: {
      title,
      readOnlyHint: isReadOnly,
      destructiveHint: !isReadOnly,
      openWorldHint: false,
    },
    run: (args, context) => run(source, args, context),
  };
}

function inputSchemaOf({ takesDatabase, properties, required }: ToolSource, mode: Mode) {
  const isNamed = takesDatabase && mode === 'host';
  const names = isNamed ? ['database', ...required] : required;
  return {
    type: 'object',
    properties: isNamed ? { ...databaseProperty, ...properties } : properties,
    ...(names.length === 0 ? {} : { required: names }),
  };
}

async function run(
  source: ToolSource,
  args: JsonObject,
  context: ToolContext,
): Promise<ToolResult> {
  try {
    return { content: [text(await source.run(args, context))], isError: false };
  } catch (error) {
    if (!(error instanceof ToolFailure || error instanceof Refusal)) throw error;
    const advice = error instanceof ToolFailure ? error.advice : undefined;
    const texts = [error.message.trim(), ...(advice === undefined ? [] : [advice])];
    return { content: texts.map(text), isError: true };
  }
}
