import { docsFor, type ModuleDocs, moduleDocs } from '../doors/module-docs.ts';
import { usableDefinition } from '../doors/shown-definition.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import type { OpenDatabase } from './open-database.ts';
import type { ReadHandle } from './read-rows.ts';

/** Additional information about a module, as far as a caller may have it. */
export interface SchemaNotes {
  /** The author's comments. */
  readonly docs: ModuleDocs;
  /** By table name, for tables whose rows the caller can see in full. */
  readonly rowCounts: ReadonlyMap<string, number>;
}

/** Gathers the notes on the flat definition of a database. */
export async function notesOn(
  { handle, caller }: Pick<OpenDatabase, 'caller'> & { readonly handle: ReadHandle },
  definition: ModuleDefinition,
): Promise<SchemaNotes> {
  const [docs, figures] = await Promise.all([moduleDocs(handle), handle.tables(caller)]);
  const rowCounts = new Map<string, number>();
  for (const { table, size } of figures) {
    if (size !== undefined) rowCounts.set(table, size.rowCount);
  }
  const { rights } = caller;
  // Strangers see the columns of a private table, but not its author's comments.
  const told = rights.readsProgram ? docs : docsFor(docs, usableDefinition(definition, rights));
  return { docs: told, rowCounts };
}
