import type { AnyType, outType } from '../declare/builder.ts';
import type { Described, VerbatimNames } from '../declare/described.ts';
import type { Columns, RowInput, RowOf } from '../declare/infer.ts';
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
import type { QueryBuilder, RowTypedQuery } from '../declare/query-types.ts';
import type { TableSchema } from '../declare/table.ts';
import type { Accessor } from './accessor-type.ts';
import type { Draft } from './draft.ts';
import type { CallError, Throwing } from './errors.ts';
import type { Event } from './events.ts';
import type { CallOptions } from './requests.ts';
import type { Policy, Spelled, SpelledColumns, SpelledParams, SpelledTable } from './spelling.ts';
import type { TableHandle } from './table-handle.ts';

/**
 * From the type of a module, `typeof import('./module')`, to a client's view of it: public tables,
 * views, reducers and procedures; submodules nested. The type of the schema alone gives only its
 * tables. These are types only: no module code is included.
 *
 * @example
 * ```ts
 * type Tables = TablesOf<typeof tavern>;
 * ```
 */
export type TablesOf<M> = PublicTables<SchemaTypeOf<M>, PolicyOf<M>> & ViewTables<M>;

type PolicyOf<M> = M extends { readonly default: VerbatimNames } | VerbatimNames
  ? 'none'
  : 'snakeCase';

type PublicTables<S, Names extends Policy> = {
  readonly [Key in keyof S as S[Key] extends TableSchema<any, infer Options>
    ? Options extends { readonly public: true }
      ? Accessor<Key>
      : never
    : never]: SpelledTable<S[Key], Names>;
};

type ViewTables<Module> = ViewsAmong<Exports<Module>, PolicyOf<Module>>;

type ViewsAmong<M, Names extends Policy> = {
  readonly [Key in keyof M as M[Key] extends AnyView
    ? Accessor<Key>
    : never]: M[Key] extends Described<{ kind: 'view'; returns: infer Returns extends AnyType }>
    ? TableSchema<SpelledColumns<ViewColumns<Returns>, Names>, { readonly public: true }>
    : never;
};

/** Submodules by their key in the schema. */
export type Submodules<M> = {
  readonly [Key in keyof SchemaTypeOf<M> as SchemaTypeOf<M>[Key] extends Namespace
    ? Accessor<Key>
    : never]: SchemaTypeOf<M>[Key];
};

/**
 * A row of a table or a view, named by its accessor.
 *
 * @example
 * ```ts
 * const nickOf = (hero: TableRow<typeof tavern, 'hero'>) => hero.nick;
 * ```
 */
export type TableRow<M, Name extends keyof TablesOf<M>> =
  TablesOf<M>[Name] extends TableSchema<infer C, any> ? RowOf<C> : never;

/**
 * `client.db`: the tables with the rows in this client's cache, by accessor.
 *
 * @example
 * ```ts
 * const countHeroes = (db: ClientDb<typeof tavern>) => db.hero.count();
 * ```
 */
export type ClientDb<M> = {
  readonly [Key in keyof TablesOf<M>]: TablesOf<M>[Key] extends TableSchema<infer C, infer Options>
    ? TableHandle<C, Options, ClientContext<M>>
    : never;
} & { readonly [Key in keyof Submodules<M>]: ClientDb<Submodules<M>[Key]> };

/**
 * Starting points of queries: the tables by accessor.
 *
 * @example
 * ```ts
 * const strong = (q: QueryRoots<typeof tavern>) => q.hero.where((hero) => hero.level.gt(3));
 * ```
 */
export type QueryRoots<M> = QueryBuilder<TablesOf<M>> & {
  readonly [Key in keyof Submodules<M>]: QueryRoots<Submodules<M>[Key]>;
};

/**
 * The forms of a query: SQL, a query, or a function that returns one.
 *
 * @example
 * ```ts
 * const strong: QueryInput<typeof tavern> = (q) => q.hero.where((hero) => hero.level.gt(3));
 * ```
 */
export type QueryInput<M, Row = any> =
  | string
  | RowTypedQuery<Row, any>
  | ((from: QueryRoots<M>) => RowTypedQuery<Row, any>);

/**
 * The first argument of callbacks.
 *
 * @example
 * ```ts
 * const count = (ctx: ClientContext<typeof tavern>) => ctx.db.hero.count();
 * ```
 */
export interface ClientContext<M> {
  readonly event: Event;
  readonly db: ClientDb<M>;
  readonly reducers: ClientReducers<M>;
  readonly procedures: ClientProcedures<M>;
}

/**
 * `client.reducers`: one function each.
 *
 * @example
 * ```ts
 * const greet = (reducers: ClientReducers<typeof tavern>) => reducers.say({ text: 'hi' });
 * ```
 */
export type ClientReducers<M, D = Draft<M>> = ReducersAmong<Exports<M>, PolicyOf<M>, D> & {
  readonly [Key in keyof Submodules<M>]: ClientReducers<Submodules<M>[Key], D>;
};

type ReducersAmong<M, Names extends Policy, D> = {
  readonly [Key in keyof M as M[Key] extends AnyReducer
    ? Accessor<Key>
    : never]: M[Key] extends Described<{
    kind: 'reducer';
    params: infer P extends Columns;
    returns: infer R extends AnyType;
    throws: infer E extends AnyType;
  }>
    ? Call<
        SpelledParams<P, Names>,
        Spelled<ValueOf<R, void>, Names>,
        Spelled<ValueOf<E, never>, Names>,
        D
      >
    : never;
};

/**
 * `client.procedures`: one function each.
 *
 * @example
 * ```ts
 * type Names = keyof ClientProcedures<typeof tavern>;
 * ```
 */
export type ClientProcedures<M> = ProceduresAmong<Exports<M>, PolicyOf<M>> & {
  readonly [Key in keyof Submodules<M>]: ClientProcedures<Submodules<M>[Key]>;
};

type ProceduresAmong<M, Names extends Policy> = {
  readonly [Key in keyof M as M[Key] extends AnyProcedure
    ? Accessor<Key>
    : never]: M[Key] extends Described<{
    kind: 'procedure';
    params: infer P extends Columns;
    returns: infer R extends AnyType;
  }>
    ? Call<SpelledParams<P, Names>, Spelled<R[typeof outType], Names>>
    : never;
};

/** Arguments are one object, optional if nothing in it is required. */
type Arguments<P extends Columns, D> =
  Record<never, never> extends RowInput<P>
    ? [args?: RowInput<P>, options?: CallOptions<D, RowInput<P>>]
    : [args: RowInput<P>, options?: CallOptions<D, RowInput<P>>];

/**
 * A call. It settles after its changes are in the cache and were reported to callbacks. `Thrown` is
 * the type of the value that the function can reject with (see `isCallError`), `D` the draft that
 * its `optimistic` option writes to.
 *
 * @example
 * ```ts
 * const call: Call<Record<never, never>, void> = client.reducers.ping;
 * const outcome = await call.result();
 * ```
 */
export interface Call<P extends Columns, Returned, Thrown = never, D = any>
  extends Throwing<Thrown> {
  (...args: Arguments<P, D>): Promise<Returned>;
  /** Like the call, but returns errors instead of throwing them. */
  result(...args: Arguments<P, D>): Promise<CallResult<Returned, Thrown>>;
}

/**
 * The outcome from `result`: a value, or the error that the call would have thrown.
 *
 * @example
 * ```ts
 * const result: CallResult<void> = await client.reducers.say.result({ text: 'hi' });
 * if (!result.ok) console.warn(result.error.message);
 * ```
 */
export type CallResult<Returned, Thrown = never> =
  | { readonly ok: true; readonly value: Returned }
  | {
      readonly ok: false;
      readonly error: [Thrown] extends [never] ? Error : CallError<Thrown> | Error;
    };
