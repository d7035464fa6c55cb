/**
 * Types of this library under the names that the published one gives them, for programs that move
 * here.
 */
import type { DbView, RemoteModule } from './bindings.ts';
import type { EventContextInterface } from './contexts.ts';

/**
 * The rows that a connection has, by accessor: the type of `conn.db`.
 *
 * @example
 * ```ts
 * const heroes = (cache: ClientCache<RemoteModule>) => cache.hero;
 * ```
 */
export type ClientCache<RM extends RemoteModule> = DbView<RM, EventContextInterface<RM>>;

/**
 * One table of `ClientCache`, by its accessor.
 *
 * @example
 * ```ts
 * const shown = (heroes: ClientTable<RemoteModule, 'hero'>) => console.log(heroes);
 * ```
 */
export type ClientTable<
  RM extends RemoteModule,
  Name extends keyof RM['tables'] & string,
> = ClientCache<RM>[Name];

/**
 * Another name of `ClientTable`.
 *
 * @example
 * ```ts
 * const shown = (heroes: TableCache<RemoteModule, 'hero'>) => console.log(heroes);
 * ```
 */
export type TableCache<
  RM extends RemoteModule,
  Name extends keyof RM['tables'] & string,
> = ClientTable<RM, Name>;

/**
 * The declaration of a table in generated bindings, by its accessor.
 *
 * @example
 * ```ts
 * const nameOf = (hero: TableDefForTableName<RemoteModule, 'hero'>) => hero.tableName;
 * ```
 */
export type TableDefForTableName<
  Module extends { readonly tables: object },
  Name extends keyof Module['tables'],
> = Module['tables'][Name];

/**
 * What the builder of a connection has callbacks for.
 *
 * @example
 * ```ts
 * const event: ConnectionEvent = 'connect';
 * ```
 */
export type ConnectionEvent = 'connect' | 'disconnect' | 'connectError';

/**
 * The value of `t.option(…)`.
 *
 * @example
 * ```ts
 * const level: Option<number> = undefined;
 * ```
 */
export type Option<Value> = Value | undefined;

/**
 * The value of `t.result(…)`.
 *
 * @example
 * ```ts
 * const result: Result<number, string> = { err: 'too few' };
 * ```
 */
export type Result<Ok, Err> = { ok: Ok } | { err: Err };
