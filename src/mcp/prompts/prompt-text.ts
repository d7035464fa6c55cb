import { Refusal } from '../../database/outcome.ts';
import { shownDefinition } from '../../doors/shown-definition.ts';
import { unknownNameText } from '../../host/registry/resolve-target.ts';
import { limits } from '../../limits.ts';
import type { PromptArgument, PromptMessage } from '../../mcp-protocol/prompt.ts';
import { invalidParams, RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';
import { text } from '../../mcp-protocol/tool.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { flatDefinition } from '../../schema/flat-definition.ts';
import { fenced } from '../fence.ts';
import { findDatabase, type OpenDatabase, shownName } from '../open-database.ts';
import { notesOn, type SchemaNotes } from '../schema-notes.ts';
import type { McpSession } from '../session.ts';
import { schemaLines } from './schema-words.ts';

/** The database of a prompt. */
export interface PromptDatabase extends OpenDatabase {
  readonly name: string;
  /** The part of its definition that the caller can see. */
  readonly definition: ModuleDefinition;
  readonly notes: SchemaNotes;
}

/** Adds the argument `database`, unless the session fixes it. */
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
  const given = session.database ?? args.get('database') ?? '';
  const found = findDatabase(given, session);
  if (found === undefined) throw invalidParams(unknownNameText(given));
  const name = shownName(given, session);
  try {
    const definition = flatDefinition((await found.handle.describe()).definition);
    const shown = shownDefinition(definition, session.caller, found.caller.rights);
    return { ...found, name, definition: shown, notes: await notesOn(found, definition) };
  } catch (error) {
    if (error instanceof Refusal) throw new RpcError(rpcCode.internal, error.message);
    throw error;
  }
}

/** Returns an argument; clients send an empty text for an omitted one. */
export function filled(args: ReadonlyMap<string, string>, name: string): string | undefined {
  const value = args.get(name)?.trim();
  return value === '' ? undefined : value;
}

/** Explains how to name the database in a tool call. */
export function databaseHint({ database }: McpSession, name: string): string {
  return database === undefined ? ` Give every tool \`database\`: ${JSON.stringify(name)}.` : '';
}

export function fencedSchema({ definition, notes }: PromptDatabase): string {
  const lines: string[] = [];
  let characters = 0;
  for (const line of schemaLines(definition, notes)) {
    characters += line.length + 1;
    if (characters > limits.promptSchemaCharactersMax) {
      return `${fenced(lines.join('\n'))}\nget_schema has the rest.`;
    }
    lines.push(line);
  }
  return fenced(lines.join('\n'));
}

/** Fences the first lines, as many as a prompt shows. */
export function fencedLines(lines: readonly string[]): string {
  let characters = 0;
  const shown = lines.filter((line) => {
    characters += line.length;
    return characters <= limits.promptListCharactersMax;
  });
  const more = lines.length - shown.length;
  return fenced(shown.join('\n')) + (more === 0 ? '' : `\n${more} more are left out.`);
}

/** Returns one user message with several paragraphs. */
export function userMessage(...paragraphs: readonly string[]): readonly PromptMessage[] {
  return [{ role: 'user', content: text(paragraphs.filter((one) => one !== '').join('\n\n')) }];
}
