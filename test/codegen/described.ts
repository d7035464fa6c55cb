import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../../src/bundle/build-module.ts';
import { typescriptBindings } from '../../src/codegen/typescript.ts';
import { decodeRawModule } from '../../src/schema/decode-raw-module.ts';
import type { ModuleDefinition } from '../../src/schema/definition.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { loadProgram } from '../support/module-under-test.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Module projects of the tests and the examples, by name. */
export const projects: Readonly<Record<string, string>> = Object.fromEntries([
  ['chat', path.join(root, 'examples/chat')],
  ...readdirSync(path.join(root, 'test/fixtures/modules')).map((name) => {
    return [name, path.join(root, 'test/fixtures/modules', name)];
  }),
]);

/** The definition of a module project, read off its program. */
export async function definitionOfProject(folder: string): Promise<ModuleDefinition> {
  const { program } = await buildModule(folder);
  return definitionOfProgram(program);
}

export async function definitionOfProgram(program: Uint8Array): Promise<ModuleDefinition> {
  const { runner } = await loadProgram(program);
  return validateModule(decodeRawModule(runner.describe()));
}

export const plainOptions = {
  includePrivate: false,
  style: { extension: '.js', library: 'reducerdb/client' },
  version: '0.0.0',
} as const;

/** The texts of bindings by path. */
export function textsOf(
  definition: ModuleDefinition,
  options: Partial<Parameters<typeof typescriptBindings>[1]> = {},
): Record<string, string> {
  const { files } = typescriptBindings(definition, { ...plainOptions, ...options });
  return Object.fromEntries(files.map(({ path: file, text }) => [file, text]));
}
