import { shownDefinition } from '../host/shown-definition.ts';
import { schemaJson } from '../schema/schema-json.ts';
import type { OpenDatabase } from './open-database.ts';
import type { McpSession } from './session.ts';

/** The schema of a database as JSON, as far as the caller is shown it. */
export async function shownSchema(
  { handle, caller: { rights } }: OpenDatabase,
  { caller }: McpSession,
): Promise<string> {
  const { definition } = await handle.describe();
  return schemaJson(shownDefinition(definition, caller, rights), 9);
}
