import { type EntityDocs, type ProgramDocs, readDocs } from '../bundle/program-docs.ts';
import type { DatabaseDescription, DatabaseHandle } from '../host/supervision/database-handle.ts';
import type { ModuleDefinition } from '../schema/definition.ts';

export type { EntityDocs };

/** Doc comments of a module's author, by the names that clients know. */
export interface ModuleDocs {
  /** Reducers and procedures; their parts are parameters. */
  readonly functions: ReadonlyMap<string, EntityDocs>;
  /** Tables and views; their parts are columns. */
  readonly tables: ReadonlyMap<string, EntityDocs>;
}

/** The doc comments on what this definition has, and on nothing else. */
export function docsFor({ functions, tables }: ModuleDocs, shown: ModuleDefinition): ModuleDocs {
  const callable = new Set([...shown.reducers, ...shown.procedures].map(({ name }) => name));
  const relations = new Set([...shown.tables, ...shown.views].map(({ name }) => name));
  return {
    functions: new Map([...functions].filter(([name]) => callable.has(name))),
    tables: new Map([...tables].filter(([name]) => relations.has(name))),
  };
}

/** Read once for each program that serves. */
const known = new WeakMap<DatabaseDescription, Promise<ModuleDocs>>();

type DocsHandle = Pick<DatabaseHandle, 'describe' | 'description' | 'program'>;

/**
 * Reads the doc comments that the running program carries, without running its code. Programs built
 * by other tools have none. The words are the author's: an agent that gets them reads text written
 * by someone else.
 */
export async function moduleDocs(handle: DocsHandle): Promise<ModuleDocs> {
  const description = await handle.describe();
  const found = known.get(description) ?? read(handle, description);
  known.set(description, found);
  try {
    return await found;
  } catch (error) {
    known.delete(description);
    throw error;
  }
}

async function read(handle: DocsHandle, description: DatabaseDescription): Promise<ModuleDocs> {
  const { bytes } = await handle.program();
  // A publish came in between: what was read is about another program.
  if (handle.description !== description) return moduleDocs(handle);
  return byClientNames(readDocs(bytes), description);
}

function byClientNames(
  { functions, tables }: ProgramDocs,
  { definition }: DatabaseDescription,
): ModuleDocs {
  const callable = [...definition.reducers, ...definition.procedures];
  return {
    functions: new Map(callable.flatMap((one) => renamed(one, functions))),
    tables: new Map([
      ...definition.tables.flatMap((table) => renamed(table, tables, table.columns)),
      ...definition.views.flatMap((view) => renamed(view, functions, view.columns)),
    ]),
  };
}

interface Spelling {
  readonly name: string;
  readonly sourceName: string;
}

function renamed(
  { name, sourceName }: Spelling,
  docs: ProgramDocs['functions'],
  columns: readonly Spelling[] = [],
): [string, EntityDocs][] {
  const found = docs.get(sourceName);
  if (found === undefined) return [];
  const columnNames = new Map(columns.map((column) => [column.sourceName, column.name]));
  const parts = [...found.parts].map(
    ([part, text]) => [columnNames.get(part) ?? part, text] as const,
  );
  return [[name, { text: found.text, parts: new Map(parts) }]];
}
