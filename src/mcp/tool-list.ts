import { Refusal } from '../database/outcome.ts';
import type { InputRequired } from '../mcp-protocol/input-required.ts';
import { type Tool, type ToolResult, text } from '../mcp-protocol/tool.ts';
import type { AgentFeature } from '../protocol/agent-features.ts';
import type { JsonObject } from '../values/json.ts';
import { Cursors } from './cursors.ts';
import type { McpSession } from './session.ts';
import { type ToolContext, ToolFailure, type ToolSource } from './tool.ts';
import { call } from './tools/call.ts';
import { getSchema } from './tools/get-schema.ts';
import { listDatabases } from './tools/list-databases.ts';
import { ping } from './tools/ping.ts';
import { type StatementResult, sqlTool } from './tools/sql.ts';

/** `host`: every data tool names its database; `database`: the path or the command fixed it. */
export type Mode = 'host' | 'database';

export function modeOf({ database }: SessionShape): Mode {
  return database === undefined ? 'host' : 'database';
}

/** The tools of a session, in the order in which its client sees them. */
export type ToolsOf = (session: SessionShape) => readonly Tool<McpSession>[];

/** What decides which tools there are. */
export type SessionShape = Pick<McpSession, 'database' | 'features'>;

/** Makes the tools, with what they keep from one request to the next. */
export function makeTools(): ToolsOf {
  const sql = sqlTool(new Cursors<StatementResult>());
  const lists = new Map<string, readonly Tool<McpSession>[]>();
  return (session) => {
    const mode = modeOf(session);
    const key = [mode, ...[...session.features].sort()].join(' ');
    const known = lists.get(key);
    if (known !== undefined) return known;
    const five = [...(mode === 'host' ? [listDatabases] : []), ping, getSchema, sql, call];
    const shape = { mode, features: session.features };
    const list = five
      .filter((source) => isOffered(source, shape))
      .map((source) => makeTool(source, shape));
    lists.set(key, list);
    return list;
  };
}

/** What decides how a tool looks. */
export interface Shape {
  readonly mode: Mode;
  readonly features: ReadonlySet<AgentFeature>;
}

function isOffered({ effect }: ToolSource, { features }: Shape): boolean {
  return effect !== 'writes' || !features.has('read-only');
}

/** What a client sees of a tool. */
export function makeTool(source: ToolSource, shape: Shape): Tool<McpSession> {
  const { name, title, description, effect, outputSchema } = source;
  const isReadOnly = effect === 'reads' || shape.features.has('read-only');
  return {
    name,
    title,
    description,
    inputSchema: source.inputSchema ?? inputSchemaOf(source, shape),
    outputSchema,
    annotations: {
      title,
      readOnlyHint: isReadOnly,
      destructiveHint: !isReadOnly,
      openWorldHint: false,
    },
    run: (args, context) => run(source, args, context),
  };
}

const databaseProperty = {
  database: { type: 'string', description: 'Name or identity of the database.' },
};

function inputSchemaOf(source: ToolSource, { mode, features }: Shape) {
  const { takesDatabase, properties, moreProperties, required } = source;
  const isNamed = takesDatabase && mode === 'host';
  const names = isNamed ? ['database', ...required] : required;
  return {
    type: 'object',
    properties: {
      ...(isNamed ? databaseProperty : {}),
      ...properties,
      ...(features.size === 0 ? {} : moreProperties),
    },
    ...(names.length === 0 ? {} : { required: names }),
  };
}

async function run(
  source: ToolSource,
  args: JsonObject,
  context: ToolContext,
): Promise<ToolResult | InputRequired> {
  try {
    const answer = await source.run(args, context);
    if ('kind' in answer) return answer;
    return { content: answer.texts.map(text), structured: answer.structured, isError: false };
  } catch (error) {
    if (!(error instanceof ToolFailure || error instanceof Refusal)) throw error;
    const advice = error instanceof ToolFailure ? error.advice : undefined;
    const texts = [error.message.trim(), ...(advice === undefined ? [] : [advice])];
    return { content: texts.map(text), isError: true };
  }
}
