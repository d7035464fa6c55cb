import { CodegenError } from '../codegen/codegen-error.ts';
import { schemaModule } from '../codegen/schema-module.ts';
import type { ImportStyle } from '../codegen/source-file.ts';
import { type Bindings, typescriptBindings } from '../codegen/typescript.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { productVersion } from '../service/version.ts';
import { updateBindings } from './bindings-folder.ts';
import type { ImportExtension } from './import-extension.ts';
import { CliError } from './io.ts';
import { type DefinitionSource, readDefinition, readSchema } from './module-definition.ts';
import type { Session } from './session.ts';

/** One folder of bindings. */
export interface BindingsRun {
  readonly source: DefinitionSource;
  readonly folder: string;
  readonly includePrivate: boolean;
  readonly extension: ImportExtension;
  /** Only the schema of the database is written, without bindings. */
  readonly isSchemaOnly: boolean;
}

/** Writes each of these folders, one after the other. */
export async function generateBindings(
  session: Session,
  runs: readonly BindingsRun[],
): Promise<void> {
  const read = definitionReader(session);
  for (const run of runs) {
    const files = run.isSchemaOnly
      ? [schemaModule(await readSchema(run.source, session), styleOf(run))]
      : filesOf(await read(run.source), run, session.io);
    const answers = { io: session.io, isYes: session.answersYes('all') };
    await updateBindings(run.folder, files, answers);
  }
}

/** Builds a project only once, however many bindings are generated from it. */
function definitionReader(session: Session) {
  const known = new Map<string, Promise<ModuleDefinition>>();
  return (source: DefinitionSource): Promise<ModuleDefinition> => {
    const key = JSON.stringify(source);
    const read = known.get(key) ?? readDefinition(source, session);
    known.set(key, read);
    return read;
  };
}

/** The files of bindings; warns of what they leave out. */
function filesOf(
  definition: ModuleDefinition,
  run: BindingsRun,
  io: Session['io'],
): Bindings['files'] {
  const { files, skippedTables } = bindingsOf(definition, run);
  if (skippedTables.length > 0) {
    io.err(`Skipping private tables during codegen: ${skippedTables.join(', ')}.`);
  }
  return files;
}

function styleOf({ extension }: BindingsRun): ImportStyle {
  return { extension, library: 'reducerdb/client' };
}

function bindingsOf(definition: ModuleDefinition, run: BindingsRun): Bindings {
  const { includePrivate } = run;
  const options = { includePrivate, style: styleOf(run), version: productVersion };
  try {
    return typescriptBindings(definition, options);
  } catch (cause) {
    if (cause instanceof CodegenError) throw new CliError(cause.message, 1, { cause });
    throw cause;
  }
}
