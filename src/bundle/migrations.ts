import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type * as esbuild from 'esbuild';
import { limits } from '../limits.ts';
import { readSchemaFile } from '../schema/schema-file.ts';
import { migrationIdPattern, migrationIdText } from '../schema/validate-migrations.ts';
import { toBase64 } from '../values/base64.ts';
import { BuildError } from './build-error.ts';
import { ownNamespace } from './own-package.ts';
import { entryOf, type Project } from './project.ts';

/** A file of `migrations/` with what a program says of it. */
export interface MigrationSource {
  /** The file's name without its ending. */
  readonly id: string;
  readonly file: string;
  /** SHA-256 of its text. */
  readonly hash: Uint8Array;
  /** The definition that it starts from, in its binary form. */
  readonly before: Uint8Array;
}

/** What the entry of a program with migrations is asked for by. */
export const migrationsEntry = 'reducerdb-migrations-entry';

/** Its name among our own sources. */
const entryName = 'migrations-entry';

/** Its name in the source map that the bundler makes. */
export const entrySource = `${ownNamespace}:${entryName}`;

/**
 * The migrations of a project, in the order of their names. Another file of its folder than its
 * entry, built by itself, has none. Throws `BuildError` where a file is not what a build can use.
 */
export function readMigrations({ root, entry }: Project): readonly MigrationSource[] {
  const folder = path.join(root, 'migrations');
  if (!existsSync(folder) || entryOf(root) !== entry) return [];
  const names = readdirSync(folder).filter((name) => !name.startsWith('.') && !isIgnored(name));
  const files = names.filter((name) => name.endsWith('.ts')).sort();
  const { migrationCountMax } = limits;
  if (files.length > migrationCountMax) {
    throw new BuildError(`migrations/ has ${files.length} files, more than ${migrationCountMax}`);
  }
  const stray = names.find((name) => {
    return !files.includes(name) && !files.includes(name.replace(/\.schema\.json$/, '.ts'));
  });
  if (stray !== undefined) throw new BuildError(strayText(stray));
  const migrations = files.map((name) => readMigration(folder, name));
  for (const [at, { id }] of migrations.entries()) {
    const before = migrations[at - 1]?.id;
    if (before?.slice(0, numberLength) !== id.slice(0, numberLength)) continue;
    throw new BuildError(
      `migrations/${before}.ts and ${id}.ts have one number: give the later one the next`,
    );
  }
  return migrations;
}

const numberLength = 4;

/** Tests, declarations and documents can lie beside migrations. */
function isIgnored(name: string): boolean {
  return /\.(?:test|spec)\.ts$|\.d\.ts$|\.md$/.test(name);
}

function strayText(name: string): string {
  if (name.endsWith('.schema.json')) {
    return `migrations/${name} has no migration beside it: remove it, or put its .ts file back`;
  }
  return `migrations/${name} is not a migration: put .ts files and their .schema.json there`;
}

function readMigration(folder: string, name: string): MigrationSource {
  const id = name.slice(0, -'.ts'.length);
  const place = `migrations/${name}`;
  if (!migrationIdPattern.test(id)) {
    throw new BuildError(`${place} has no name of a migration: ${migrationIdText}`);
  }
  const file = path.join(folder, name);
  const text = readFileSync(file, 'utf8');
  const { hash: from, described } = schemaOf(folder, id);
  expectText({ text, place, field: 'id', value: id, advice: 'the name of its file' });
  const advice = `the \`hash\` of migrations/${id}.schema.json`;
  expectText({ text, place, field: 'from', value: from, advice });
  // A checkout with other line ends is the same migration.
  const source = text.replaceAll('\r\n', '\n');
  const hash = new Uint8Array(createHash('sha256').update(source).digest());
  return { id, file, hash, before: described };
}

function schemaOf(folder: string, id: string) {
  const name = `${id}.schema.json`;
  const file = path.join(folder, name);
  if (!existsSync(file)) {
    throw new BuildError(
      `migrations/${name} is missing: it holds the schema that migrations/${id}.ts starts from; ` +
        'put it back, or write the migration again with `reducerdb migrate new`',
    );
  }
  try {
    return readSchemaFile(readFileSync(file, 'utf8'));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : '';
    throw new BuildError(
      `migrations/${name} cannot be used: ${reason}; put it back as it was written`,
      { cause },
    );
  }
}

interface Expected {
  readonly text: string;
  readonly place: string;
  readonly field: 'id' | 'from';
  readonly value: string;
  readonly advice: string;
}

/** The program checks the id again when it is loaded; here the text tells where the fault is. */
function expectText({ text, place, field, value, advice }: Expected): void {
  const [, given] = new RegExp(`^\\s*${field}:\\s*['"\`]([^'"\`\\n]*)['"\`]`, 'm').exec(text) ?? [];
  if (given === value) return;
  const [, inline] = new RegExp(`[{,]\\s*${field}:\\s*['"\`]([^'"\`\\n]*)['"\`]`).exec(text) ?? [];
  if (inline === value) return;
  const is = given ?? inline;
  const what = is === undefined ? `has no \`${field}\` as a plain text` : `has ${field} '${is}'`;
  throw new BuildError(`${place} ${what}: write ${field}: '${value}', ${advice}`);
}

/**
 * Puts an entry around that of the project: it exports the same, and gives the schema its
 * migrations. Paths in it are those of the project, so that the program depends on sources alone.
 */
export function enterMigrations(
  { root, entry }: Project,
  migrations: readonly MigrationSource[],
): esbuild.Plugin {
  const files = new Map([
    [`${specifier}entry`, entry],
    ...migrations.map(({ id, file }) => [`${specifier}${id}`, file] as const),
  ]);
  return {
    name: 'enter-migrations',
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${migrationsEntry}$`) }, () => {
        return { path: entryName, namespace: ownNamespace };
      });
      build.onResolve({ filter: new RegExp(`^${specifier}`) }, ({ path: name }) => {
        const file = files.get(name);
        return file === undefined ? undefined : { path: file };
      });
      build.onLoad({ filter: new RegExp(`^${entryName}$`), namespace: ownNamespace }, () => {
        return { contents: entryText(migrations), loader: 'js', resolveDir: root };
      });
    },
  };
}

const specifier = 'reducerdb-project:';

function entryText(migrations: readonly MigrationSource[]): string {
  const imports = migrations.map(({ id }, at) => {
    return `import migration${at} from ${JSON.stringify(specifier + id)};\n`;
  });
  const items = migrations.map(({ id, hash, before }, at) => {
    const texts = { id, hash: toBase64(hash), before: toBase64(before) };
    return `  { ...${JSON.stringify(texts)}, migration: migration${at} },\n`;
  });
  const project = JSON.stringify(`${specifier}entry`);
  return (
    `import { attachMigrations } from 'reducerdb/server';\n` +
    `import schema from ${project};\n${imports.join('')}` +
    `attachMigrations(schema, [\n${items.join('')}]);\n` +
    `export * from ${project};\nexport { default } from ${project};\n`
  );
}
