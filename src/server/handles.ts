import type { IndexAlgorithm, outType } from './builder.ts';
import type { Columns, RowInput, RowOf, TraitsOf } from './infer.ts';
import type { Range } from './range.ts';
import type { RowIterator } from './row-iterator.ts';
import type { TableOptions, TableSchema } from './table.ts';

/**
 * The types of `ctx.db.<table>`: which accessors a table has and what each takes. The functions
 * themselves are in `table-handle.ts`.
 */
export type TableHandle<C extends Columns, Options extends TableOptions> = TableMethods<
  RowOf<C>,
  RowInput<C>
> &
  Accessors<C, Options, 'write'>;

/** The same without anything that writes, as views see it. */
export type ReadonlyTableHandle<
  C extends Columns,
  Options extends TableOptions,
> = ReadonlyTableMethods<RowOf<C>> & Accessors<C, Options, 'read'>;

export interface ReadonlyTableMethods<Row> extends Iterable<Row> {
  /** Rows in the table, those written by this call included. */
  count(): bigint;
  /** All rows as they are now: later writes do not change what the iterator yields. */
  iter(): RowIterator<Row>;
  [Symbol.iterator](): RowIterator<Row>;
}

export interface TableMethods<Row, Input> extends ReadonlyTableMethods<Row> {
  /** Adds a row and returns it with its generated values. An equal row is left as it is. */
  insert(row: Input): Row;
  /** Removes the row that equals `row` in all columns. False: there was none. */
  delete(row: Input): boolean;
  /** Removes all rows and returns how many there were. */
  clear(): bigint;
}

export interface ReadonlyUniqueIndex<Row, Key> {
  /** The row with that key, or `null`. */
  find(key: Key): Row | null;
}

export interface UniqueIndex<Row, Key> extends ReadonlyUniqueIndex<Row, Key> {
  /** Removes the row with that key. False: there was none. */
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

/** Columns that have an index of their own. */
export type IndexedColumn<C extends Columns> = {
  [Key in keyof C & string]: TraitsOf<C[Key]> extends
    | { index: IndexAlgorithm }
    | { unique: true }
    | { primaryKey: true }
    ? Key
    : never;
}[keyof C & string];

export type EntryOf<Options extends TableOptions> = Options extends {
  readonly indexes: readonly (infer Entry extends {
    readonly accessor: string;
    readonly algorithm: IndexAlgorithm;
  })[];
}
  ? Entry
  : never;

export type EntryColumns<Entry> = Entry extends {
  readonly columns: infer Names extends readonly string[];
}
  ? Names
  : Entry extends { readonly column: infer Name extends string }
    ? readonly [Name]
    : never;

/** The one accessor of an index: its shape follows from its columns and its algorithm. */
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

type IsPrimaryKey<C extends Columns, Names extends readonly string[]> = Names extends readonly [
  infer Only extends string,
]
  ? TraitsOf<C[Only]> extends { primaryKey: true }
    ? true
    : false
  : false;

/** Each column is unique by itself, or a declared constraint covers exactly these columns. */
type IsUnique<C extends Columns, Options extends TableOptions, Names extends readonly string[]> =
  AllKeys<C, Names> extends true
    ? true
    : true extends CoveredBy<ConstraintColumns<Options>, Names[number]>
      ? true
      : false;

type AllKeys<C extends Columns, Names extends readonly string[]> = {
  [Name in Names[number]]: TraitsOf<C[Name]> extends { unique: true } | { primaryKey: true }
    ? never
    : Name;
}[Names[number]] extends never
  ? true
  : false;

type ConstraintColumns<Options extends TableOptions> = Options extends {
  readonly constraints: readonly (infer Entry extends { readonly columns: readonly string[] })[];
}
  ? Entry['columns']
  : never;

type CoveredBy<Constraint, Name> = Constraint extends readonly (infer Covered)[]
  ? [Covered, Name] extends [Name, Covered]
    ? true
    : false
  : false;

/** The bare value of one column, the tuple of several. */
type PointKey<C extends Columns, Names extends readonly string[]> = Names extends readonly [
  infer Only extends string,
]
  ? Value<C, Only>
  : Values<C, Names>;

type Value<C extends Columns, Name extends string> = C[Name][typeof outType];

type Values<C extends Columns, Names extends readonly string[]> = {
  readonly [Position in keyof Names]: Value<C, Names[Position]>;
};

type Bounds<
  C extends Columns,
  Names extends readonly string[],
  Algorithm,
> = Algorithm extends 'hash'
  ? PointKey<C, Names>
  : Names extends readonly [infer First extends string, ...infer Rest extends readonly string[]]
    ? Rest extends readonly []
      ? Value<C, First> | Range<Value<C, First>>
      : Value<C, First> | Range<Value<C, First>> | Prefix<C, Names>
    : never;

/** Leading columns by value; the last one given may be a range. */
type Prefix<
  C extends Columns,
  Names extends readonly string[],
  Before extends readonly unknown[] = readonly [],
> = Names extends readonly [infer First extends string, ...infer Rest extends readonly string[]]
  ?
      | readonly [...Before, Value<C, First> | Range<Value<C, First>>]
      | Prefix<C, Rest, readonly [...Before, Value<C, First>]>
  : never;

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
