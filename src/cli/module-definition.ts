import { existsSync, readFileSync } from 'node:fs';
import { CodegenError } from '../codegen/codegen-error.ts';
import { definitionFromSchema } from '../codegen/schema-document.ts';
import { decodeRawModule } from '../schema/decode-raw-module.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { DefinitionErrors } from '../schema/problems.ts';
import { schemaJson } from '../schema/schema-json.ts';
import { validateModule } from '../schema/validate.ts';
import { JsonError } from '../values/json.ts';
import { databasePath } from './api.ts';
import { buildProject } from './build-project.ts';
import { CliError } from './io.ts';
import type { Session } from './session.ts';

/** Where a module's definition is read from. Paths are absolute. */
export type DefinitionSource =
  | { readonly kind: 'project'; readonly folder: string }
  /** A program that was built earlier. */
  | { readonly kind: 'program'; readonly file: string }
  /** A running database; `server` is the one its target names, if any. */
  | { readonly kind: 'database'; readonly name: string; readonly server: string | undefined }
  /** The output of `describe --json`. */
  | { readonly kind: 'document'; readonly file: string };

/** Reads a definition. Module code never runs in this thread or outside a sandbox. */
export async function readDefinition(
  source: DefinitionSource,
  session: Session,
): Promise<ModuleDefinition> {
  switch (source.kind) {
    case 'project':
      return described(await buildProject(source.folder, session.io), source.folder);
    case 'program':
      return described(new Uint8Array(bytesOf(source.file)), source.file);
    case 'document':
    case 'database':
      return fromDocument(await documentOf(source, session), source);
  }
}

/** Reads a definition as the JSON that a database with it would return. */
export async function readSchema(source: DefinitionSource, session: Session): Promise<string> {
  if (source.kind === 'project' || source.kind === 'program')
    return schemaJson(await readDefinition(source, session), 10);
  const text = await documentOf(source, session);
  fromDocument(text, source);
  return text;
}

type DocumentSource = Extract<DefinitionSource, { kind: 'database' | 'document' }>;

async function documentOf(source: DocumentSource, session: Session): Promise<string> {
  if (source.kind === 'document') return bytesOf(source.file).toString('utf8');
  const api = await session.api(session.server(source.server));
  const answer = await api.send('GET', databasePath(source.name, '/schema?version=10'));
  const text = await answer.text();
  if (!answer.ok) throw new CliError(api.failureText(answer.status, text));
  return text;
}

async function described(program: Uint8Array, origin: string): Promise<ModuleDefinition> {
  // Loaded on demand: it pulls in the bundler and the engine.
  const { describeProgram } = await import('../host/publishing/describe-program.ts');
  const description = await describeProgram(program);
  if (description.kind === 'refused') throw new CliError(`${origin}: ${description.message}`);
  return validateModule(decodeRawModule(description.bytes));
}

function fromDocument(text: string, source: DocumentSource): ModuleDefinition {
  try {
    return definitionFromSchema(text);
  } catch (cause) {
    const isExpected =
      cause instanceof CodegenError ||
      cause instanceof JsonError ||
      cause instanceof DefinitionErrors;
    if (!isExpected) throw cause;
    const origin = source.kind === 'document' ? source.file : `database ${source.name}`;
    throw new CliError(`the schema of ${origin} cannot be read: ${cause.message}`, 1, { cause });
  }
}

function bytesOf(file: string): Buffer {
  if (!existsSync(file)) throw new CliError(`${file} does not exist`);
  return readFileSync(file);
}
