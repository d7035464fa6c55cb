import type { Rights } from '../database/outcome.ts';
import type { HostCaller } from '../host/registry/host-caller.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { schemaJson } from '../schema/schema-json.ts';
import { shownDefinition } from './shown-definition.ts';
import { ShownTexts } from './shown-texts.ts';

/** A schema as JSON, in this version of its form, limited to what the caller can see. */
export function shownSchemaJson(
  definition: ModuleDefinition,
  caller: HostCaller,
  rights: Rights,
  version: 9 | 10,
): Promise<string> {
  return known.text({ definition, rights, form: `${version}` }, function* () {
    const shown = shownDefinition(definition, caller, rights);
    yield;
    return schemaJson(shown, version);
  });
}

const known = new ShownTexts<string>(({ length }) => length);
