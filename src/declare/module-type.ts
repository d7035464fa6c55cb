import type { AnyType, outType } from './builder.ts';
import type { columnsType, elementType } from './composite.ts';
import type { Described } from './described.ts';
import type { Columns } from './infer.ts';

/**
 * What the type of a module, `typeof import('./module')`, says of its schema and its exports: for
 * clients and for tests, each of which spells it in its own way.
 */
export type SchemaTypeOf<M> = M extends { readonly default: { readonly schemaType: infer S } }
  ? S
  : M extends { readonly schemaType: infer S }
    ? S
    : Record<never, never>;

/** Exports by name, including those of groups. */
export type Exports<M> = M & Intersection<Groups<M>>;

type Groups<M> = {
  [Key in keyof M]: M[Key] extends Described<{
    kind: 'group';
    members: infer Members extends Readonly<Record<string, unknown>>;
  }>
    ? Members
    : never;
}[keyof M];

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (
  whole: infer All,
) => void
  ? All
  : never;

/** A submodule in a schema. */
export interface Namespace {
  readonly default: { readonly schemaType: unknown };
}

export type AnyView = Described<{ kind: 'view'; returns: AnyType }>;

export type AnyReducer = Described<{
  kind: 'reducer';
  params: Columns;
  returns: AnyType;
  throws: AnyType;
}>;

export type AnyProcedure = Described<{ kind: 'procedure'; params: Columns; returns: AnyType }>;

/** The columns of the rows that a view returns. */
export type ViewColumns<Returns> = Returns extends {
  readonly [elementType]: { readonly [columnsType]: infer C extends Columns };
}
  ? C
  : Returns extends { readonly [outType]: infer Row | undefined }
    ? PlainColumns<Row>
    : Columns;

/** Columns of a view whose row is not a table's row: without keys or indexes. */
type PlainColumns<Row> = {
  readonly [Key in keyof Row & string]: AnyType & { readonly [outType]: Row[Key] };
};

/** The values of a type, or `None` where no type is declared. */
export type ValueOf<T extends AnyType, None> = [T] extends [never] ? None : T[typeof outType];
