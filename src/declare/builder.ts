import type { DerivedIndexKind } from '../schema/definition.ts';
import type { Language } from '../schema/languages.ts';
import type { AlgebraicType } from '../values/type.ts';

/**
 * Builders describe a column, a parameter or a result. At run time a builder is a frozen `Shape`;
 * for the compiler it has three more parts that never exist as values: the type that reading yields
 * (`Out`), the type that writing accepts (`In`), and the modifiers it offers.
 */
export type Shape =
  | { readonly kind: 'plain'; readonly family: Family; readonly type: AlgebraicType }
  | {
      readonly kind: 'array';
      readonly family: Family;
      readonly element: AnyType;
      /** Of a vector: how many elements it has. */
      readonly length: number | undefined;
    }
  | { readonly kind: 'option'; readonly family: Family; readonly inner: AnyType }
  | {
      readonly kind: 'result';
      readonly family: Family;
      readonly ok: AnyType;
      readonly err: AnyType;
    }
  /** `fields` can have getters: read them only when the type is needed. */
  | {
      readonly kind: 'product';
      readonly family: Family;
      readonly name: string | undefined;
      readonly fields: Readonly<Record<string, AnyBuilder>>;
    }
  | {
      readonly kind: 'sum';
      readonly family: Family;
      readonly name: string;
      readonly variants: Readonly<Record<string, AnyType>>;
    }
  | { readonly kind: 'lazy'; readonly family: Family; readonly resolve: () => AnyType };

/** Which builder class a builder is an instance of, such as `U32`, `Array` or `Row`. */
export type Family = string;

/** The methods that turn a type into a column. */
export type Modifier = 'index' | 'unique' | 'primaryKey' | 'autoInc' | 'default' | 'name';

/** The kinds of derived indexes that a type offers, beside its modifiers. */
export type DerivedModifier = 'arrayIndex' | 'textIndex' | 'vectorIndex';

export type IndexAlgorithm = 'btree' | 'hash' | 'direct';

/** An index of what a kind derives from a column, and the options as given. It has no accessor. */
export type DerivedIndexTrait = readonly [
  kind: DerivedIndexKind,
  options: Readonly<Record<string, unknown>> | undefined,
];

/** The effect of modifiers on a column, as the compiler knows it. */
export interface Traits {
  readonly index?: IndexAlgorithm | undefined;
  readonly unique?: true | undefined;
  readonly primaryKey?: true | undefined;
  readonly autoInc?: true | undefined;
  readonly default?: true | undefined;
  readonly name?: string | undefined;
}

/** The traits of a column at run time, where the default is a value. */
export interface ColumnTraits {
  readonly index?: IndexAlgorithm;
  readonly derived?: DerivedIndexTrait;
  readonly unique?: true;
  readonly primaryKey?: true;
  readonly autoInc?: true;
  readonly default?: { readonly value: unknown };
  readonly name?: string;
}

export declare const outType: unique symbol;
export declare const inType: unique symbol;
export declare const allowedModifiers: unique symbol;
export declare const optionalType: unique symbol;
export declare const columnTraits: unique symbol;

let readShape: (builder: AnyType) => Shape;
let readColumn: (column: AnyColumn) => { readonly type: AnyType; readonly traits: ColumnTraits };

/**
 * A type. Made by the functions of `t`, never by hand. Written with its values only, as in
 * generated bindings, it stands for a type with any modifiers.
 *
 * @example
 * ```ts
 * const Spot = t.object('Spot', { x: t.f32(), y: t.f32() });
 * type Spot = Infer<typeof Spot>; // { x: number; y: number }
 * ```
 */
export class TypeBuilder<Out, In = Out, Allowed extends AnyModifier = any> {
  declare readonly [outType]: Out;
  declare readonly [inType]: In;
  declare readonly [allowedModifiers]: Allowed;
  readonly #shape: Shape;

  constructor(shape: Shape) {
    this.#shape = shape;
  }

  /** The option of this type: the value, or `undefined`. */
  optional(): OptionBuilder<this> {
    const shape: Shape = { kind: 'option', family: 'Option', inner: this };
    return new TypeBuilder(shape) as unknown as OptionBuilder<this>;
  }

  static {
    readShape = (builder) => builder.#shape;
  }
}

/**
 * A type with the column's modifiers: its keys, indexes and default. Usable in tables, `t.row` and
 * parameters, not inside other types.
 *
 * @example
 * ```ts
 * const id = t.u64().primaryKey().autoInc();
 * ```
 */
export class ColumnBuilder<Out, In, Columns extends Traits> {
  declare readonly [outType]: Out;
  declare readonly [inType]: In;
  declare readonly [columnTraits]: Columns;
  readonly #type: AnyType;
  readonly #traits: ColumnTraits;

  constructor(type: AnyType, traits: ColumnTraits) {
    this.#type = type;
    this.#traits = traits;
  }

  static {
    readColumn = (column) => ({ type: column.#type, traits: column.#traits });
  }
}

// Any type, whatever it reads and writes: only for the compiler are the parameters invariant.
export type AnyType = TypeBuilder<any, any, any>;
export type AnyColumn = ColumnBuilder<any, any, any>;
export type AnyBuilder = AnyType | AnyColumn;

/** A type together with the modifiers it offers. */
export type Builder<Out, In, Allowed extends AnyModifier> = TypeBuilder<Out, In, Allowed> &
  Offered<Out, In, Record<never, never>, Allowed>;

/** A column together with the modifiers that can still follow. */
export type Column<Out, In, Known extends Traits, Allowed extends AnyModifier> = ColumnBuilder<
  Out,
  In,
  Known
> &
  Offered<Out, In, Known, Allowed>;

export type AnyModifier = Modifier | DerivedModifier;

type Offered<Out, In, Known extends Traits, Allowed extends AnyModifier> = Pick<
  Modifiers<Out, In, Known, Allowed>,
  Allowed & Modifier
> &
  ([Allowed & DerivedModifier] extends [never]
    ? unknown
    : DerivedModifiers<Out, In, Known, Allowed>[Allowed & DerivedModifier]);

/** The forms of `index` for derived indexes, by what the type offers. */
interface DerivedModifiers<Out, In, Known extends Traits, Allowed extends AnyModifier> {
  arrayIndex: {
    /** Adds an index of the elements: `'a' = ANY(column)` and `column @> ['a']` use it. */
    index(kind: 'inverted'): Column<Out, In, Known, Allowed>;
  };
  textIndex: {
    /**
     * Adds an index of the words, which `search(column, 'red fox')` uses. They are compared by the
     * stems of the language, as they are written without one.
     */
    index(
      kind: 'text',
      options?: { readonly language?: Language },
    ): Column<Out, In, Known, Allowed>;
  };
  vectorIndex: {
    /**
     * Adds an index of near vectors: `ORDER BY distance(column, $1) LIMIT 10` uses it. By `cosine`
     * it serves `cosine_distance`, by `innerProduct` `inner_product`.
     */
    index(
      kind: 'vector',
      options?: { readonly metric?: 'l2' | 'cosine' | 'innerProduct' },
    ): Column<Out, In, Known, Allowed>;
  };
}

/** Later traits win, as at run time. */
type And<Known, More> = Omit<Known, keyof More> & More;

export interface Modifiers<Out, In, Known extends Traits, Allowed extends AnyModifier> {
  /** Adds an index over this column, available as `ctx.db.<table>.<column>`. */
  index(): Column<Out, In, And<Known, { index: 'btree' }>, Allowed>;
  index<Algorithm extends IndexAlgorithm>(
    algorithm: Algorithm,
  ): Column<Out, In, And<Known, { index: Algorithm }>, Allowed>;
  /** No two rows have the same value here. */
  unique(): Column<Out, In, And<Known, { unique: true }>, Allowed>;
  /** Unique, and identifies a row across its versions. At most one column of a table. */
  primaryKey(): Column<Out, In, And<Known, { primaryKey: true }>, Allowed>;
  /** Replaces an inserted zero by the next number. */
  autoInc(): Column<Out, In, And<Known, { autoInc: true }>, Allowed>;
  /** The value for existing rows when a later version of the module adds this column. */
  default(value: In): Column<Out, In, And<Known, { default: true }>, Allowed>;
  /** The column's name in generated clients. */
  name<Name extends string>(name: Name): Column<Out, In, And<Known, { name: Name }>, Allowed>;
}

export type OptionBuilder<Inner extends AnyType> = Builder<
  Inner[typeof outType] | undefined,
  Inner[typeof inType] | undefined,
  'default' | 'name' | 'index' | 'unique'
> & { readonly [optionalType]: Inner };

export function shapeOf(builder: AnyType): Shape {
  return readShape(builder);
}

/** The type and the traits of a builder of either kind. */
export function columnOf(builder: AnyBuilder): {
  readonly type: AnyType;
  readonly traits: ColumnTraits;
} {
  return builder instanceof ColumnBuilder ? readColumn(builder) : { type: builder, traits: {} };
}

// This code is in every client: what a kind of derived index takes is said by types alone. Names of
// ordinary kinds come before those of derived ones.
const traitOf: Readonly<Record<Modifier, (argument: unknown, options: unknown) => ColumnTraits>> = {
  index: (kind = 'btree', options) =>
    (kind as string) < 'i'
      ? { index: kind as IndexAlgorithm }
      : { derived: [kind, options] as unknown as DerivedIndexTrait },
  unique: () => ({ unique: true }),
  primaryKey: () => ({ primaryKey: true }),
  autoInc: () => ({ autoInc: true }),
  default: (value) => ({ default: { value } }),
  name: (name) => ({ name: name as string }),
};

// Every builder has every modifier at run time; the compiler decides which ones it offers.
for (const modifier of Object.keys(traitOf) as Modifier[]) {
  const value = function (this: AnyBuilder, argument: unknown, options: unknown): AnyColumn {
    const { type, traits } = columnOf(this);
    return new ColumnBuilder(type, { ...traits, ...traitOf[modifier](argument, options) });
  };
  for (const { prototype } of [TypeBuilder, ColumnBuilder]) {
    Object.defineProperty(prototype, modifier, { value, writable: true, configurable: true });
  }
}
