import path from 'node:path';
import type { RenameAnswers } from '../codegen/migration-changes.ts';
import { type MigrationFile, migrationFile } from '../codegen/migration-file.ts';
import { decodeRawModule } from '../schema/decode-raw-module.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { writeSchemaFile } from '../schema/schema-file.ts';
import { schemaHashOf } from '../schema/schema-hash.ts';
import { validateModule } from '../schema/validate.ts';
import { either, object, optional, string } from '../values/json-shape.ts';
import { type Api, databasePath, readAnswer } from './api.ts';
import { buildProject } from './build-project.ts';
import { CliError, type Io } from './io.ts';
import {
  checkMigrationName,
  migrationIds,
  nextMigrationId,
  schemaOfMigration,
  writeMigration,
} from './migration-files.ts';
import { askRenames } from './rename-questions.ts';

export interface NewMigration {
  readonly io: Io;
  readonly name: string;
  /** Folder of the module project. */
  readonly project: string;
  /** The database that is to be migrated; absent: the migrations that are there tell its schema. */
  readonly database: MigratedDatabase | undefined;
  /** Answers with what is likely. */
  readonly isYes: boolean;
}

export interface MigratedDatabase {
  readonly name: string;
  readonly api: () => Promise<Api>;
  /** True: the user named it, so it has to be there. */
  readonly isNamed: boolean;
}

/** A definition with its binary form. */
export interface Described {
  readonly definition: ModuleDefinition;
  readonly bytes: Uint8Array;
}

/** A module beside what its database has. */
export interface Comparison {
  /** Of the migration from one to the other. */
  readonly id: string;
  readonly old: Described;
  readonly next: Described;
}

/** Writes the migration that leads from the schema of a database to that of the module. */
export async function writeNewMigration(request: NewMigration): Promise<void> {
  const { io, project, isYes } = request;
  checkMigrationName(request.name);
  const program = await buildProject(project, io);
  const compared = await compareWithDatabase(request, program);
  if (compared === undefined) {
    io.out('The tables of the module are those that are there: there is nothing to migrate.');
    return;
  }
  const { old, next } = compared;
  const answers = await askRenames({ io, isYes }, old.definition, next.definition);
  const file = draftCompared(compared, answers);
  const place = writeCompared(project, compared, file);
  if (file.stepCount === 0 && file.notes.length === 0) io.err(nothingNeededText);
  io.out(`Wrote ${path.relative(io.cwd, place)}: ${summary(file)}`);
  for (const stub of file.stubs) io.out(`  to be written: ${stub}`);
  for (const note of file.notes) io.err(note);
}

/** Compares a program with what its database runs; `undefined`: the tables are the same. */
export async function compareWithDatabase(
  request: Omit<NewMigration, 'io' | 'isYes'>,
  program: Uint8Array,
): Promise<Comparison | undefined> {
  const { name, project } = request;
  const ids = migrationIds(project);
  const id = nextMigrationId(ids, name);
  const next = await describedProgram(program, project);
  const old = await oldDefinition(request, program, ids);
  const isSame = schemaHashOf(old.definition) === schemaHashOf(next.definition);
  return isSame ? undefined : { id, old, next };
}

/** The migration from one to the other. */
export function draftCompared(
  { id, old, next }: Comparison,
  answers: RenameAnswers,
): MigrationFile {
  const from = schemaHashOf(old.definition);
  return migrationFile({ id, from, old: old.definition, next: next.definition, answers });
}

/** Writes it as a file of the project; returns its path. */
export function writeCompared(
  project: string,
  { id, old, next }: Comparison,
  { text }: MigrationFile,
): string {
  return writeMigration(project, id, text, writeSchemaFile(old.bytes, next.bytes));
}

const nothingNeededText =
  'A publish does all of this by itself; steps are needed only for what it should do besides.';

function summary({ stepCount, stubs }: MigrationFile): string {
  const steps = stepCount === 1 ? '1 step' : `${stepCount} steps`;
  if (stubs.length === 0) return `${steps}. Read the file, then publish.`;
  const open = stubs.length === 1 ? '1 of them throws' : `${stubs.length} of them throw`;
  return `${steps}; ${open} until you write what it should do.`;
}

async function describedProgram(program: Uint8Array, origin: string): Promise<Described> {
  // Loaded on demand: it pulls in the bundler and the engine.
  const { describeProgram } = await import('../host/publishing/describe-program.ts');
  const description = await describeProgram(program);
  if (description.kind === 'refused') throw new CliError(`${origin}: ${description.message}`);
  return describedBytes(description.bytes);
}

function describedBytes(bytes: Uint8Array): Described {
  return { bytes, definition: validateModule(decodeRawModule(bytes)) };
}

/** The schema that the migration begins with. */
async function oldDefinition(
  { database, project }: Pick<NewMigration, 'database' | 'project'>,
  program: Uint8Array,
  ids: readonly string[],
): Promise<Described> {
  const running = database === undefined ? undefined : await runningDefinition(database, program);
  if (running !== undefined) {
    const published = running.definition.migrations.map(({ id }) => id);
    const open = ids.find((id) => !published.includes(id));
    if (open === undefined) return running;
    throw new CliError(
      `${open} is not published yet. Publish it first, or add your steps to it, or remove its ` +
        'two files and write it again.',
    );
  }
  const last = ids.at(-1);
  const bytes = last === undefined ? undefined : schemaOfMigration(project, last).afterDescribed;
  if (bytes !== undefined) return describedBytes(bytes);
  throw new CliError(
    'There is nothing to compare the module with: name the database that is to be migrated with ' +
      '--database.',
  );
}

const plan = object({ definition: optional(string) });
const answered = either(object({ AutoMigrate: plan }), object({ ManualMigrate: plan }));

/** What the database runs; `undefined`: there is no such database. */
async function runningDefinition(
  { name, api: connect, isNamed }: MigratedDatabase,
  program: Uint8Array,
): Promise<Described | undefined> {
  const api = await connect();
  const where = databasePath(name, '/pre_publish?host_type=Js&definition=true');
  const headers = { 'content-type': 'text/javascript' };
  const answer = await api.send('POST', where, { headers, body: new Uint8Array(program) });
  const text = await answer.text();
  if (answer.status === 404 && !isNamed) return undefined;
  if (!answer.ok) throw new CliError(api.failureText(answer.status, text));
  const body = readAnswer(text, answered);
  const { definition } = 'AutoMigrate' in body ? body.AutoMigrate : body.ManualMigrate;
  if (definition === undefined) {
    throw new CliError(`the server of ${name} is too old: it knows no migrations`);
  }
  return describedBytes(new Uint8Array(Buffer.from(definition, 'base64')));
}
