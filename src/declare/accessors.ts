import type { IndexAlgorithm, outType } from './builder.ts';
import type { Columns, TraitsOf } from './infer.ts';
import type { Range } from './range.ts';
import type { TableOptions } from './table.ts';

/**
 * The types of a table's accessors, derived from its columns and options, for module and client.
 */

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

export type IsPrimaryKey<
  C extends Columns,
  Names extends readonly string[],
> = Names extends readonly [infer Only extends string]
  ? TraitsOf<C[Only]> extends { primaryKey: true }
    ? true
    : false
  : false;

/** Each column is unique on its own, or a declared constraint covers exactly these columns. */
export type IsUnique<
  C extends Columns,
  Options extends TableOptions,
  Names extends readonly string[],
> =
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

/** The bare value of one column, or the tuple of several. */
export type PointKey<C extends Columns, Names extends readonly string[]> = Names extends readonly [
  infer Only extends string,
]
  ? Value<C, Only>
  : Values<C, Names>;

type Value<C extends Columns, Name extends string> = C[Name][typeof outType];

type Values<C extends Columns, Names extends readonly string[]> = {
  readonly [Position in keyof Names]: Value<C, Names[Position]>;
};

export type Bounds<
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

/** Leading columns by value; the last one given can be a range. */
type Prefix<
  C extends Columns,
  Names extends readonly string[],
  Before extends readonly unknown[] = readonly [],
> = Names extends readonly [infer First extends string, ...infer Rest extends readonly string[]]
  ?
      | readonly [...Before, Value<C, First> | Range<Value<C, First>>]
      | Prefix<C, Rest, readonly [...Before, Value<C, First>]>
  : never;
