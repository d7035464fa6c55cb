import { shownSchemaJson } from '../doors/shown-schema.ts';
import type { DatabaseHandle } from '../host/supervision/database-handle.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import type { OpenDatabase } from './open-database.ts';
import type { McpSession } from './session.ts';

/** Returns the part of a database's schema that the caller can see, as JSON. */
export async function shownSchema(
  {
    handle,
    caller: { rights },
  }: Pick<OpenDatabase, 'caller'> & { readonly handle: Pick<DatabaseHandle, 'describe'> },
  { caller }: McpSession,
): Promise<string> {
  const { definition } = await handle.describe();
  // Version 9 has no submodules, so it shows them as parts of one module.
  return shownSchemaJson(flatDefinition(definition), caller, rights, 9);
}
