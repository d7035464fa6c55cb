import { CodegenError } from '../codegen/codegen-error.ts';
import { type Bindings, typescriptBindings } from '../codegen/typescript.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { productVersion } from '../service/version.ts';
import { updateBindings } from './bindings-folder.ts';
import type { ImportExtension } from './import-extension.ts';
import { CliError } from './io.ts';
import { type DefinitionSource, readDefinition } from './module-definition.ts';
import type { Session } from './session.ts';

/** One folder of bindings. */
export interface BindingsRun {
  readonly source: DefinitionSource;
  readonly folder: string;
  readonly includePrivate: boolean;
  readonly extension: ImportExtension;
}

/** Writes all of these, one after the other. */
export async function generateBindings(
  session: Session,
  runs: readonly BindingsRun[],
): Promise<void> {
  const read = definitionReader(session);
  for (const run of runs) await generate(session, run, await read(run.source));
}

/** Builds a project once, however many bindings are made from it. */
function definitionReader(session: Session) {
  const known = new Map<string, Promise<ModuleDefinition>>();
  return (source: DefinitionSource): Promise<ModuleDefinition> => {
    const key = JSON.stringify(source);
    const read = known.get(key) ?? readDefinition(source, session);
    known.set(key, read);
    return read;
  };
}

async function generate(
  session: Session,
  run: BindingsRun,
  definition: ModuleDefinition,
): Promise<void> {
  const { io } = session;
  const { files, skippedTables, skippedSubmodules } = bindingsOf(definition, run);
  if (skippedTables.length > 0) {
    io.err(`Skipping private tables during codegen: ${skippedTables.join(', ')}.`);
  }
  if (skippedSubmodules.length > 0) {
    io.err(`Skipping submodules during codegen: ${skippedSubmodules.join(', ')}.`);
  }
  await updateBindings(run.folder, files, { io, isYes: session.answersYes('all') });
}

function bindingsOf(definition: ModuleDefinition, run: BindingsRun): Bindings {
  const { includePrivate, extension } = run;
  const style = { extension, library: 'reducerdb/client' };
  try {
    return typescriptBindings(definition, { includePrivate, style, version: productVersion });
  } catch (cause) {
    if (cause instanceof CodegenError) throw new CliError(cause.message, 1, { cause });
    throw cause;
  }
}
