import { present } from '../../../src/assert.ts';
import type { Catalog, ColumnSpec, IndexSpec, TableSpec } from '../../../src/schema/catalog.ts';
import type { IndexAlgorithm } from '../../../src/schema/definition.ts';
import { indexId, tableId } from '../../../src/schema/ids.ts';
import { type Language, languageOf, languages } from '../../../src/schema/languages.ts';
import { rowRef } from '../../../src/store/row-ref.ts';
import { Store } from '../../../src/store/store.ts';
import type { Table } from '../../../src/store/table.ts';
import type { Index } from '../../../src/store/table-index.ts';
import type { Transaction } from '../../../src/store/transaction.ts';
import { decodeValue } from '../../../src/values/decode.ts';
import { encodeValue } from '../../../src/values/encode.ts';
import type { AlgebraicType, ProductType } from '../../../src/values/type.ts';
import type { Value } from '../../../src/values/value.ts';

/** Short ways to write tables and rows in tests. */

export const u8: AlgebraicType = { kind: 'u8' };
export const u32: AlgebraicType = { kind: 'u32' };
export const u64: AlgebraicType = { kind: 'u64' };
export const i64: AlgebraicType = { kind: 'i64' };
export const f64: AlgebraicType = { kind: 'f64' };
export const string: AlgebraicType = { kind: 'string' };

export interface TableSketch {
  readonly columns: Readonly<Record<string, AlgebraicType>>;
  /** `unique` makes a constraint of the same columns. */
  readonly indexes?: readonly {
    readonly columns: readonly string[];
    readonly algorithm?: IndexAlgorithm;
    readonly unique?: boolean;
  }[];
  /** Columns that have an inverted index. */
  readonly inverted?: readonly string[];
  /** Languages of text indexes by their columns. */
  readonly texts?: Readonly<Record<string, Language>>;
  readonly autoInc?: readonly string[];
  readonly primaryKey?: string;
  readonly event?: boolean;
}

/** A catalog of the tables sketched; ids are stable as long as tables only grow at their end. */
export function catalogFrom(sketches: Readonly<Record<string, TableSketch>>): Catalog {
  const tables = Object.entries(sketches).map(([name, sketch], position) =>
    tableSpec(name, sketch, (position + 1) * 100),
  );
  return { tables, views: [], types: [], nextId: 10_000 };
}

function tableSpec(name: string, sketch: TableSketch, id: number): TableSpec {
  const columns: ColumnSpec[] = Object.entries(sketch.columns).map(([column, type]) => ({
    name: column,
    sourceName: column,
    type,
  }));
  const positionOf = (column: string) => columns.findIndex((each) => each.name === column);
  const indexes: IndexSpec[] = (sketch.indexes ?? []).map((index, at) => {
    const algorithm = index.algorithm ?? 'btree';
    return {
      id: indexId(id + 10 + at),
      name: `${name}_${index.columns.join('_')}_idx_${algorithm}`,
      sourceName: `${name}${at}`,
      algorithm,
      columns: index.columns.map(positionOf),
      isUnique: index.unique ?? false,
    };
  });
  return {
    id: tableId(id),
    name,
    sourceName: name,
    kind: 'user',
    access: 'public',
    isEvent: sketch.event ?? false,
    columns,
    primaryKey: sketch.primaryKey === undefined ? undefined : positionOf(sketch.primaryKey),
    indexes,
    constraints: indexes
      .filter((index) => index.isUnique)
      .map((index) => ({ id: index.id + 40, name: `${index.name}_key`, columns: index.columns })),
    derivedIndexes: [
      ...(sketch.inverted ?? []).map((column) => ({
        column,
        kind: 'inverted' as const,
        options: [],
      })),
      ...Object.entries(sketch.texts ?? {}).map(([column, language]) => ({
        ...{ column, kind: 'text' as const },
        options: [{ name: 'language', value: language }],
      })),
    ].map(({ column, kind, options }, at) => ({
      // Another language is another index.
      ...{ id: indexId(id + 60 + at + languages.indexOf(languageOf(options)) * 3), kind, options },
      name: `${name}_${column}_idx_${kind}`,
      column: positionOf(column),
    })),
    sequences: (sketch.autoInc ?? []).map((column, at) => ({
      id: id + 80 + at,
      name: `${name}_${column}_seq`,
      column: positionOf(column),
      start: 1n,
      minValue: 1n,
      maxValue: maxOf(present(columns[positionOf(column)], column).type),
      increment: 1n,
    })),
  };
}

function maxOf(type: AlgebraicType): bigint {
  const bits = BigInt(type.kind.slice(1));
  return type.kind.startsWith('u') ? 2n ** bits - 1n : 2n ** (bits - 1n) - 1n;
}

export function storeOf(sketches: Readonly<Record<string, TableSketch>>): Store {
  return new Store(catalogFrom(sketches));
}

export function tableOf(store: Store, name: string): Table {
  return present(store.tableByName(name), name);
}

export function indexOf(table: Table, at: number): Index {
  return present(table.indexes[at], `index ${at}`);
}

/** Encoded columns `columns` of the table, one after another. */
export function encodeKey(table: Table, columns: readonly number[], values: Value[]): Uint8Array {
  const elements = columns.map((column) => present(table.rowType.elements[column], 'column'));
  return encodeValue({ kind: 'product', elements }, values, table.types);
}

export function encodeRow(table: Table, values: readonly Value[]): Uint8Array {
  return encodeValue(table.rowType, values, table.types);
}

export function insert(transaction: Transaction, table: Table, ...values: Value[]): number {
  const row = encodeRow(table, values);
  return transaction.insert(table, row, row.length);
}

export function update(transaction: Transaction, index: Index, ...values: Value[]): number {
  const row = encodeRow(index.table, values);
  return transaction.update(index.table, index, row, row.length);
}

export function deleteRow(transaction: Transaction, table: Table, ...values: Value[]): boolean {
  const row = encodeRow(table, values);
  return transaction.deleteEqual(table, row, 0, row.length);
}

/** `raw`: a ref, also as a list of refs holds it. */
export function readRow(table: Table, raw: number): Value[] {
  const ref = rowRef(raw);
  const bytes = new Uint8Array(table.lengthOf(ref));
  table.copyRow(ref, bytes, 0);
  return decodeValue(table.rowType, bytes, table.types) as Value[];
}

/** Decoded rows of a scan. */
export function readRows(table: Table, refs: Int32Array = table.scan()): Value[][] {
  return [...refs].map((ref) => readRow(table, ref));
}

/** Decoded rows of a row list. */
export function decodeRows(type: ProductType, bytes: Uint8Array, count: number): Value[][] {
  if (count === 0) return [];
  const list = new Uint8Array(4 + bytes.length);
  new DataView(list.buffer).setUint32(0, count, true);
  list.set(bytes, 4);
  return decodeValue({ kind: 'array', element: type }, list) as unknown as Value[][];
}

/** Runs `work` in a transaction of its own and commits it. */
export function inTransaction<Result>(
  store: Store,
  work: (transaction: Transaction) => Result,
): Result {
  const transaction = store.begin();
  const result = work(transaction);
  transaction.commit();
  return result;
}
