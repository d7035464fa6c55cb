import type { Rights } from '../database/outcome.ts';
import type { HostCaller } from '../host/registry/host-caller.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { schemaJson } from '../schema/schema-json.ts';
import { shownDefinition } from './shown-definition.ts';

/** A schema as JSON, in this version of its form, limited to what the caller can see. */
export function shownSchemaJson(
  definition: ModuleDefinition,
  caller: HostCaller,
  rights: Rights,
  version: 9 | 10,
): string {
  // There are a few kinds of whole identities; limited tokens share a place.
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
  /** Callers with the same key see the same. */
  readonly shownTo: string;
  readonly json: string;
}

/**
 * The texts last built for each definition: anyone can request them, as often as they like, and
 * thousands of watchers request them again at the moment a module is published.
 */
const known = new WeakMap<ModuleDefinition, Map<string, SchemaText>>();
