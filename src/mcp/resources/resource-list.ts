import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { Resource, ResourceTemplate } from '../../mcp-protocol/resource.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { identityToHex } from '../../values/identity.ts';
import { listedDatabases } from '../listed-databases.ts';
import { findDatabase, type OpenDatabase, shownName } from '../open-database.ts';
import type { McpSession } from '../session.ts';
import { uriOf, uriTemplates } from './address.ts';
import type { GuidePage } from './guide-pages.ts';
import { mayReadLog } from './log-lines.ts';
import { readableTables } from './table-rows.ts';

export const mimeTypes = {
  databases: 'application/json',
  schema: 'application/json',
  table: 'application/json',
  logs: 'application/x-ndjson',
  page: 'text/markdown',
} as const;

/** Lists resources. The guide comes first: the rest grows with the databases, up to a limit. */
export async function listResources(
  session: McpSession,
  pages: Iterable<GuidePage>,
): Promise<readonly Resource[]> {
  const guide = [...pages].map(pageResource);
  if (session.database !== undefined) {
    const found = findDatabase(session.database, session);
    if (found === undefined) return guide;
    const name = shownName(session.database, session);
    const own = ofDatabase(session, found, name, await definitionOf(found));
    return [...guide, ...own].slice(0, limits.agentResourcesListedMax);
  }
  const listed: Resource[] = [databasesResource, ...guide];
  for (const name of databaseNames(session)) {
    const found = findDatabase(name, session);
    if (found === undefined) continue;
    // Do not wait for a database that is still starting.
    const definition = found.handle.description?.definition;
    listed.push(...ofDatabase(session, found, name, definition));
    if (listed.length >= limits.agentResourcesListedMax) break;
  }
  return listed.slice(0, limits.agentResourcesListedMax);
}

/** Returns the templates; if the database is fixed, it is part of the addresses. */
export function listTemplates(session: McpSession): readonly ResourceTemplate[] {
  const { database } = session;
  const name = database === undefined ? undefined : shownName(database, session);
  const fixed = (template: string) =>
    name === undefined ? template : template.replace('{database}', encodeURIComponent(name));
  const ofAll: ResourceTemplate[] = [
    {
      uriTemplate: fixed(uriTemplates.table),
      name: 'table',
      title: 'Rows of a table',
      description: `The first ${limits.resourceRowsMax} rows of a table or view, by its key.`,
      mimeType: mimeTypes.table,
    },
    {
      uriTemplate: fixed(uriTemplates.rows),
      name: 'rows',
      title: 'Rows with a value',
      description: 'The rows of a table or view that have this value in this column.',
      mimeType: mimeTypes.table,
    },
    {
      uriTemplate: uriTemplates.page,
      name: 'guide',
      title: 'Page of the guide',
      description: 'How this version works: its SQL, modules, clients, rights.',
      mimeType: mimeTypes.page,
    },
  ];
  if (database !== undefined) return ofAll;
  return [
    {
      uriTemplate: uriTemplates.schema,
      name: 'schema',
      title: 'Schema of a database',
      description: 'Types, tables and reducers of a database.',
      mimeType: mimeTypes.schema,
    },
    ...ofAll,
    {
      uriTemplate: uriTemplates.logs,
      name: 'logs',
      title: 'Log of a module',
      description: `The last ${limits.resourceLogLinesMax} lines, for those who may read them.`,
      mimeType: mimeTypes.logs,
    },
  ];
}

/** Returns one name of each database listed for the caller; its identity if it has no name. */
export function databaseNames(session: McpSession): readonly string[] {
  const { host, caller } = session;
  return listedDatabases(host, caller).map(({ identity }) =>
    shownName(identityToHex(identity), session),
  );
}

/** Returns `undefined` if the database does not serve and will not. */
async function definitionOf({ handle }: OpenDatabase): Promise<ModuleDefinition | undefined> {
  try {
    return (await handle.describe()).definition;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function ofDatabase(
  session: McpSession,
  { database, handle, caller }: OpenDatabase,
  name: string,
  definition: ModuleDefinition | undefined,
): Resource[] {
  const schema: Resource = {
    uri: uriOf({ kind: 'schema', database: name }),
    name: `${name}/schema`,
    title: `Schema of ${name}`,
    description: 'Types, tables and reducers.',
    mimeType: mimeTypes.schema,
  };
  const logs: Resource = {
    uri: uriOf({ kind: 'logs', database: name }),
    name: `${name}/logs`,
    title: `Log of ${name}`,
    description: 'The last lines that its module logged.',
    mimeType: mimeTypes.logs,
  };
  const tables = definition === undefined ? [] : readableTables(definition, caller.rights);
  // Reading the schema opens a closed database, which listing must not do.
  const { state } = handle.statistics();
  const hasSchema = definition !== undefined || state === 'closed' || state === 'asleep';
  return [
    ...(hasSchema ? [schema] : []),
    ...(mayReadLog(session, database) ? [logs] : []),
    ...tables.map(({ name: table, kind, isPublic }) => ({
      uri: uriOf({ kind: 'table', database: name, table }),
      name: `${name}/${table}`,
      title: `Rows of ${table}`,
      description: `Rows of the ${isPublic ? 'public' : 'private'} ${kind} \`${table}\`.`,
      mimeType: mimeTypes.table,
    })),
  ];
}

const databasesResource: Resource = {
  uri: uriOf({ kind: 'databases' }),
  name: 'databases',
  title: 'Databases',
  description: 'The databases that you own on this host, with their identities and names.',
  mimeType: mimeTypes.databases,
};

function pageResource({ name, title, summary, text }: GuidePage): Resource {
  return {
    uri: uriOf({ kind: 'page', page: name }),
    name: `guide/${name}`,
    title,
    description: summary,
    mimeType: mimeTypes.page,
    size: Buffer.byteLength(text),
  };
}
