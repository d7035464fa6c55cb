import { toHex } from '../values/hex.ts';
import { sha256 } from '../values/sha256.ts';
import type { AlgebraicType, NamedType, Typespace } from '../values/type.ts';
import { sequenceShape } from './build-catalog.ts';
import type { ModuleDefinition, TableDefinition } from './definition.ts';
import { prefixTable, scopesOf } from './flatten.ts';

/**
 * 64 hex digits that stand for the tables of a definition as migrations see them: names and their
 * spelling in the module, columns, types, keys, indexes, constraints and sequences. Functions,
 * views, access, defaults, schedules and the names of types have no part in it. Programs and
 * databases hold results of it: a change needs another first word of the text.
 */
export function schemaHashOf(definition: ModuleDefinition): string {
  const known = hashes.get(definition);
  if (known !== undefined) return known;
  const tables = scopesOf(definition).flatMap(({ prefix, module }) => {
    return module.tables.map((table) => tableText(prefixTable(table, prefix), module));
  });
  const text = `schema 1\n${tables.sort().join('\n')}\n`;
  const hash = toHex(sha256(new TextEncoder().encode(text)));
  hashes.set(definition, hash);
  return hash;
}

const hashes = new WeakMap<ModuleDefinition, string>();

function tableText(table: TableDefinition, types: SchemaTypespaces): string {
  const parts = [
    table.name,
    table.sourceName,
    table.tableType,
    table.isEvent,
    table.primaryKey ?? null,
    columnTexts(table, types),
    byName(table.indexes).map((index) => [
      ...[index.name, index.sourceName, index.accessorName ?? null],
      ...[index.algorithm, index.columns, index.isUnique],
    ]),
    byName(table.constraints).map(({ name, columns }) => [name, columns]),
    byName(table.sequences).map((sequence) => {
      const { name, column, start, minValue, maxValue, increment } = sequenceShape(sequence);
      return [name, column, `${start} ${minValue} ${maxValue} ${increment}`];
    }),
    byName(table.derivedIndexes).map(({ name, kind, column, options }) => [
      ...[name, kind, column],
      options.map((option) => [option.name, option.value]),
    ]),
  ];
  return JSON.stringify(parts);
}

type SchemaTypespaces = Pick<ModuleDefinition, 'typespace' | 'sourceTypespace'>;

/** The spelling of fields and variants counts: functions of migrations use it. */
function columnTexts(table: TableDefinition, types: SchemaTypespaces): unknown[] {
  const row = types.sourceTypespace.types[table.rowTypeRef];
  const spelled = row?.kind === 'product' ? row.elements : [];
  return table.columns.map(({ name, sourceName, type, vectorLength }, at) => [
    ...[name, sourceName, shapeOf(type, types.typespace)],
    ...[shapeOf(spelled[at]?.type ?? type, types.sourceTypespace), vectorLength ?? null],
  ]);
}

/** A type with its refs written out; a ref to a type around it says how far out that is. */
function shapeOf(type: AlgebraicType, { types }: Typespace): unknown {
  const open: number[] = [];
  const all = (parts: readonly NamedType[]) => {
    return parts.map(({ name, type: part }) => [name ?? null, write(part)]);
  };
  const write = (part: AlgebraicType): unknown => {
    switch (part.kind) {
      case 'product':
        return { product: all(part.elements) };
      case 'sum':
        return { sum: all(part.variants) };
      case 'array':
        return { array: write(part.element) };
      case 'ref':
        return writeRef(part.ref);
      default:
        return part.kind;
    }
  };
  const writeRef = (ref: number): unknown => {
    const at = open.lastIndexOf(ref);
    const target = types[ref];
    if (at >= 0 || target === undefined) return { out: open.length - at };
    open.push(ref);
    const written = write(target);
    open.pop();
    return written;
  };
  return write(type);
}

function byName<Part extends { readonly name: string }>(parts: readonly Part[]): Part[] {
  return parts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
