import { Refusal } from '../database/outcome.ts';
import { Previews } from '../doors/previews.ts';
import { limits } from '../limits.ts';
import type { InputRequired } from '../mcp-protocol/input-required.ts';
import { invalidParams, RpcError, rpcCode } from '../mcp-protocol/rpc-error.ts';
import { type Tool, type ToolResult, text } from '../mcp-protocol/tool.ts';
import type { AgentFeature } from '../protocol/agent-features.ts';
import { type JsonObject, JsonTooLongError } from '../values/json.ts';
import { argumentHint } from './argument-hint.ts';
import { Cursors } from './cursors.ts';
import { ignoredText } from './ignored-arguments.ts';
import type { McpSession } from './session.ts';
import { shownText } from './shown-text.ts';
import { type ToolAnswer, type ToolContext, ToolFailure, type ToolSource } from './tool.ts';
import { applyPreviewTool } from './tools/apply-preview.ts';
import { createBackupTool, listBackupsTool } from './tools/backups.ts';
import { call } from './tools/call.ts';
import { explain } from './tools/explain.ts';
import { getSchema } from './tools/get-schema.ts';
import { listActivityTool } from './tools/list-activity.ts';
import { listDatabases } from './tools/list-databases.ts';
import { logs } from './tools/logs.ts';
import { ping } from './tools/ping.ts';
import { previewCallTool, previewSqlTool } from './tools/preview.ts';
import { previewPublish } from './tools/preview-publish.ts';
import { readSourceTool } from './tools/read-source.ts';
import { type StatementResult, sqlTool } from './tools/sql.ts';
import { tableStatistics } from './tools/table-statistics.ts';
import { waitForChangeTool } from './tools/wait-for-change.ts';
import { whoami } from './tools/whoami.ts';

/** Returns the tools of a session, in the order in which its client sees them. */
export type ToolsOf = (session: SessionShape) => readonly Tool<McpSession>[];

/** The properties of a session that determine its tools and their form. */
export type SessionShape = Pick<McpSession, 'database' | 'features'>;

/** Creates the tools, with the data they keep between requests. */
export function makeTools(): ToolsOf {
  const sources = makeSources();
  const lists = new Map<string, readonly Tool<McpSession>[]>();
  return (session) => {
    const scope = isHostWide(session) ? 'host' : 'database';
    const key = [scope, ...[...session.features].sort()].join(' ');
    const known = lists.get(key);
    if (known !== undefined) return known;
    const list = sources
      .filter((offer) => isOffered(offer, session))
      .map(({ source }) => makeTool(source, session));
    lists.set(key, list);
    return list;
  };
}

/** Host-wide, every data tool names its database; otherwise the path or the command set it. */
function isHostWide({ database }: SessionShape): boolean {
  return database === undefined;
}

interface Offer {
  readonly source: ToolSource;
  /** Required feature of the session; `undefined`: none. */
  readonly feature?: AgentFeature;
}

/** Creates all tools, in the order in which clients see them, with the data they keep. */
function makeSources(): readonly Offer[] {
  const previews = new Previews();
  const sql = sqlTool(new Cursors<StatementResult>());
  const adds = (feature: AgentFeature, ...tools: readonly ToolSource[]): readonly Offer[] =>
    tools.map((source) => ({ source, feature }));
  return [
    ...[listDatabases, ping, getSchema, sql, call].map((source) => ({ source })),
    ...adds('preview', previewCallTool(previews), previewSqlTool(previews)),
    ...adds('preview', applyPreviewTool(previews), previewPublish),
    ...adds('explain', explain, tableStatistics),
    ...adds('logs', logs),
    ...adds('backup', createBackupTool, listBackupsTool),
    ...adds('watch', waitForChangeTool()),
    ...adds('ledger', listActivityTool),
    ...adds('source', readSourceTool),
    ...adds('whoami', whoami),
  ];
}

function isOffered({ source, feature }: Offer, session: SessionShape): boolean {
  const { features } = session;
  if (source === listDatabases && !isHostWide(session)) return false;
  if (source.effect === 'writes' && features.has('read-only')) return false;
  return feature === undefined || features.has(feature);
}

/** Creates a tool as a client sees it. */
export function makeTool(source: ToolSource, session: SessionShape): Tool<McpSession> {
  const { name, title, effect, outputSchema } = source;
  const isSessionReadOnly = session.features.has('read-only');
  const isReadOnly = effect === 'reads' || isSessionReadOnly;
  const description = isSessionReadOnly ? source.readOnlyDescription : undefined;
  return {
    name,
    title,
    description: description ?? source.description,
    inputSchema: source.inputSchema ?? inputSchemaOf(source, session),
    ...(session.features.has('answer-schemas') ? { outputSchema } : {}),
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

function inputSchemaOf(source: ToolSource, session: SessionShape) {
  const { takesDatabase, properties, moreProperties, required } = source;
  const isNamed = takesDatabase !== false && isHostWide(session);
  const names = isNamed && takesDatabase === true ? ['database', ...required] : required;
  return {
    type: 'object',
    properties: {
      ...(isNamed ? databaseProperty : {}),
      ...properties,
      ...(session.features.size === 0 ? {} : moreProperties),
    },
    ...(names.length === 0 ? {} : { required: names }),
  };
}

async function run(
  source: ToolSource,
  args: JsonObject,
  context: ToolContext,
): Promise<ToolResult | InputRequired> {
  const stopTelling = tellThatItRuns(source, context);
  try {
    const answer = await source.run(args, context);
    if ('kind' in answer) return answer;
    const texts = [...answer.texts, ...ignoredText(source, args)];
    const content = texts.map((words) => text(shownText(words)));
    const { meta } = answer;
    return { content, isError: false, meta, ...structuredPart(answer, context) };
  } catch (error) {
    if (error instanceof RpcError) throw withHint(error, source, args, context);
    const isExpected =
      error instanceof ToolFailure || error instanceof Refusal || error instanceof JsonTooLongError;
    if (!isExpected) throw error;
    const advice = error instanceof ToolFailure ? error.advice : undefined;
    const texts = [error.message.trim(), ...(advice === undefined ? [] : [advice])];
    return { content: texts.map((words) => text(shownText(words))), isError: true };
  } finally {
    stopTelling();
  }
}

/**
 * Adds the structured result for clients that read it, unless it is so large that saying the same
 * twice costs too much. A client that has seen the schemas of answers relies on it.
 */
function structuredPart(
  { structured }: ToolAnswer,
  { session, readsStructured }: ToolContext,
): Pick<ToolResult, 'structured'> {
  const isPromised = session.features.has('answer-schemas');
  const isShort = structured.length <= limits.agentStructuredBytesMax;
  return isPromised || (readsStructured && isShort) ? { structured } : {};
}

/** Adds a call that would work to an error about arguments of the wrong shape. */
function withHint(
  error: RpcError,
  source: ToolSource,
  args: JsonObject,
  { session }: ToolContext,
): RpcError {
  if (error.code !== rpcCode.invalidParams || error.data !== undefined) return error;
  return invalidParams(error.message, { hint: argumentHint(source, args, session) });
}

/** Reports progress, since clients wait while they receive it. Returns a function to stop. */
function tellThatItRuns({ name }: ToolSource, { progress }: ToolContext): () => void {
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += limits.agentProgressSeconds;
    progress(seconds, undefined, `${name} is running`);
  }, limits.agentProgressSeconds * 1_000);
  return () => clearInterval(timer);
}
