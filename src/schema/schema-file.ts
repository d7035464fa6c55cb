import { fromBase64, toBase64 } from '../values/base64.ts';
import { decodeRawModule } from './decode-raw-module.ts';
import type { ColumnDefinition, ModuleDefinition, TableDefinition } from './definition.ts';
import { encodeRawModuleV10 } from './encode-raw-module.ts';
import { fullTablesOf } from './flatten.ts';
import { emptyRawModule, type RawModule } from './raw-module.ts';
import { schemaHashOf } from './schema-hash.ts';
import { wholeTypeWords } from './type-words.ts';
import { validateModule } from './validate.ts';

/**
 * The definition before a migration, as the file beside it holds it: JSON with the schema hash, the
 * tables for people to read and compare, and the definition itself, in lines of Base64.
 */
export interface SchemaFile {
  readonly hash: string;
  /** Tables and types alone. */
  readonly before: ModuleDefinition;
  /** `before` in its binary form. */
  readonly described: Uint8Array;
  /** Tables and types of the module when the file was written, if it was given. */
  readonly after: ModuleDefinition | undefined;
  /** `after` in its binary form. */
  readonly afterDescribed: Uint8Array | undefined;
}

/** Both arguments are descriptions of modules, which must be valid. */
export function writeSchemaFile(before: Uint8Array, after?: Uint8Array): string {
  const raw = schemaPartOf(decodeRawModule(before));
  const definition = validateModule(raw);
  const content = {
    about:
      'Written by reducerdb: the schema before the migration beside this file. Keep it as it is.',
    hash: schemaHashOf(definition),
    tables: readableTables(definition),
    definition: linesOf(encodeRawModuleV10(raw)),
    ...(after === undefined
      ? {}
      : { after: linesOf(encodeRawModuleV10(schemaPartOf(decodeRawModule(after)))) }),
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Throws an `Error` that says what is wrong with the text. */
export function readSchemaFile(text: string): SchemaFile {
  const content = objectOf(text);
  const described = bytesOf(content, 'definition');
  const before = definitionOf(described, 'definition');
  const hash = schemaHashOf(before);
  if (content.hash !== hash) {
    throw new Error(`its \`hash\` is not that of its \`definition\`, which is ${hash}`);
  }
  const afterDescribed = content.after === undefined ? undefined : bytesOf(content, 'after');
  const after = afterDescribed && definitionOf(afterDescribed, 'after');
  return { hash, before, described, after, afterDescribed };
}

/** What migrations depend on: the tables and types of a module and of its submodules. */
export function schemaPartOf(raw: RawModule): RawModule {
  return {
    ...emptyRawModule,
    typespace: raw.typespace,
    types: raw.types,
    tables: raw.tables,
    caseConversion: raw.caseConversion,
    explicitNames: raw.explicitNames.filter(({ kind }) => kind !== 'function'),
    derivedIndexes: raw.derivedIndexes,
    vectors: raw.vectors,
    submodules: raw.submodules.map(({ namespace, module }) => {
      return { namespace, module: schemaPartOf(module) };
    }),
  };
}

function readableTables(definition: ModuleDefinition): object {
  const tables = fullTablesOf(definition).map(({ table, typespace }) => {
    const columns = table.columns.map((column, at) => {
      const type = wholeTypeWords(column.type, typespace);
      return [column.sourceName, [type, ...traitsOf(table, column, at)].join(' ')];
    });
    return [table.sourceName, Object.fromEntries(columns)];
  });
  return Object.fromEntries(tables);
}

function traitsOf(table: TableDefinition, column: ColumnDefinition, at: number): string[] {
  const isOnly = ({ columns }: { readonly columns: readonly number[] }) => {
    return columns.length === 1 && columns[0] === at;
  };
  const isKey = table.primaryKey === at;
  return [
    ...(column.vectorLength === undefined ? [] : [`length ${column.vectorLength}`]),
    ...(isKey ? ['primary key'] : []),
    ...(!isKey && table.constraints.some(isOnly) ? ['unique'] : []),
    ...(table.sequences.some(({ column: counted }) => counted === at) ? ['auto-increment'] : []),
    ...table.indexes.filter((index) => isOnly(index) && !index.isUnique).map(() => 'indexed'),
    ...(column.defaultBytes === undefined ? [] : ['default']),
  ];
}

function linesOf(bytes: Uint8Array): string[] {
  return toBase64(bytes).match(/.{1,96}/g) ?? [];
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
  if (typeof content === 'object' && content !== null) return { ...content };
  throw new Error('it is not a JSON object');
}

function bytesOf(content: Readonly<Record<string, unknown>>, field: string): Uint8Array {
  const lines = content[field];
  const bytes = Array.isArray(lines) ? fromBase64(lines.join('')) : undefined;
  if (bytes === undefined) throw new Error(`its \`${field}\` is not a list of lines of Base64`);
  return bytes;
}

function definitionOf(bytes: Uint8Array, field: string): ModuleDefinition {
  try {
    return validateModule(decodeRawModule(bytes));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : '';
    throw new Error(`its \`${field}\` is not a definition: ${reason}`, { cause });
  }
}
