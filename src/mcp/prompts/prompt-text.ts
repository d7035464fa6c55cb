import { Refusal } from '../../database/outcome.ts';
import { shownDefinition } from '../../host/shown-definition.ts';
import { limits } from '../../limits.ts';
import type { PromptArgument, PromptMessage } from '../../mcp-protocol/prompt.ts';
import { invalidParams, RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';
import { text } from '../../mcp-protocol/tool.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { fenced } from '../fence.ts';
import { findDatabase, type OpenDatabase } from '../open-database.ts';
import type { McpSession } from '../session.ts';
import { schemaWords } from './schema-words.ts';

/** The database that a prompt is about. */
export interface PromptDatabase extends OpenDatabase {
  /** As the caller named it. */
  readonly name: string;
  /** What the caller is shown of it. */
  readonly definition: ModuleDefinition;
}

/** Where the database is fixed, no prompt asks for it. */
export function withDatabase(
  { database }: McpSession,
  others: readonly PromptArgument[],
): readonly PromptArgument[] {
  if (database !== undefined) return others;
  const description = 'Name or identity of the database.';
  return [{ name: 'database', description, required: true }, ...others];
}

export async function promptDatabase(
  session: McpSession,
  args: ReadonlyMap<string, string>,
): Promise<PromptDatabase> {
  const name = session.database ?? args.get('database') ?? '';
  const found = findDatabase(name, session);
  if (found === undefined) throw invalidParams(`\`${name}\` not found`);
  try {
    const { definition } = await found.handle.describe();
    const shown = shownDefinition(definition, session.caller, found.caller.rights);
    return { ...found, name, definition: shown };
  } catch (error) {
    if (error instanceof Refusal) throw new RpcError(rpcCode.internal, error.message);
    throw error;
  }
}

/** An argument that is filled in; clients send an empty text for one that is not. */
export function filled(args: ReadonlyMap<string, string>, name: string): string | undefined {
  const value = args.get(name)?.trim();
  return value === '' ? undefined : value;
}

/** How a tool is told which database it is to work on. */
export function databaseHint({ database }: McpSession, name: string): string {
  return database === undefined ? ` Give every tool \`database\`: ${JSON.stringify(name)}.` : '';
}

export function fencedSchema(definition: ModuleDefinition): string {
  const words = schemaWords(definition);
  const { promptSchemaCharactersMax: most } = limits;
  if (words.length <= most) return fenced(words);
  return `${fenced(words.slice(0, words.lastIndexOf('\n', most)))}\nget_schema has the rest.`;
}

/** One message of the user, of several paragraphs. */
export function userMessage(...paragraphs: readonly string[]): readonly PromptMessage[] {
  return [{ role: 'user', content: text(paragraphs.filter((one) => one !== '').join('\n\n')) }];
}
