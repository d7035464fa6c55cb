import { shownSchemaJson } from '../doors/shown-schema.ts';
import type { OpenDatabase } from './open-database.ts';
import type { McpSession } from './session.ts';

/** Returns the part of a database's schema that the caller can see, as JSON. */
export async function shownSchema(
  { handle, caller: { rights } }: OpenDatabase,
  { caller }: McpSession,
): Promise<string> {
  const { definition } = await handle.describe();
  return shownSchemaJson(definition, caller, rights, 9);
}
