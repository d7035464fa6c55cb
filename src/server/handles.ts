import type {
  Bounds,
  EntryColumns,
  EntryOf,
  IndexedColumn,
  IsPrimaryKey,
  IsUnique,
  PointKey,
} from '../declare/accessors.ts';
import type { Columns, InsertInput, RowInput, RowOf, TraitsOf } from '../declare/infer.ts';
import type { TableOptions, TableSchema } from '../declare/table.ts';
import type { RowIterator } from './row-iterator.ts';

/**
 * The types of `ctx.db.<table>`: its accessors and their arguments. The functions themselves are in
 * `table-handle.ts`.
 */
export type TableHandle<C extends Columns, Options extends TableOptions> = TableMethods<
  RowOf<C>,
  RowInput<C>,
  InsertInput<C>
> &
  Accessors<C, Options, 'write'>;

/** A table handle without the methods that write, as views get it. */
export type ReadonlyTableHandle<
  C extends Columns,
  Options extends TableOptions,
> = ReadonlyTableMethods<RowOf<C>> & Accessors<C, Options, 'read'>;

export interface ReadonlyTableMethods<Row> extends Iterable<Row> {
  /** Rows in the table, those written by this call included. */
  count(): bigint;
  /** All rows as they are now: later writes do not affect the iterator. */
  iter(): RowIterator<Row>;
  [Symbol.iterator](): RowIterator<Row>;
}

export interface TableMethods<Row, Input, Insert = Input> extends ReadonlyTableMethods<Row> {
  /**
   * Adds a row and returns it with its generated values. Columns with `.autoInc()` or a default can
   * be left out. If an equal row exists, nothing changes.
   */
  insert(row: Insert): Row;
  /** Removes the row that equals `row` in all columns; false if there was none. */
  delete(row: Input): boolean;
  /** Removes all rows and returns how many there were. */
  clear(): bigint;
}

export interface ReadonlyUniqueIndex<Row, Key> {
  /** The row with that key, or `null`. */
  find(key: Key): Row | null;
}

export interface UniqueIndex<Row, Key> extends ReadonlyUniqueIndex<Row, Key> {
  /** Removes the row with that key; false if there was none. */
  delete(key: Key): boolean;
}

export interface PrimaryKeyIndex<Row, Input, Key> extends UniqueIndex<Row, Key> {
  /** Replaces the row that has the key of `row`, and returns `row` itself. */
  update(row: Input): Row;
}

export interface ReadonlyRowsIndex<Row, Bounds> {
  /** The rows within `bounds`, as they are now. */
  filter(bounds: Bounds): RowIterator<Row>;
}

export interface RowsIndex<Row, Bounds> extends ReadonlyRowsIndex<Row, Bounds> {
  /** Removes the rows within `bounds` and returns how many there were. */
  delete(bounds: Bounds): number;
}

type Access = 'read' | 'write';

type Accessors<C extends Columns, Options extends TableOptions, A extends Access> = {
  readonly [Key in IndexedColumn<C>]: Accessor<
    C,
    Options,
    readonly [Key],
    TraitsOf<C[Key]> extends { index: infer Algorithm } ? Algorithm : 'btree',
    A
  >;
} & {
  readonly [Entry in EntryOf<Options> as Entry['accessor']]: Accessor<
    C,
    Options,
    EntryColumns<Entry>,
    Entry['algorithm'],
    A
  >;
};

/** The accessor of an index: its shape depends on the columns and the algorithm. */
type Accessor<
  C extends Columns,
  Options extends TableOptions,
  Names extends readonly string[],
  Algorithm,
  A extends Access,
> =
  IsUnique<C, Options, Names> extends true
    ? A extends 'read'
      ? ReadonlyUniqueIndex<RowOf<C>, PointKey<C, Names>>
      : IsPrimaryKey<C, Names> extends true
        ? PrimaryKeyIndex<RowOf<C>, RowInput<C>, PointKey<C, Names>>
        : UniqueIndex<RowOf<C>, PointKey<C, Names>>
    : A extends 'read'
      ? ReadonlyRowsIndex<RowOf<C>, Bounds<C, Names, Algorithm>>
      : RowsIndex<RowOf<C>, Bounds<C, Names, Algorithm>>;

/**
 * The handles of all tables of a schema, by accessor; submodules are nested.
 *
 * @example
 * ```ts
 * const countOf = (tables: DbView<InferSchema<typeof db>>) => tables.hero.count();
 * ```
 */
export type DbView<Tables> = {
  readonly [Key in keyof Tables]: Tables[Key] extends TableSchema<infer C, infer Options>
    ? TableHandle<C, Options>
    : Tables[Key] extends { readonly default: { readonly schemaType: infer Inner } }
      ? DbView<Inner>
      : never;
};

export type ReadonlyDbView<Tables> = {
  readonly [Key in keyof Tables]: Tables[Key] extends TableSchema<infer C, infer Options>
    ? ReadonlyTableHandle<C, Options>
    : Tables[Key] extends { readonly default: { readonly schemaType: infer Inner } }
      ? ReadonlyDbView<Inner>
      : never;
};
