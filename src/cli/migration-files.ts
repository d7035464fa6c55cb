import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readSchemaFile, type SchemaFile } from '../schema/schema-file.ts';
import { CliError } from './io.ts';

/** Where a module project keeps its migrations. */
export const migrationsFolder = 'migrations';

const namePattern = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** Throws for a name that no file of a migration can have. */
export function checkMigrationName(name: string): void {
  if (namePattern.test(name)) return;
  const rule = 'A name consists of lower-case letters, digits and single hyphens';
  throw new CliError(`\`${name}\` cannot name a migration. ${rule}, such as split-names.`, 2);
}

/** The ids of the migrations of a project, ascending. */
export function migrationIds(project: string): string[] {
  const folder = path.join(project, migrationsFolder);
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((file) => /^\d{4}-.*(?<!\.d)\.ts$/.test(file));
  return files.map((file) => file.slice(0, -'.ts'.length)).sort();
}

/** `0003-split-names`, behind the last one. */
export function nextMigrationId(ids: readonly string[], name: string): string {
  const number = Number(ids.at(-1)?.slice(0, 4) ?? 0) + 1;
  if (number > 9999) throw new CliError('migrations are numbered up to 9999, and that one exists');
  return `${String(number).padStart(4, '0')}-${name}`;
}

/** What a migration was written from. */
export function schemaOfMigration(project: string, id: string): SchemaFile {
  const file = path.join(project, migrationsFolder, `${id}.schema.json`);
  if (!existsSync(file)) throw new CliError(`${file} is missing: it belongs to ${id}.ts`);
  try {
    return readSchemaFile(readFileSync(file, 'utf8'));
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    throw new CliError(`${file}: ${cause.message}`, 1, { cause });
  }
}

/** Writes both files of a migration; returns the path of the first. */
export function writeMigration(project: string, id: string, text: string, schema: string): string {
  const folder = path.join(project, migrationsFolder);
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${id}.ts`);
  writeFileSync(path.join(folder, `${id}.schema.json`), schema, { flag: 'wx' });
  writeFileSync(file, text, { flag: 'wx' });
  return file;
}
