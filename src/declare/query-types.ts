import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import type { Timestamp } from '../values/timestamp.ts';
import type { Uuid } from '../values/uuid.ts';
import type { EntryColumns, EntryOf, IndexedColumn } from './accessors.ts';
import type { outType } from './builder.ts';
import type { Columns, RowOf } from './infer.ts';
import type { BooleanExpr } from './query-expression.ts';
import type { TableOptions, TableSchema } from './table.ts';

export declare const queriedRow: unique symbol;
export declare const columnValue: unique symbol;
export declare const ofTable: unique symbol;

/** A literal that can be compared with a column. */
export type LiteralValue =
  | string
  | number
  | bigint
  | boolean
  | Identity
  | ConnectionId
  | Uuid
  | Timestamp;

/**
 * A query whose rows are exactly `Row`.
 *
 * @example
 * ```ts
 * const all: RowTypedQuery<Infer<typeof hero.rowType>> = from.hero;
 * ```
 */
export interface RowTypedQuery<Row, _SpacetimeType = unknown> {
  /** Exactly these columns: a function of the row makes the compiler compare both ways. */
  readonly [queriedRow]: (row: Row) => Row;
  toSql(): string;
}

/**
 * A query for rows of table `Table`.
 *
 * @example
 * ```ts
 * const strong: Query<typeof hero> = from.hero.where((row) => row.level.gt(9));
 * ```
 */
export type Query<Table> =
  Table extends TableSchema<infer C, any> ? RowTypedQuery<RowOf<C>, C> : RowTypedQuery<unknown>;

/**
 * `ctx.from`: the tables of a schema as starting points of queries.
 *
 * @example
 * ```ts
 * const builder: QueryBuilder<InferSchema<typeof db>> = makeQueryBuilder(db.schemaType);
 * ```
 */
export type QueryBuilder<S> = {
  readonly [Key in keyof S as S[Key] extends TableSchema<any, any>
    ? Key
    : never]: Key extends string ? TableRef<S[Key], Key> : never;
};

/**
 * A table in a query; on its own, the query for all its rows.
 *
 * @example
 * ```ts
 * const all: TableRef<typeof hero, 'hero'> = from.hero;
 * ```
 */
export type TableRef<Table, Name extends string = string> =
  Table extends TableSchema<infer C, infer Options> ? TableQuery<Name, C, Options> : never;

export interface TableQuery<Name extends string, C extends Columns, Options extends TableOptions>
  extends FilteredQuery<Name, C> {
  /**
   * Keeps the rows for which `predicate` holds. The conditions of several calls are combined with
   * AND.
   */
  where(predicate: Predicate<Name, C>): TableQuery<Name, C, Options>;
  build(): TableQuery<Name, C, Options>;
  /** Rows of this table that have a match in `other`. */
  leftSemijoin<Other extends string, OtherC extends Columns, OtherOptions extends TableOptions>(
    other: TableQuery<Other, OtherC, OtherOptions>,
    on: JoinOn<Name, C, Options, Other, OtherC, OtherOptions>,
  ): FilteredQuery<Name, C>;
  /** Rows of `other` that have a match in this table; conditions on this table still apply. */
  rightSemijoin<Other extends string, OtherC extends Columns, OtherOptions extends TableOptions>(
    other: TableQuery<Other, OtherC, OtherOptions>,
    on: JoinOn<Name, C, Options, Other, OtherC, OtherOptions>,
  ): FilteredQuery<Other, OtherC>;
  readonly [joinable]: Options;
}

declare const joinable: unique symbol;

/** A query that can be filtered further. */
export interface FilteredQuery<Name extends string, C extends Columns>
  extends RowTypedQuery<RowOf<C>, C> {
  readonly [ofTable]: Name;
  where(predicate: Predicate<Name, C>): FilteredQuery<Name, C>;
  /** Ends the chain; the query is the same. */
  build(): FilteredQuery<Name, C>;
}

type Predicate<Name extends string, C extends Columns> = (
  row: RowExpr<C, Name>,
) => BooleanExpr<Name> | ColumnExpr<boolean, Name> | boolean;

type JoinOn<
  Name extends string,
  C extends Columns,
  Options extends TableOptions,
  Other extends string,
  OtherC extends Columns,
  OtherOptions extends TableOptions,
> = (
  left: JoinRow<Name, C, Options>,
  right: JoinRow<Other, OtherC, OtherOptions>,
) => JoinCondition<Name | Other>;

/**
 * The row in a predicate: its columns, to be compared.
 *
 * @example
 * ```ts
 * const isStrong = (row: RowExpr<{ level: U8Builder }>) => row.level.gt(9);
 * ```
 */
export type RowExpr<C extends Columns, Name extends string = string> = {
  readonly [Key in keyof C]: ColumnExpr<C[Key][typeof outType], Name>;
};

/**
 * A column in a predicate.
 *
 * @example
 * ```ts
 * const isStrong = (level: ColumnExpr<number>) => level.gt(9);
 * ```
 */
export interface ColumnExpr<Value, Name extends string = string> {
  readonly [columnValue]: Value;
  readonly [ofTable]: Name;
  /** An option is compared by what it holds, and an enum by a value of it or its tag. */
  eq(other: Comparable<Value, Name>): BooleanExpr<Name>;
  ne(other: Comparable<Value, Name>): BooleanExpr<Name>;
  lt(other: Orderable<Value, Name>): BooleanExpr<Name>;
  lte(other: Orderable<Value, Name>): BooleanExpr<Name>;
  gt(other: Orderable<Value, Name>): BooleanExpr<Name>;
  gte(other: Orderable<Value, Name>): BooleanExpr<Name>;
  /** Whether the value is one of these; of none, it is never. */
  in(values: readonly (Literal<Value> | EnumLiteral<Value>)[]): BooleanExpr<Name>;
  /** Of an enum or an option of a string: `%` stands for any text, `_` for one character. */
  like(
    pattern: undefined extends Value ? LikePattern<Value> : EnumPattern<Value>,
  ): BooleanExpr<Name>;
  /** Whether an option holds nothing. */
  isNull(...none: undefined extends Value ? [] : [never]): BooleanExpr<Name>;
}

/**
 * A column of a table in a predicate, by the name of the column.
 *
 * @example
 * ```ts
 * const isStrong = (level: ColumnExpression<typeof hero, 'level'>) => level.gt(9);
 * ```
 */
export type ColumnExpression<Table, Column extends string> =
  Table extends TableSchema<infer C, any>
    ? Column extends keyof C
      ? ColumnExpr<C[Column][typeof outType]>
      : never
    : never;

type Comparable<Value, Name extends string> = Orderable<Value, Name> | EnumLiteral<Value>;

type Orderable<Value, Name extends string> = Literal<Value> | ColumnExpr<Value, Name>;

type Literal<Value> = Value extends LiteralValue ? Value | LiteralExpr<Value> : never;

/** A value of an enum without payloads, or its tag. */
type EnumLiteral<Value> = [Extract<Value, { value: unknown }>] extends [never]
  ? Value extends { tag: infer Tag extends string }
    ? Tag | { readonly tag: Tag }
    : never
  : never;

type EnumPattern<Value> = [EnumLiteral<Value>] extends [never] ? never : string;

type LikePattern<Value> = string extends Value ? string : EnumPattern<Value>;

export interface LiteralExpr<Value> {
  readonly [columnValue]: Value;
  readonly literal: LiteralValue;
}

/** Columns that a join can compare: those that an index starts with. */
type JoinRow<Name extends string, C extends Columns, Options extends TableOptions> = {
  readonly [Key in JoinColumn<C, Options>]: JoinColumnExpr<C[Key][typeof outType], Name>;
};

type JoinColumn<C extends Columns, Options extends TableOptions> =
  | IndexedColumn<C>
  | (FirstColumn<EntryColumns<EntryOf<Options>>> & keyof C & string);

type FirstColumn<Names> = Names extends readonly [infer First, ...unknown[]] ? First : never;

export interface JoinColumnExpr<Value, Name extends string> {
  readonly [columnValue]: Value;
  readonly [ofTable]: Name;
  eq<Other extends string>(other: JoinColumnExpr<Value, Other>): JoinCondition<Name | Other>;
}

/** States that a column of one table equals a column of the other. */
export interface JoinCondition<Names extends string> {
  /** Exactly these two: a function of the names makes the compiler compare both ways. */
  readonly [joined]: (names: Names) => Names;
}

declare const joined: unique symbol;
