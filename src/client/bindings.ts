/**
 * The parts of generated bindings: descriptions of tables, reducers and procedures, and the types
 * derived from them.
 */
import { type AnyType, columnOf, type outType } from '../declare/builder.ts';
import { columnsOf } from '../declare/composite.ts';
import type { Columns, RowInput } from '../declare/infer.ts';
import type { ValueOf } from '../declare/module-type.ts';
import { toCamelCase } from '../declare/names.ts';
import { queryOfTable } from '../declare/query.ts';
import type { QueryBuilder as QueryRootsOf } from '../declare/query-types.ts';
import {
  type AnyTable,
  type DeclaredTable,
  isPrimaryKey,
  type TableSchema,
} from '../declare/table.ts';
import { TypeRegistry } from '../declare/type-registry.ts';
import type { Accessor } from './accessor-type.ts';
import { ClientFunction, type ClientSchema, ClientTable, schemaOf } from './client-schema.ts';
import type { Throwing } from './errors.ts';
import { nested } from './query-roots.ts';
import type { CallOptions } from './requests.ts';
import type { TableHandle } from './table-handle.ts';

/** `any` where nothing is known of the module. */
type NestedOf<RM, Items> = 0 extends 1 & RM ? any : Nested<Items>;

/** What is named `guilds.member` is within `guilds`: accessors of submodules are dotted. */
type Nested<Items> = [Extract<keyof Items, `${string}.${string}`>] extends [never]
  ? Items
  : {
      readonly [Key in keyof Items as Key extends `${infer First}.${string}`
        ? First
        : Key]: Key extends `${infer First}.${string}` ? Nested<Within<Items, First>> : Items[Key];
    };

type Within<Items, First extends string> = {
  readonly [Key in keyof Items as Key extends `${First}.${infer Rest}` ? Rest : never]: Items[Key];
};

export type Tables = Readonly<Record<string, AnyTable>>;

/**
 * A description of tables, as `schema` makes it.
 *
 * @example
 * ```ts
 * const tablesOf = (described: SchemaDescription) => Object.keys(described.tables);
 * ```
 */
export interface SchemaDescription<T extends Tables = Tables> {
  readonly tables: T;
}

/**
 * The tables of generated bindings, by accessor.
 *
 * @example
 * ```ts
 * const described = schema({ hero: table({ name: 'hero' }, { id: t.u32().primaryKey() }) });
 * ```
 */
export function schema<const T extends Tables>(tables: T): { schemaType: SchemaDescription<T> } {
  return { schemaType: { tables } };
}

/**
 * A reducer of generated bindings.
 *
 * @example
 * ```ts
 * const say: ReducerDescription = reducerSchema('say', { text: t.string() });
 * ```
 */
export interface ReducerDescription<
  Name extends string = string,
  P extends Columns = Columns,
  R extends AnyType = AnyType,
  E extends AnyType = AnyType,
> {
  readonly name: Name;
  readonly accessorName: Accessor<Name>;
  readonly params: P;
  readonly returnType?: R | undefined;
  readonly errorType?: E | undefined;
}

/**
 * A reducer by its name on the wire; programs call it by the name in camel case. `results` has the
 * types of its result and of its error.
 *
 * @example
 * ```ts
 * const say = reducerSchema('say_aloud', { text: t.string() });
 * say.accessorName; // 'sayAloud'
 * ```
 */
export function reducerSchema<
  const Name extends string,
  P extends Columns,
  R extends AnyType = never,
  E extends AnyType = never,
>(
  name: Name,
  params: P,
  results: { readonly returns?: R; readonly throws?: E } = {},
): ReducerDescription<Name, P, R, E> {
  const accessorName = toCamelCase(name) as Accessor<Name>;
  return { name, accessorName, params, returnType: results.returns, errorType: results.throws };
}

/** The reducers of generated bindings, in a list. */
export interface ReducersDescription<
  R extends readonly ReducerDescription[] = readonly ReducerDescription[],
> {
  readonly reducers: R;
}

/**
 * Puts reducers together, given one by one or as one list.
 *
 * @example
 * ```ts
 * const all = reducers(reducerSchema('say', { text: t.string() }));
 * ```
 */
export function reducers<const R extends readonly ReducerDescription<any, any, any, any>[]>(
  list: R,
): { reducersType: ReducersDescription<R> };
export function reducers<const R extends readonly ReducerDescription<any, any, any, any>[]>(
  ...list: R
): { reducersType: ReducersDescription<R> };
export function reducers(...given: unknown[]): unknown {
  return { reducersType: { reducers: listOf(given) } };
}

/**
 * A procedure of generated bindings.
 *
 * @example
 * ```ts
 * const count: ProcedureDescription = procedureSchema('hero_count', {}, t.u64());
 * ```
 */
export interface ProcedureDescription<
  Name extends string = string,
  P extends Columns = Columns,
  R extends AnyType = AnyType,
> {
  readonly name: Name;
  readonly accessorName: Accessor<Name>;
  readonly params: P;
  readonly returnType: R;
}

/**
 * A procedure by its name on the wire; programs call it by the name in camel case.
 *
 * @example
 * ```ts
 * const count = procedureSchema('hero_count', {}, t.u64());
 * ```
 */
export function procedureSchema<const Name extends string, P extends Columns, R extends AnyType>(
  name: Name,
  params: P,
  returnType: R,
): ProcedureDescription<Name, P, R> {
  return { name, accessorName: toCamelCase(name) as Accessor<Name>, params, returnType };
}

/**
 * Puts procedures together, given one by one or as one list.
 *
 * @example
 * ```ts
 * const all = procedures(procedureSchema('hero_count', {}, t.u64()));
 * ```
 */
export function procedures<const P extends readonly ProcedureDescription<any, any, any>[]>(
  list: P,
): { procedures: P };
export function procedures<const P extends readonly ProcedureDescription<any, any, any>[]>(
  ...list: P
): { procedures: P };
export function procedures(...given: unknown[]): unknown {
  return { procedures: listOf(given) };
}

function listOf(given: readonly unknown[]): unknown {
  return Array.isArray(given[0]) ? given[0] : given;
}

/**
 * Descriptions by the name that programs use.
 *
 * @example
 * ```ts
 * const byName = convertToAccessorMap([reducerSchema('say_aloud', { text: t.string() })]);
 * byName.sayAloud;
 * ```
 */
export function convertToAccessorMap<
  const List extends readonly { readonly accessorName: string }[],
>(list: List): Nested<{ readonly [Item in List[number] as Item['accessorName']]: Item }> {
  return nested(list.map((item) => [item.accessorName, item])) as never;
}

/**
 * Starting points of queries over described tables.
 *
 * @example
 * ```ts
 * const sqlOf = (from: QueryBuilder<SchemaDescription>) => from.hero?.toSql();
 * ```
 */
export type QueryBuilder<S extends SchemaDescription> = NestedOf<
  S['tables'],
  QueryRootsOf<S['tables']>
>;

/**
 * Starting points of queries over the tables of generated bindings, under their names in SQL.
 *
 * @example
 * ```ts
 * const from = makeQueryBuilder(schema({ hero: heroTable }).schemaType);
 * ```
 */
export function makeQueryBuilder<S extends SchemaDescription>(description: S): QueryBuilder<S> {
  const roots = Object.entries(description.tables).map(([accessor, table]) => {
    const declared = table as unknown as DeclaredTable;
    const columns = Object.entries(columnsOf(declared.rowType)).map(([key, builder]) => {
      return { key, name: columnOf(builder).traits.name ?? key };
    });
    return [accessor, queryOfTable(declared.tableName ?? accessor, columns)] as const;
  });
  return nested(roots) as QueryBuilder<S>;
}

/**
 * The description of a database in generated bindings.
 *
 * @example
 * ```ts
 * const versionOf = (module: RemoteModule) => module.versionInfo.cliVersion;
 * ```
 */
export interface RemoteModule<
  S extends SchemaDescription = SchemaDescription,
  R extends ReducersDescription<any> = ReducersDescription<any>,
  P extends { readonly procedures: readonly ProcedureDescription<any, any, any>[] } = {
    readonly procedures: readonly ProcedureDescription<any, any, any>[];
  },
> {
  readonly versionInfo: { readonly cliVersion: string };
  readonly tables: S['tables'];
  readonly reducers: R['reducers'];
  readonly procedures: P['procedures'];
}

/** `conn.db`: table handles by accessor. */
export type DbView<RM extends RemoteModule, Ctx> = NestedOf<
  RM,
  { readonly [Key in keyof RM['tables']]: HandleOf<RM['tables'][Key], Ctx> }
>;

type HandleOf<Table, Ctx> =
  Table extends TableSchema<infer C, infer Options> ? TableHandle<C, Options, Ctx> : never;

/** `conn.reducers`: calls by accessor. */
export type ReducerCalls<RM extends RemoteModule> = NestedOf<RM, ReducersByAccessor<RM>>;

export type ReducersByAccessor<RM extends RemoteModule> = {
  readonly [Item in RM['reducers'][number] as Item['accessorName']]: ReducerCall<Item>;
};

type ReducerCall<Reducer> =
  Reducer extends ReducerDescription<any, infer P, infer R, infer E>
    ? CallOf<P, ValueOf<R, void>> & Throwing<ValueOf<E, never>>
    : never;

/** `conn.procedures`: calls by accessor. */
export type ProcedureCalls<RM extends RemoteModule> = NestedOf<RM, ProceduresByAccessor<RM>>;

export type ProceduresByAccessor<RM extends RemoteModule> = {
  readonly [Item in RM['procedures'][number] as Item['accessorName']]: CallOf<
    Item['params'],
    Item['returnType'][typeof outType]
  >;
};

/** Arguments are one object, optional if nothing in it is required. */
type CallOf<P extends Columns, Returned> =
  Record<never, never> extends RowInput<P>
    ? (args?: RowInput<P>, options?: CallOptions) => Promise<Returned>
    : (args: RowInput<P>, options?: CallOptions) => Promise<Returned>;

const schemas = new WeakMap<object, ClientSchema>();

/** The client's own view of described tables and functions, built once. */
export function describedSchema(module: RemoteModule): ClientSchema {
  let known = schemas.get(module);
  if (known !== undefined) return known;
  const registry = new TypeRegistry();
  const tables = Object.entries(module.tables).map(([accessor, table]) => {
    return tableOf(accessor, table as unknown as DeclaredTable, registry);
  });
  const functions = (
    list: readonly (ReducerDescription | ProcedureDescription)[],
  ): ClientFunction[] =>
    list.map((described) => {
      const { name, accessorName, params, returnType } = described;
      const product = registry.product(registry.productRef(params, name));
      const typeOf = (given: AnyType | undefined) => given && registry.typeOf(given);
      const errorType = 'errorType' in described ? described.errorType : undefined;
      const { typespace } = registry;
      return new ClientFunction({
        name,
        accessor: accessorName,
        params: product,
        returns: typeOf(returnType),
        throws: typeOf(errorType),
        typespace,
      });
    });
  known = schemaOf(tables, functions(module.reducers), functions(module.procedures));
  schemas.set(module, known);
  return known;
}

function tableOf(accessor: string, table: DeclaredTable, registry: TypeRegistry): ClientTable {
  const entries = Object.entries(columnsOf(table.rowType));
  const columns = entries.map(([key, builder]) => {
    const name = columnOf(builder).traits.name ?? key;
    return { key, name, type: registry.typeOf(builder) };
  });
  const keyAt = entries.findIndex(([, builder]) => isPrimaryKey(builder));
  return new ClientTable({
    accessor,
    name: table.tableName ?? accessor,
    columns,
    typespace: registry.typespace,
    primaryKey: keyAt < 0 ? undefined : keyAt,
    indexes: table.idxs.map((index) => {
      return { accessor: index.accessor, columns: index.columns, isUnique: index.isSingleRow };
    }),
    isEvent: table.options.event === true,
  });
}
