import type { TableSpec } from '../schema/catalog.ts';
import type { TableId, ViewId } from '../schema/ids.ts';
import type { Table } from '../store/table.ts';
import type { AlgebraicType } from '../values/type.ts';

/**
 * The names that statements can use: everything that has rows, wherever they are kept. Made by
 * `database` for each version of the schema; two statements with the same object see the same
 * names.
 */
export interface SqlSchema {
  /** Stored tables, computed system tables, and views in the shape of tables; ids are unique. */
  readonly tables: readonly TableSpec[];
  /** Typespace that refs in column types index. */
  readonly types: readonly AlgebraicType[];
  /** Those of `tables` that are views, by id. */
  readonly views: ReadonlyMap<TableId, SqlView>;
  /** Views with parameters, which no statement can read yet; absent: none. */
  readonly unreadable?: readonly UnreadableView[];
  /** Encoded defaults that the module declares, by table, then by position; absent: none. */
  readonly defaults?: ReadonlyMap<TableId, ReadonlyMap<number, Uint8Array>>;
  /** Row-level security: texts of the subscription dialect, by id of the filtered table. */
  readonly filters: ReadonlyMap<TableId, readonly string[]>;
}

export interface SqlView {
  readonly id: ViewId;
  /** False: each caller has separate rows. */
  readonly isAnonymous: boolean;
}

export type UnreadableView = Pick<TableSpec, 'name' | 'sourceName' | 'access'>;

/** Where one caller's rows are: a view is read from that caller's instance. */
export interface SqlTables {
  /** Asserts that the schema has the table, and that a view has been evaluated for the caller. */
  table(id: TableId): Table;
}
