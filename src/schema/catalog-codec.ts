import { assert } from '../assert.ts';
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { decodeType, encodeType } from '../values/type-codec.ts';
import type {
  Catalog,
  ColumnSpec,
  ConstraintSpec,
  DerivedIndexSpec,
  IndexSpec,
  SequenceSpec,
  TableSpec,
  ViewSpec,
} from './catalog.ts';
import { checkCatalog } from './check-catalog.ts';
import { readColumns, readIndexOption, readList, readTag } from './decode-raw-parts.ts';
import { indexId, tableId, viewId } from './ids.ts';
import { LaterVersionError } from './later-version.ts';
import { derivedIndexKinds } from './raw-module.ts';

/**
 * A catalog as the commit log keeps it. Integers are little-endian, `string` is a u32 byte count
 * and UTF-8, `list` a u32 count and the items, a type is written as in the value format.
 *
 *     catalog     version:u8=3  next-id:u32  types:list<type>  tables:list<table>
 *                 views:list<view>  derived:list<derived>  vectors:list<vector>
 *     table       id:u32  name:string  source-name:string  flags:u8
 *                 primary-key:u16 (0xffff = none)
 *                 columns:list<column>  indexes:list<index>
 *                 constraints:list<constraint>  sequences:list<sequence>
 *     flags       1 system table, 2 private, 4 event table
 *     view        id:u32  name:string  source-name:string  view-flags:u8
 *                 primary-key:u16 (0xffff = none)
 *                 columns:list<column>  indexes:list<index>  constraints:list<constraint>
 *     view-flags  1 anonymous, 2 private
 *     column      name:string  source-name:string  type
 *     index       id:u32  name:string  source-name:string  algorithm:u8  unique:bool
 *                 columns:list<u16>
 *     algorithm   0 btree, 1 hash, 2 direct
 *     constraint  id:u32  name:string  columns:list<u16>
 *     sequence    id:u32  name:string  column:u16  start, min, max, increment: i128 each
 *
 *     derived     table:u32  id:u32  name:string  kind:u8  column:u16  options:list<option>
 *     kind        0 inverted, 1 text, 2 vector
 *     option      name:string  value:string
 *     vector      table:u32  column:u16  length:u32
 *
 * The list of vectors is there only if there are any. Version 2 is the same without the last two
 * lists, and is written where both are empty, so that earlier versions of the service can read it.
 * Version 1 lacks the list of views, too.
 */
export function encodeCatalog(catalog: Catalog): Uint8Array {
  const writer = new BinaryWriter();
  const derived = catalog.tables.flatMap((table) =>
    table.derivedIndexes.map((index) => ({ table, index })),
  );
  const vectors = vectorsOf(catalog);
  const hasMore = derived.length > 0 || vectors.length > 0;
  writer.u8(hasMore ? formatVersion : versionWithoutDerived);
  writer.u32(catalog.nextId);
  writeList(writer, catalog.types, encodeType);
  writeList(writer, catalog.tables, writeTable);
  writeList(writer, catalog.views, writeView);
  if (hasMore) {
    writeList(writer, derived, (w, { table, index }) => {
      w.u32(table.id);
      writeDerivedIndex(w, index);
    });
  }
  if (vectors.length > 0) writeList(writer, vectors, writeVector);
  return writer.finish();
}

/**
 * Decodes a catalog. Throws `DecodeError` unless `bytes` are one whole, consistent catalog;
 * `LaterVersionError` if only a later version can read it.
 */
export function decodeCatalog(bytes: Uint8Array): Catalog {
  const reader = new BinaryReader(bytes);
  const version = reader.u8();
  if (version > formatVersion) {
    const known = `this version knows versions up to ${formatVersion}`;
    throw new LaterVersionError(`its schema has version ${version}, and ${known}`);
  }
  if (version < versionWithoutViews) throw new DecodeError(`unknown catalog version ${version}`);
  const nextId = reader.u32();
  const types = readList(reader, decodeType);
  const bare = readList(reader, readTable);
  const views = version === versionWithoutViews ? [] : readList(reader, readView);
  const indexed = version < formatVersion ? bare : withDerivedIndexes(reader, bare);
  const hasVectors = version === formatVersion && reader.remaining > 0;
  const tables = hasVectors ? withVectors(reader, indexed) : indexed;
  if (reader.remaining > 0) throw new DecodeError(`${reader.remaining} bytes after the catalog`);
  const catalog = { tables, views, types, nextId };
  const problem = checkCatalog(catalog);
  if (problem !== undefined) throw new DecodeError(`catalog: ${problem}`);
  return catalog;
}

const formatVersion = 3;
const versionWithoutDerived = 2;
const versionWithoutViews = 1;
const noPrimaryKey = 0xffff;
const algorithms = ['btree', 'hash', 'direct'] as const;

function writeTable(w: BinaryWriter, table: TableSpec): void {
  assert(table.kind !== 'view', 'the tables of a catalog are not views');
  w.u32(table.id);
  w.string(table.name);
  w.string(table.sourceName);
  const system = table.kind === 'system' ? 1 : 0;
  const hidden = table.access === 'private' ? 2 : 0;
  w.u8(system + hidden + (table.isEvent ? 4 : 0));
  w.u16(table.primaryKey ?? noPrimaryKey);
  writeList(w, table.columns, writeColumn);
  writeList(w, table.indexes, writeIndex);
  writeList(w, table.constraints, writeConstraint);
  writeList(w, table.sequences, writeSequence);
}

function readTable(r: BinaryReader): TableSpec {
  const id = tableId(r.u32());
  const name = r.string();
  const sourceName = r.string();
  const flags = r.u8();
  if (flags > 7) throw new DecodeError(`unknown table flags ${flags}`);
  const primaryKey = r.u16();
  return {
    id,
    name,
    sourceName,
    kind: (flags & 1) === 0 ? 'user' : 'system',
    access: (flags & 2) === 0 ? 'public' : 'private',
    isEvent: (flags & 4) !== 0,
    primaryKey: primaryKey === noPrimaryKey ? undefined : primaryKey,
    columns: readList(r, readColumn),
    indexes: readList(r, readIndex),
    constraints: readList(r, readConstraint),
    sequences: readList(r, readSequence),
    derivedIndexes: [],
  };
}

function writeView(w: BinaryWriter, view: ViewSpec): void {
  w.u32(view.id);
  w.string(view.name);
  w.string(view.sourceName);
  w.u8((view.isAnonymous ? 1 : 0) + (view.access === 'private' ? 2 : 0));
  w.u16(view.primaryKey ?? noPrimaryKey);
  writeList(w, view.columns, writeColumn);
  writeList(w, view.indexes, writeIndex);
  writeList(w, view.constraints, writeConstraint);
}

function readView(r: BinaryReader): ViewSpec {
  const id = viewId(r.u32());
  const name = r.string();
  const sourceName = r.string();
  const flags = r.u8();
  if (flags > 3) throw new DecodeError(`unknown view flags ${flags}`);
  const primaryKey = r.u16();
  return {
    id,
    name,
    sourceName,
    access: (flags & 2) === 0 ? 'public' : 'private',
    isAnonymous: (flags & 1) !== 0,
    primaryKey: primaryKey === noPrimaryKey ? undefined : primaryKey,
    columns: readList(r, readColumn),
    indexes: readList(r, readIndex),
    constraints: readList(r, readConstraint),
  };
}

function writeColumn(w: BinaryWriter, column: ColumnSpec): void {
  w.string(column.name);
  w.string(column.sourceName);
  encodeType(w, column.type);
}

function readColumn(r: BinaryReader): ColumnSpec {
  return { name: r.string(), sourceName: r.string(), type: decodeType(r) };
}

function writeIndex(w: BinaryWriter, index: IndexSpec): void {
  w.u32(index.id);
  w.string(index.name);
  w.string(index.sourceName);
  w.u8(algorithms.indexOf(index.algorithm));
  w.bool(index.isUnique);
  writeColumns(w, index.columns);
}

function readIndex(r: BinaryReader): IndexSpec {
  return {
    id: indexId(r.u32()),
    name: r.string(),
    sourceName: r.string(),
    algorithm: readTag(r, algorithms, 'IndexAlgorithm'),
    isUnique: r.bool(),
    columns: readColumns(r),
  };
}

function writeConstraint(w: BinaryWriter, constraint: ConstraintSpec): void {
  w.u32(constraint.id);
  w.string(constraint.name);
  writeColumns(w, constraint.columns);
}

function readConstraint(r: BinaryReader): ConstraintSpec {
  return { id: r.u32(), name: r.string(), columns: readColumns(r) };
}

function writeSequence(w: BinaryWriter, sequence: SequenceSpec): void {
  w.u32(sequence.id);
  w.string(sequence.name);
  w.u16(sequence.column);
  w.i128(sequence.start);
  w.i128(sequence.minValue);
  w.i128(sequence.maxValue);
  w.i128(sequence.increment);
}

function readSequence(r: BinaryReader): SequenceSpec {
  return {
    id: r.u32(),
    name: r.string(),
    column: r.u16(),
    start: r.i128(),
    minValue: r.i128(),
    maxValue: r.i128(),
    increment: r.i128(),
  };
}

function writeDerivedIndex(w: BinaryWriter, index: DerivedIndexSpec): void {
  w.u32(index.id);
  w.string(index.name);
  w.u8(derivedIndexKinds.indexOf(index.kind));
  w.u16(index.column);
  writeList(w, index.options, (writer, { name, value }) => {
    writer.string(name);
    writer.string(value);
  });
}

/** The tables with the derived indexes that follow. */
function withDerivedIndexes(r: BinaryReader, tables: readonly TableSpec[]): TableSpec[] {
  const byTable = new Map<number, DerivedIndexSpec[]>(tables.map(({ id }) => [id, []]));
  readList(r, (reader) => {
    const table = reader.u32();
    const indexes = byTable.get(table);
    if (indexes === undefined) throw new DecodeError(`table ${table} of an index does not exist`);
    indexes.push(readDerivedIndex(reader));
  });
  return tables.map((table) => ({ ...table, derivedIndexes: byTable.get(table.id) ?? [] }));
}

function readDerivedIndex(r: BinaryReader): DerivedIndexSpec {
  return {
    id: indexId(r.u32()),
    name: r.string(),
    kind: readTag(r, derivedIndexKinds, 'DerivedIndexKind'),
    column: r.u16(),
    options: readList(r, readIndexOption),
  };
}

interface VectorColumn {
  readonly table: number;
  readonly column: number;
  readonly length: number;
}

function vectorsOf({ tables }: Catalog): VectorColumn[] {
  return tables.flatMap(({ id, columns }) =>
    columns.flatMap(({ vectorLength: length }, column) =>
      length === undefined ? [] : [{ table: id, column, length }],
    ),
  );
}

function writeVector(w: BinaryWriter, { table, column, length }: VectorColumn): void {
  w.u32(table);
  w.u16(column);
  w.u32(length);
}

/** The tables with the lengths of vectors that follow. */
function withVectors(r: BinaryReader, tables: readonly TableSpec[]): readonly TableSpec[] {
  const vectors = readList(r, (reader): VectorColumn => {
    return { table: reader.u32(), column: reader.u16(), length: reader.u32() };
  });
  for (const { table, column } of vectors) {
    const columns = tables.find(({ id }) => id === table)?.columns;
    if (columns?.[column] !== undefined) continue;
    throw new DecodeError(`column ${column} of table ${table}, a vector, does not exist`);
  }
  return tables.map((table) => {
    const columns = table.columns.map((column, at) => {
      const vector = vectors.find((one) => one.table === table.id && one.column === at);
      return vector === undefined ? column : { ...column, vectorLength: vector.length };
    });
    return { ...table, columns };
  });
}

function writeColumns(w: BinaryWriter, columns: readonly number[]): void {
  writeList(w, columns, (writer, column) => writer.u16(column));
}

function writeList<Item>(
  w: BinaryWriter,
  items: readonly Item[],
  write: (w: BinaryWriter, item: Item) => void,
): void {
  w.u32(items.length);
  for (const item of items) write(w, item);
}
