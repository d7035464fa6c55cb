import { shownDefinition } from '../host/shown-definition.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { schemaJson } from '../schema/schema-json.ts';
import type { OpenDatabase } from './open-database.ts';
import type { McpSession } from './session.ts';

/** The schema of a database as JSON, as far as the caller is shown it. */
export async function shownSchema(
  { handle, caller: { rights } }: OpenDatabase,
  { caller }: McpSession,
): Promise<string> {
  const { definition } = await handle.describe();
  // Whoever has no limits is shown the same.
  const shownTo = caller.capability === undefined ? 'all' : `limited: ${rights.key}`;
  const known = newest.get(definition);
  if (known?.shownTo === shownTo) return known.json;
  const json = schemaJson(shownDefinition(definition, caller, rights), 9);
  newest.set(definition, { shownTo, json });
  return json;
}

interface SchemaText {
  /** Those with the same one are shown the same. */
  readonly shownTo: string;
  readonly json: string;
}

/**
 * Of each definition the text that was made last: thousands may watch a schema, and all look at it
 * again in the moment in which a module is published.
 */
const newest = new WeakMap<ModuleDefinition, SchemaText>();
