import type {
  Bounds,
  EntryColumns,
  EntryOf,
  IndexedColumn,
  IsUnique,
  PointKey,
} from '../declare/accessors.ts';
import type { AnyType } from '../declare/builder.ts';
import type { Described } from '../declare/described.ts';
import type { Columns, RowOf, TraitsOf } from '../declare/infer.ts';
import type {
  AnyProcedure,
  AnyReducer,
  AnyView,
  Exports,
  Namespace,
  SchemaTypeOf,
  ValueOf,
  ViewColumns,
} from '../declare/module-type.ts';
import type { RowTypedQuery, TableQuery } from '../declare/query-types.ts';
import type { TableOptions, TableSchema } from '../declare/table.ts';
import type { CallInput } from './call-input.ts';
import type { CallFailed, MayThrow } from './test-errors.ts';

/**
 * From the type of a module, `typeof import('./module')`, to a test's view of it: all tables,
 * views, reducers and procedures, in the module's own spelling; submodules nested. `any` where the
 * module has no type, as in tests that are written in JavaScript.
 */
export type TestTables<M> =
  IsAny<M> extends true
    ? any
    : TablesOf<SchemaTypeOf<M>> & ViewsOf<Exports<M>> & Nested<M, 'tables'>;

/** The reducers that clients can call, by the names of their exports. */
export type TestReducers<M> =
  IsAny<M> extends true ? any : ReducersOf<Exports<M>, RowsOf<M>> & Nested<M, 'reducers'>;

/** The procedures that clients can call, by the names of their exports. */
export type TestProcedures<M> =
  IsAny<M> extends true ? any : ProceduresOf<Exports<M>, RowsOf<M>> & Nested<M, 'procedures'>;

/** A module without a type: everything in it compiles. */
export type AnyModule = any;

/** The columns of each table of a module: rows of them are filled in, wherever they are. */
type RowsOf<M> = ColumnsOf<SchemaTypeOf<M>>;

type ColumnsOf<S> = {
  [Key in keyof S]: S[Key] extends TableSchema<infer C, any> ? C : never;
}[keyof S];

type IsAny<T> = 0 extends 1 & T ? true : false;

type Nested<M, Part extends 'tables' | 'reducers' | 'procedures'> = {
  readonly [Key in keyof SchemaTypeOf<M> as SchemaTypeOf<M>[Key] extends Namespace ? Key : never]: {
    readonly tables: TestTables<SchemaTypeOf<M>[Key]>;
    readonly reducers: TestReducers<SchemaTypeOf<M>[Key]>;
    readonly procedures: TestProcedures<SchemaTypeOf<M>[Key]>;
  }[Part];
};

type TablesOf<S> = {
  readonly [Key in keyof S as S[Key] extends TableSchema<any, any> ? Key : never]: TestTable<
    S[Key],
    Key & string
  >;
};

type ViewsOf<E> = {
  readonly [Key in keyof E as E[Key] extends AnyView ? Key : never]: E[Key] extends Described<{
    kind: 'view';
    returns: infer Returns extends AnyType;
  }>
    ? TestTable<TableSchema<ViewColumns<Returns>, Record<never, never>>, Key & string>
    : never;
};

/**
 * A table as a caller of a test sees it: its rows, look-ups by its indexes, and the methods of a
 * query, which `watch` and `query` take.
 */
export type TestTable<Table, Name extends string = string> =
  Table extends TableSchema<infer C, infer Options>
    ? TableQuery<Name, C, Options> & TestRows<RowOf<C>> & Lookups<C, Options>
    : never;

export interface TestRows<Row> {
  /** How many rows the caller sees. */
  count(): Promise<bigint>;
  /** The rows that the caller sees, in no promised order. */
  iter(): Promise<Row[]>;
}

/** An index by which each key has one row at most. */
export interface UniqueLookup<Row, Key> {
  /** The row with that key, or `null`. */
  find(key: Key): Promise<Row | null>;
}

export interface RowsLookup<Row, Bounds> {
  /** The rows within `bounds`, in no promised order. */
  filter(bounds: Bounds): Promise<Row[]>;
}

type Lookups<C extends Columns, Options extends TableOptions> = {
  readonly [Key in IndexedColumn<C>]: Lookup<
    C,
    Options,
    readonly [Key],
    TraitsOf<C[Key]> extends { index: infer Algorithm } ? Algorithm : 'btree'
  >;
} & {
  readonly [Entry in EntryOf<Options> as Entry['accessor']]: Lookup<
    C,
    Options,
    EntryColumns<Entry>,
    Entry['algorithm']
  >;
};

type Lookup<
  C extends Columns,
  Options extends TableOptions,
  Names extends readonly string[],
  Algorithm,
> =
  IsUnique<C, Options, Names> extends true
    ? UniqueLookup<RowOf<C>, PointKey<C, Names>>
    : RowsLookup<RowOf<C>, Bounds<C, Names, Algorithm>>;

type ReducersOf<E, Rows> = {
  readonly [Key in keyof E as E[Key] extends AnyReducer ? Key : never]: E[Key] extends Described<{
    kind: 'reducer';
    params: infer P extends Columns;
    returns: infer R extends AnyType;
    throws: infer T extends AnyType;
  }>
    ? TestCall<P, ValueOf<R, void>, ValueOf<T, never>, Rows>
    : never;
};

type ProceduresOf<E, Rows> = {
  readonly [Key in keyof E as E[Key] extends AnyProcedure ? Key : never]: E[Key] extends Described<{
    kind: 'procedure';
    params: infer P extends Columns;
    returns: infer R extends AnyType;
  }>
    ? TestCall<P, ValueOf<R, void>, never, Rows>
    : never;
};

/** Arguments are one object, optional if nothing in it is required. */
type Arguments<P extends Columns, Rows> =
  Record<never, never> extends CallInput<P, Rows>
    ? [args?: CallInput<P, Rows>]
    : [args: CallInput<P, Rows>];

/**
 * A call. In rows of tables, whose columns are `Rows`, those that are filled in can be left out. It
 * settles after watched queries have its changes. It rejects with `CallFailed`; `Thrown`
 * is the type of the value that the module can reject with: see `isCallFailed`.
 */
export interface TestCall<P extends Columns, Returned, Thrown = never, Rows = never>
  extends MayThrow<Thrown> {
  (...args: Arguments<P, Rows>): Promise<Returned>;
  /** Like the call, but returns a failure instead of throwing it. */
  result(...args: Arguments<P, Rows>): Promise<TestCallResult<Returned, Thrown>>;
}

/** The outcome from `result`. The error has no value where the module did not throw one. */
export type TestCallResult<Returned, Thrown = never> =
  | { readonly ok: true; readonly value: Returned }
  | { readonly ok: false; readonly error: CallFailed<Thrown | undefined> };

/** The forms of a query: SQL, a query, or a function that returns one. */
export type TestQuery<M, Row = AnyModule> =
  | string
  | RowTypedQuery<Row, any>
  | ((tables: TestTables<M>) => RowTypedQuery<Row, any>);
