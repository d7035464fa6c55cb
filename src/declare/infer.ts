import type {
  AnyBuilder,
  AnyType,
  ColumnBuilder,
  columnTraits,
  inType,
  outType,
  TypeBuilder,
} from './builder.ts';

/**
 * Columns of a table or parameters of a function, by name and in order.
 *
 * @example
 * ```ts
 * const count = (columns: RowObj) => Object.keys(columns).length;
 * ```
 */
export type Columns = Readonly<Record<string, AnyBuilder>>;

/**
 * What reading a builder's value yields: `Infer<typeof hero.rowType>` is a row of `hero`.
 *
 * @example
 * ```ts
 * const Mood = t.enum('Mood', { Calm: t.unit(), Named: t.string() });
 * type Mood = Infer<typeof Mood>; // { tag: 'Calm' } | { tag: 'Named'; value: string }
 * ```
 */
export type Infer<Builder> = Builder extends AnyBuilder
  ? Builder[typeof outType]
  : Builder extends Columns
    ? RowOf<Builder>
    : never;

/** What writing accepts: wider than `Infer` for options and results. */
export type InferInput<Builder extends AnyBuilder> = Builder[typeof inType];

/** A row as it is read, with every column. */
export type RowOf<C extends Columns> = { -readonly [Key in keyof C]: C[Key][typeof outType] };

/** A row or an object as it is written: columns of an option type can be left out. */
export type RowInput<C extends Columns> = Flat<
  { [Key in Exclude<keyof C, OptionKeys<C>>]: C[Key][typeof inType] } & {
    [Key in OptionKeys<C>]?: C[Key][typeof inType] | undefined;
  }
>;

/**
 * A row as it is inserted: columns with `.autoInc()` or `.default(…)` can be left out, too. They
 * get the next number and the default.
 */
export type InsertInput<C extends Columns> = Flat<
  { [Key in Exclude<keyof C, OptionKeys<C> | FilledKeys<C>>]: C[Key][typeof inType] } & {
    [Key in OptionKeys<C> | FilledKeys<C>]?: C[Key][typeof inType] | undefined;
  }
>;

/** Arguments as a function receives them. */
export type ArgsOf<C extends Columns> = Flat<
  { [Key in Exclude<keyof C, OptionKeys<C>>]: C[Key][typeof outType] } & {
    [Key in OptionKeys<C>]?: C[Key][typeof outType] | undefined;
  }
>;

/** What is `any`, as in types that name themselves, is not known to be an option. */
export type OptionKeys<C extends Columns> = {
  [Key in keyof C]-?: 0 extends 1 & C[Key][typeof inType]
    ? never
    : undefined extends C[Key][typeof inType]
      ? Key
      : never;
}[keyof C];

export type FilledKeys<C extends Columns> = {
  [Key in keyof C]-?: TraitsOf<C[Key]> extends { autoInc: true } | { default: true } ? Key : never;
}[keyof C];

/** Flattens an intersection into one object. */
export type Flat<T> = { -readonly [Key in keyof T]: T[Key] };

/** The traits of a column; none for a bare type, and none for `any`. */
export type TraitsOf<Builder> = 0 extends 1 & Builder
  ? Record<never, never>
  : Builder extends ColumnBuilder<any, any, any>
    ? Builder[typeof columnTraits]
    : Record<never, never>;

/**
 * The value of a type: `Infer` under the name that generated code uses.
 *
 * @example
 * ```ts
 * type Nick = InferTypeOfTypeBuilder<StringBuilder>; // string
 * ```
 */
export type InferTypeOfTypeBuilder<Builder extends AnyType> = Builder[typeof outType];
/**
 * A row of columns.
 *
 * @example
 * ```ts
 * type Row = InferTypeOfRow<{ nick: StringBuilder }>; // { nick: string }
 * ```
 */
export type InferTypeOfRow<C extends Columns> = RowOf<C>;
/**
 * The arguments for parameters: those of an option type can be left out.
 *
 * @example
 * ```ts
 * type Args = InferTypeOfParams<{ nick: StringBuilder }>; // { nick: string }
 * ```
 */
export type InferTypeOfParams<C extends Columns> = ArgsOf<C>;
/**
 * The types of columns, without their modifiers.
 *
 * @example
 * ```ts
 * type Types = InferSpacetimeTypeOfRow<{ nick: StringBuilder }>;
 * ```
 */
export type InferSpacetimeTypeOfRow<C extends Columns> = {
  readonly [Key in keyof C]: C[Key] extends TypeBuilder<any, any, any> ? C[Key] : AnyType;
};
