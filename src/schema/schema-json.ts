import type { ModuleDefinition } from './definition.ts';
import { schemaJsonV9 } from './schema-json-v9.ts';
import { schemaJsonV10 } from './schema-json-v10.ts';

/**
 * A definition as JSON text, in the shape of either description format, whatever format the module
 * used. Version 9 leaves out what it cannot represent: submodules, HTTP, event flags, visibility,
 * view keys and source names.
 */
export function schemaJson(definition: ModuleDefinition, version: 9 | 10): string {
  return version === 9 ? schemaJsonV9(definition) : schemaJsonV10(definition);
}
