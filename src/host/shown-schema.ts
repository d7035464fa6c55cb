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
  // Of whole identities there are a few kinds; limited tokens share a place.
  const place = caller.capability === undefined ? `whole ${rights.key}` : 'limited';
  const texts = known.get(definition) ?? new Map<string, SchemaText>();
  known.set(definition, texts);
  const shownTo = `${version} ${rights.key}`;
  const text = texts.get(`${version} ${place}`);
  if (text?.shownTo === shownTo) return text.json;
  const json = schemaJson(shownDefinition(definition, caller, rights), version);
  texts.set(`${version} ${place}`, { shownTo, json });
  return json;
}

interface SchemaText {
  /** Those with the same one are shown the same. */
  readonly shownTo: string;
  readonly json: string;
}

/**
 * Of each definition the texts that were made last: anybody may ask for them, as often as they
 * like, and thousands who watch them look again in the moment in which a module is published.
 */
const known = new WeakMap<ModuleDefinition, Map<string, SchemaText>>();
