import type { QueryBuilder } from '../declare/query-types.ts';
import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import type { Timestamp } from '../values/timestamp.ts';
import type { Uuid } from '../values/uuid.ts';
import type { AbortSignal } from './abort-signal.ts';
import type { AuthCtx } from './auth.ts';
import type { EnvOf, PlainEnv, WholeEnv } from './env.ts';
import type { DbView, ReadonlyDbView } from './handles.ts';
import type { Request, RequestInit, SyncResponse } from './http-messages.ts';
import type { Random } from './random.ts';
import type { Response } from './response.ts';

/**
 * The tables and submodules of a schema.
 *
 * @example
 * ```ts
 * type Tables = InferSchema<typeof db>;
 * ```
 */
export type InferSchema<S extends { readonly schemaType: unknown }> = S['schemaType'];

/** Accepts a schema object's type as well as the type of what is in it. */
export type TablesOf<S> = S extends { readonly schemaType: infer Tables } ? Tables : S;

/** The properties that the contexts of all kinds of functions share. */
interface CallContext {
  /** When the call was accepted. The same throughout the call. */
  readonly timestamp: Timestamp;
  readonly random: Random;
  newUuidV4(): Uuid;
  /** Sortable: within a call, later ones are larger. */
  newUuidV7(): Uuid;
}

/** The context of a reducer. Valid until the reducer returns. */
export interface ReducerContext<Tables> extends CallContext {
  /** The caller. Proven by a token, never chosen by the caller. */
  readonly sender: Identity;
  readonly databaseIdentity: Identity;
  /** @deprecated `databaseIdentity` says whose identity it is. */
  readonly identity: Identity;
  /** `null` when the call came from no connection. */
  readonly connectionId: ConnectionId | null;
  readonly db: DbView<Tables>;
  readonly senderAuth: AuthCtx;
  /** The plain values of the configuration that the module declares as `env`. */
  readonly env: PlainEnv<EnvOf<Tables>>;
  /** This context as seen by each submodule: `lib.fn(ctx.as.lib, args)`. */
  readonly as: {
    readonly [Key in SubmoduleKey<Tables>]: ReducerContext<SubmoduleTables<Tables[Key]>>;
  };
}

/**
 * The context of the reducers of a schema, for helper functions.
 *
 * @example
 * ```ts
 * type Ctx = ReducerCtx<InferSchema<typeof db>>;
 * function me(ctx: Ctx) {
 *   return ctx.db.hero.owner.find(ctx.sender);
 * }
 * ```
 */
export type ReducerCtx<S> = ReducerContext<TablesOf<S>>;

/**
 * The context inside `withTx`.
 *
 * @example
 * ```ts
 * const countHeroes = (tx: TransactionCtx<typeof db>) => tx.db.hero.count();
 * ```
 */
export type TransactionCtx<S> = ReducerCtx<S>;

export interface HttpClient {
  /**
   * Waits for the response. A status of 400 or more is a response; throws only if there is none.
   */
  fetch(url: string, init?: RequestInit & { readonly timeout?: TimeDuration }): SyncResponse;
}

/**
 * Options of `ctx.fetch`.
 *
 * @example
 * ```ts
 * const init: FetchInit = { method: 'POST', body: 'hi', redirect: 'error' };
 * ```
 */
export interface FetchInit extends RequestInit {
  /** Time for the whole response: 30 s without it, at most 180 s. */
  readonly timeout?: TimeDuration;
  /** Ends the request when it is aborted; so does `ctx.signal`, always. */
  readonly signal?: AbortSignal;
  /** `manual`: a redirect is the response; `error`: it is an error. */
  readonly redirect?: 'follow' | 'error' | 'manual';
}

interface OutsideTransaction<Tables> extends CallContext {
  readonly databaseIdentity: Identity;
  /** @deprecated `databaseIdentity` says whose identity it is. */
  readonly identity: Identity;
  readonly http: HttpClient;
  /**
   * Sends a request; while it is awaited, other calls run. A status of 400 or more is a response.
   * Rejects with an `errors.HttpError` if there is none, and with the reason of a signal.
   */
  fetch(url: string | Request, init?: FetchInit): Promise<Response>;
  /** Waits for a duration, or so many milliseconds, while other calls run. */
  sleep(
    duration: TimeDuration | number,
    options?: { readonly signal?: AbortSignal },
  ): Promise<void>;
  /** Is aborted when nobody waits for the call any more, or its database stops. */
  readonly signal: AbortSignal;
  /** The configuration that the module declares as `env`, with its secrets. */
  readonly env: WholeEnv<EnvOf<Tables>>;
  /** Runs `body` in a transaction of its own. It may be run twice. */
  withTx<Result extends SynchronousResult>(body: (tx: ReducerContext<Tables>) => Result): Result;
  /** Reads the rows of one moment; others write meanwhile. */
  read<Result extends SynchronousResult>(body: (read: ReadContext<Tables>) => Result): Result;
  /**
   * Runs a reducer of the module in a transaction of its own, as the caller of this function.
   * Returns its value; throws `SenderError` or `CallError` when it refuses.
   */
  call<Args extends readonly unknown[], Value>(
    reducer: (ctx: any, ...args: Args) => Value,
    ...args: Args
  ): Value;
  /** By name; the types are then the caller's to know. */
  call(reducer: string, args?: Readonly<Record<string, unknown>>): unknown;
}

/** What the body of `read` gets. */
interface ReadContext<Tables> {
  readonly db: ReadonlyDbView<Tables>;
  /** When the read began. */
  readonly timestamp: Timestamp;
}

interface ProcedureContext<Tables> extends OutsideTransaction<Tables> {
  readonly sender: Identity;
  readonly connectionId: ConnectionId | null;
  readonly as: {
    readonly [Key in SubmoduleKey<Tables>]: ProcedureContext<SubmoduleTables<Tables[Key]>>;
  };
}

/**
 * The context of procedures: outside a transaction until `withTx` opens one.
 *
 * @example
 * ```ts
 * const count = (p: ProcedureCtx<typeof db>) => p.withTx((tx) => tx.db.hero.count());
 * ```
 */
export type ProcedureCtx<S> = ProcedureContext<TablesOf<S>>;

interface HttpHandlerContext<Tables> extends OutsideTransaction<Tables> {
  readonly as: {
    readonly [Key in SubmoduleKey<Tables>]: HttpHandlerContext<SubmoduleTables<Tables[Key]>>;
  };
}

/**
 * The context of HTTP handlers. There is no sender: the client is not authenticated.
 *
 * @example
 * ```ts
 * const count = (h: HandlerContext<typeof db>) => h.withTx((tx) => tx.db.hero.count());
 * ```
 */
export type HandlerContext<S> = HttpHandlerContext<TablesOf<S>>;

/**
 * The context of HTTP handlers with `auth: 'required'`, whose clients present a token.
 *
 * @example
 * ```ts
 * const mine = (h: AuthHandlerContext<typeof db>) =>
 *   h.read(({ db }) => db.hero.owner.find(h.sender));
 * ```
 */
export interface AuthHandlerContext<S> extends HandlerContext<S> {
  /** The caller. Proven by a token, never chosen by the caller. */
  readonly sender: Identity;
  readonly senderAuth: AuthCtx;
}

/**
 * The context of HTTP handlers with `auth: 'optional'`, whose clients can present a token.
 *
 * @example
 * ```ts
 * const greet = (h: OptionalAuthHandlerContext<typeof db>) =>
 *   h.sender === null ? 'hello, stranger' : `hello, ${h.sender.toHexString()}`;
 * ```
 */
export interface OptionalAuthHandlerContext<S> extends HandlerContext<S> {
  /** `null`: the request came without a token. */
  readonly sender: Identity | null;
  readonly senderAuth: AuthCtx;
}

/** The context of views that are the same for all callers. */
export interface AnonymousViewContext<Tables> {
  readonly db: ReadonlyDbView<Tables>;
  readonly from: QueryBuilder<Tables>;
}

export interface ViewContext<Tables> extends AnonymousViewContext<Tables> {
  readonly sender: Identity;
}

/**
 * The context of views: tables to read, and queries to return.
 *
 * @example
 * ```ts
 * const mine = (view: ViewCtx<typeof db>) => view.db.hero.owner.find(view.sender);
 * ```
 */
export type ViewCtx<S> = ViewContext<TablesOf<S>>;
/**
 * The context of views that are the same for all callers.
 *
 * @example
 * ```ts
 * const heroes = (view: AnonymousViewCtx<typeof db>) => [...view.db.hero];
 * ```
 */
export type AnonymousViewCtx<S> = AnonymousViewContext<TablesOf<S>>;

type SubmoduleKey<Tables> = {
  [Key in keyof Tables]: Tables[Key] extends { readonly default: { readonly schemaType: unknown } }
    ? Key
    : never;
}[keyof Tables];

type SubmoduleTables<Namespace> = Namespace extends {
  readonly default: { readonly schemaType: infer Tables };
}
  ? Tables
  : never;

/** Anything but a promise: a body that awaits does not compile. */
export type NotAsync =
  | undefined
  | null
  | string
  | number
  | bigint
  | boolean
  | symbol
  | (object & { readonly then?: never });

/** Types that a reducer can return. The value is not used; a promise is an error. */
// biome-ignore lint/suspicious/noConfusingVoidType: a body without a result has the type void.
export type SynchronousResult = NotAsync | void;
