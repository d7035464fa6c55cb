import { Refusal } from '../database/outcome.ts';
import { usableDefinition } from '../doors/shown-definition.ts';
import type { Completion, CompletionRequest } from '../mcp-protocol/prompt.ts';
import { invalidParams } from '../mcp-protocol/rpc-error.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { findDatabase } from './open-database.ts';
import { promptsOf } from './prompts/prompt-list.ts';
import type { GuidePages } from './resources/guide-pages.ts';
import { databaseNames, listTemplates } from './resources/resource-list.ts';
import { readableTables } from './resources/table-rows.ts';
import type { McpSession } from './session.ts';

/**
 * Completes what a client's user has typed for an argument, within the caller's rights: names that
 * start with it, then names that contain it.
 */
export async function complete(
  request: CompletionRequest,
  session: McpSession,
  guide: GuidePages,
): Promise<Completion> {
  requireKnown(request, session);
  const names = await namesFor(request, session, guide);
  const typed = request.argument.value.toLowerCase();
  const places = names.map((name) => name.toLowerCase().indexOf(typed));
  const begin = names.filter((_, at) => places[at] === 0);
  const contain = names.filter((_, at) => (places[at] ?? -1) > 0);
  return { values: [...begin, ...contain] };
}

function requireKnown({ ref }: CompletionRequest, session: McpSession): void {
  if (ref.kind === 'prompt') {
    if (promptsOf(session).some(({ name }) => name === ref.name)) return;
    throw invalidParams(`unknown prompt: ${ref.name}`);
  }
  if (listTemplates(session).some(({ uriTemplate }) => uriTemplate === ref.uri)) return;
  throw invalidParams(`unknown resource template: ${ref.uri}`);
}

async function namesFor(
  { argument, others }: CompletionRequest,
  session: McpSession,
  guide: GuidePages,
): Promise<readonly string[]> {
  switch (argument.name) {
    case 'database':
      return session.database === undefined ? databaseNames(session) : [];
    case 'page':
      return [...(await guide.all()).keys()];
    default: {
      const names = await namesIn(session.database ?? others.get('database') ?? '', session);
      if (argument.name === 'table') return names.tables.map(({ name }) => name);
      if (argument.name === 'reducer') return names.reducers;
      if (argument.name !== 'column') return [];
      const table = others.get('table');
      const tables = names.tables.filter(({ name }) => table === undefined || name === table);
      return [...new Set(tables.flatMap(({ columns }) => columns.map(({ name }) => name)))];
    }
  }
}

/** Returns the names that the caller can read and call in a database; none if it has no access. */
async function namesIn(target: string, session: McpSession) {
  const found = findDatabase(target, session);
  if (found === undefined) return noNames;
  const { rights } = found.caller;
  try {
    const definition = flatDefinition((await found.handle.describe()).definition);
    const reducers = definition.reducers.filter(
      ({ lifecycle }) => lifecycle !== undefined && rights.callsPrivateReducers,
    );
    const shown = usableDefinition(definition, rights);
    const usable = [...shown.reducers, ...shown.procedures];
    return {
      tables: readableTables(definition, rights),
      reducers: [...usable, ...reducers].map(({ name }) => name),
    };
  } catch (error) {
    if (error instanceof Refusal) return noNames;
    throw error;
  }
}

const noNames = { tables: [], reducers: [] };
