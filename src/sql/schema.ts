import type { TableSpec } from '../schema/catalog.ts';
import type { Table } from '../store/table.ts';
import type { AlgebraicType } from '../values/type.ts';

/**
 * What statements may name: everything that has rows, whoever keeps them. Made by `database` for
 * each version of the schema; two statements with the same object see the same names.
 */
export interface SqlSchema {
  /** Stored tables, computed system tables, and views in the shape of tables; ids are unique. */
  readonly tables: readonly TableSpec[];
  /** Typespace that refs in column types index. */
  readonly types: readonly AlgebraicType[];
  /** Those of `tables` that are views, by id. */
  readonly views: ReadonlyMap<number, SqlView>;
  /** Row-level security: texts of the subscription dialect, by id of the table they filter. */
  readonly filters: ReadonlyMap<number, readonly string[]>;
}

export interface SqlView {
  /** False: every caller has rows of their own. */
  readonly isAnonymous: boolean;
}

/** Where the rows are, for one caller: a view answers with that caller's instance. */
export interface SqlTables {
  /** Asserts that the schema has the table, and that a view was evaluated for the caller. */
  table(id: number): Table;
}
