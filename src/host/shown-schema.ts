import type { Rights } from '../database/outcome.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { schemaJson } from '../schema/schema-json.ts';
import type { HostCaller } from './host-types.ts';
import { shownDefinition } from './shown-definition.ts';

/** A schema as JSON, in this version of its form, as far as the caller is shown it. */
export function shownSchemaJson(
  definition: ModuleDefinition,
  caller: HostCaller,
  rights: Rights,
  version: 9 | 10,
): string {
  // Whoever has no limits is shown the same.
  const shownTo = caller.capability === undefined ? 'all' : `limited: ${rights.key}`;
  const known = newest.get(definition);
  if (known?.shownTo === shownTo && known.version === version) return known.json;
  const json = schemaJson(shownDefinition(definition, caller, rights), version);
  newest.set(definition, { shownTo, version, json });
  return json;
}

interface SchemaText {
  /** Those with the same one are shown the same. */
  readonly shownTo: string;
  readonly version: 9 | 10;
  readonly json: string;
}

/**
 * Of each definition the text that was made last: anybody may ask for it, as often as they like,
 * and thousands who watch it look at it again in the moment in which a module is published.
 */
const newest = new WeakMap<ModuleDefinition, SchemaText>();
