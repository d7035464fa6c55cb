import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildModule } from '../../src/bundle/build-module.ts';
import type { MigrationCall, MigrationOutcome } from '../../src/module/migration-call.ts';
import type { ModuleRunner } from '../../src/module/runner.ts';
import { catalogOf, emptyCatalog } from '../../src/schema/build-catalog.ts';
import type { Catalog } from '../../src/schema/catalog.ts';
import { decodeRawModule } from '../../src/schema/decode-raw-module.ts';
import type { ModuleDefinition } from '../../src/schema/definition.ts';
import { fullTablesOf, prefixTable } from '../../src/schema/flatten.ts';
import { rowSpelling } from '../../src/schema/row-spelling.ts';
import { writeSchemaFile } from '../../src/schema/schema-file.ts';
import { schemaHashOf } from '../../src/schema/schema-hash.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { Store } from '../../src/store/store.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { nativeDecoderOf, nativeEncoderOf } from '../../src/values/native.ts';
import { loadProgram } from './module-under-test.ts';

/** A project with migrations, as texts of its files. */
export interface MigratedProject {
  /** The module. */
  readonly module: string;
  readonly migrations: readonly ProjectMigration[];
}

export interface ProjectMigration {
  readonly id: string;
  /** The module before it. */
  readonly before: string;
  /** What follows `id` and `from` in the options, and what precedes the export. */
  readonly options: string;
  readonly head?: string;
}

const described = new Map<string, Promise<Uint8Array>>();

/** The description of a module of one file. */
export function describeText(module: string): Promise<Uint8Array> {
  const known = described.get(module) ?? inFolder({ 'src/index.ts': module }, describeFolder);
  described.set(module, known);
  return known;
}

async function describeFolder(folder: string): Promise<Uint8Array> {
  const { program } = await buildModule(folder);
  return (await loadProgram(program, emptyCatalog)).runner.describe();
}

/** Builds and loads a project. Its store is empty: calls of migrations bring their own. */
export async function loadMigrated(project: MigratedProject): Promise<MigrationsUnderTest> {
  const files = await filesOf(project);
  const bytes = await inFolder(files, async (folder) => (await buildModule(folder)).program);
  const { runner, logs } = await loadProgram(bytes, emptyCatalog);
  const definition = validateModule(decodeRawModule(runner.describe()));
  return { runner, definition, messages: () => logs.map(({ message }) => message) };
}

export interface MigrationsUnderTest {
  readonly runner: ModuleRunner;
  readonly definition: ModuleDefinition;
  readonly messages: () => readonly string[];
}

/** The files of a project, by path. */
export async function filesOf({
  module,
  migrations,
}: MigratedProject): Promise<Record<string, string>> {
  const files: Record<string, string> = { 'src/index.ts': module };
  for (const { id, before, options, head = '' } of migrations) {
    const bytes = await describeText(before);
    const from = schemaHashOf(validateModule(decodeRawModule(bytes)));
    files[`migrations/${id}.schema.json`] = writeSchemaFile(bytes);
    files[`migrations/${id}.ts`] =
      `import { migration } from 'reducerdb/server';\n${head}\n` +
      `export default migration({\n  id: '${id}',\n  from: '${from}',\n${options}\n});\n`;
  }
  return files;
}

/** Runs something in a folder of these files. */
export async function inFolder<Result>(
  files: Readonly<Record<string, string>>,
  run: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-migrated-'));
  try {
    for (const [name, text] of Object.entries({ 'package.json': '{}', ...files })) {
      const file = path.join(folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

type Row = Readonly<Record<string, unknown>>;

export function encodeRows(definition: ModuleDefinition, table: string, rows: readonly Row[]) {
  const { rowType, typespace } = rowSpelling(definition, table);
  const encode = nativeEncoderOf(rowType, typespace, table);
  const writer = new BinaryWriter();
  for (const row of rows) encode(writer, row);
  return writer.finish();
}

export function decodeRows(definition: ModuleDefinition, table: string, rows: Uint8Array): Row[] {
  const { rowType, typespace } = rowSpelling(definition, table);
  const decode = nativeDecoderOf(rowType, typespace);
  const reader = new BinaryReader(rows);
  const decoded: Row[] = [];
  while (reader.remaining > 0) decoded.push(decode(reader) as Row);
  return decoded;
}

/** Tables under the names that migrations find them by: `old.NAME`, and the new ones by theirs. */
export function migrationStore(old: ModuleDefinition, next?: ModuleDefinition): Store {
  const before = catalogOf(old);
  const after = next === undefined ? before : catalogOf(next, { ...before, tables: [] });
  const prefixes = new Map(
    fullTablesOf(old).map(({ table }) => [table.name, prefixTable(table, 'old.')]),
  );
  const renamed = before.tables.flatMap((spec): Catalog['tables'] => {
    const prefixed = prefixes.get(spec.name);
    if (prefixed === undefined) return [];
    const { name, sourceName } = prefixed;
    const indexes = spec.indexes.map((index) => ({ ...index, name: `old.${index.name}` }));
    return [{ ...spec, name, sourceName, indexes }];
  });
  const rest = after.tables.filter(({ name }) => next !== undefined || !prefixes.has(name));
  return new Store({ ...after, tables: [...rest, ...renamed] });
}

/** Puts rows into a table of a store. */
export function fill(store: Store, name: string, bytes: readonly Uint8Array[]): void {
  const table = store.tableByName(name);
  if (table === undefined) throw new Error(`the store has no table ${name}`);
  const transaction = store.begin();
  for (const row of bytes) {
    const result = transaction.insert(table, row, row.length);
    if (result < 0) throw new Error(`row refused: ${result}`);
  }
  transaction.commit();
}

/** Calls for rows of a table in the first to the last migration, up. */
export function migrateRows(
  { runner, definition }: MigrationsUnderTest,
  table: string,
  rows: readonly Row[],
  stretch: Partial<Pick<MigrationCall, 'direction' | 'first' | 'last'>> & { store?: Store } = {},
): MigrationOutcome {
  const { migrations } = definition;
  const { direction = 'up', first = 0, last = migrations.length - 1 } = stretch;
  const [from] = direction === 'up' ? [migrations[first]?.from] : [migrations[last + 1]?.from];
  const bytes = encodeRows(from ?? definition, table, rows);
  const call = {
    ...({ kind: 'rows', direction, first, last, table, rows: bytes, count: rows.length } as const),
    timestampMicros: 1_800_000_000_000_000n,
    store: stretch.store ?? new Store(emptyCatalog),
  };
  const outcome = runner.callMigration?.(call, undefined);
  if (outcome === undefined) throw new Error('the runner has no migrations');
  return outcome;
}
