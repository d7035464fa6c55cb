import { shownSchemaJson } from '../host/shown-schema.ts';
import type { OpenDatabase } from './open-database.ts';
import type { McpSession } from './session.ts';

/** The schema of a database as JSON, as far as the caller is shown it. */
export async function shownSchema(
  { handle, caller: { rights } }: OpenDatabase,
  { caller }: McpSession,
): Promise<string> {
  const { definition } = await handle.describe();
  return shownSchemaJson(definition, caller, rights, 9);
}
