import type { AnyBuilder, AnyType, inType, outType } from '../declare/builder.ts';
import type { columnsType, elementType, RowBuilder, Unit } from '../declare/composite.ts';
import type { Described } from '../declare/described.ts';
import type { ArgsOf, Columns, RowInput, TraitsOf } from '../declare/infer.ts';
import type { RowTypedQuery } from '../declare/query-types.ts';
import type { TimestampBuilder } from '../declare/scalar-builders.ts';
import type { AnyTable, TableSchema } from '../declare/table.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import type {
  AnonymousViewCtx,
  AuthHandlerContext,
  HandlerContext,
  NotAsync,
  OptionalAuthHandlerContext,
  ProcedureCtx,
  ReducerCtx,
  SynchronousResult,
  ViewCtx,
} from './contexts.ts';
import type { Request, SyncResponse } from './http-messages.ts';
import type { ModuleExport } from './registration.ts';

/** Parameters: types by name, or the columns of a row. */
export type Params = Columns | RowBuilder<any>;

export type ParamsOf<P extends Params> = P extends { readonly [columnsType]: infer C }
  ? C extends Columns
    ? C
    : never
  : P extends Columns
    ? P
    : never;

/**
 * The body of a reducer. It must not be `async`. `R` is the type that it declares as `returns`.
 *
 * @example
 * ```ts
 * const body: Reducer<typeof db, { nick: StringBuilder }> = (ctx, { nick }) => {
 *   console.log(ctx.sender, nick);
 * };
 * ```
 */
export type Reducer<S, P extends Params, R extends AnyType = never> = (
  ctx: ReducerCtx<S>,
  args: ArgsOf<ParamsOf<P>>,
) => [R] extends [never] ? SynchronousResult : R[typeof inType] & NotAsync;

/**
 * An exported reducer. Calling it from another one runs it in the same transaction.
 *
 * @example
 * ```ts
 * const rename: ReducerExport<typeof db, { nick: StringBuilder }> = db.reducer(
 *   { nick: t.string() },
 *   (_ctx, { nick }) => console.log(nick),
 * );
 * ```
 */
export interface ReducerExport<
  S,
  P extends Params,
  IsInternal extends boolean = false,
  R extends AnyType = never,
  E extends AnyType = never,
> extends ModuleExport,
    Described<
      IsInternal extends true
        ? Internal
        : {
            readonly kind: 'reducer';
            readonly params: ParamsOf<P>;
            readonly returns: R;
            readonly throws: E;
          }
    > {
  (
    ctx: ReducerCtx<S>,
    ...args: CallArgs<ParamsOf<P>>
  ): [R] extends [never] ? void : R[typeof outType];
}

/**
 * An exported procedure: `F` is its body, which may be asynchronous.
 *
 * @example
 * ```ts
 * type Count = ProcedureExport<typeof db, Record<never, never>, U64Builder>;
 * export const count: Count = db.procedure(t.u64(), () => 3n);
 * ```
 */
export interface ProcedureExport<
  S,
  P extends Params,
  R extends AnyType,
  IsInternal extends boolean = false,
  F extends (...args: any[]) => unknown = Procedure<S, P, R>,
> extends ModuleExport,
    Described<
      IsInternal extends true
        ? Internal
        : { readonly kind: 'procedure'; readonly params: ParamsOf<P>; readonly returns: R }
    > {
  (
    ctx: ProcedureCtx<S>,
    ...args: CallArgs<ParamsOf<P>>
  ): ReturnType<F> extends PromiseLike<unknown> ? Promise<R[typeof outType]> : R[typeof outType];
}

/**
 * An exported view: `F` is the function as it was given.
 *
 * @example
 * ```ts
 * type Everyone = ViewExport<(view: AnonymousViewCtx<typeof db>) => Infer<typeof hero.rowType>[]>;
 * ```
 */
export type ViewExport<
  F extends (...args: any[]) => unknown,
  Returns extends AnyType = AnyType,
> = F & ModuleExport & Described<{ readonly kind: 'view'; readonly returns: Returns }>;

interface Internal {
  readonly kind: 'internal';
}

/**
 * An exported HTTP handler.
 *
 * @example
 * ```ts
 * const hello: HttpHandlerExport<typeof db> = db.httpHandler(() => new SyncResponse('hello'));
 * ```
 */
export interface HttpHandlerExport<S, Ctx = HandlerContext<S>, R = SyncResponse>
  extends ModuleExport {
  (ctx: Ctx, request: Request): R;
}

/** Arguments are one object, optional if nothing in it is required. */
type CallArgs<C extends Columns> =
  Record<never, never> extends RowInput<C> ? [args?: RowInput<C>] : [args: RowInput<C>];

export interface NameOption {
  /** The name clients call it by; defaults to the export's name in snake case. */
  readonly name?: string;
  readonly onSchedule?: undefined;
}

/** Options of a reducer: its name, and the types of its result and of its error. */
export interface ReducerOptions<R extends AnyType, E extends AnyType> extends NameOption {
  /** Type of the value that the body returns. */
  readonly returns?: R;
  /** Type of the values that the body rejects calls with: `throw new CallError(value)`. */
  readonly throws?: E;
}

export interface ScheduleOption<Table extends AnyTable> {
  readonly name?: string;
  /** The rows of this table schedule the runs. */
  readonly onSchedule: Table;
}

/** What happens to runs that were missed, and to runs that fail. */
export interface SchedulePolicyOptions {
  /**
   * Which of the times that pass while the database is not running are made up for: none
   * (`'skip'`, the default), the last one (`'once'`), or each of them (`'all'`). A row with a
   * single time runs in any case.
   */
  readonly catchUp?: 'skip' | 'once' | 'all';
  /** A run that fails is repeated; without this it is not. */
  readonly retry?: ScheduleRetry;
}

/**
 * How often and when a scheduled run that fails is repeated.
 *
 * @example
 * ```ts
 * const retry: ScheduleRetry = { attempts: 5, backoff: TimeDuration.fromMillis(1_000) };
 * ```
 */
export interface ScheduleRetry {
  /** Runs in all, the first one included: 1 to 100. */
  readonly attempts: number;
  /** Delay before the second run; it doubles each time, up to 5 minutes. */
  readonly backoff: TimeDuration;
}

/** Options of a reducer that the rows of a table schedule. */
export interface ScheduledReducerOptions<Table extends AnyTable>
  extends ScheduleOption<Table>,
    SchedulePolicyOptions {}

/** Options of a procedure that the rows of a table schedule. */
export type ScheduledProcedureOptions<Table extends AnyTable> = ScheduleOption<Table> &
  Pick<SchedulePolicyOptions, 'catchUp'> &
  DeliveryOptions;

/** What a crash does to a run of a scheduled procedure. */
type DeliveryOptions =
  | {
      /**
       * A row is deleted, or moved on to its next time, before the procedure runs. A run that a
       * crash ends is not repeated.
       */
      readonly delivery?: 'atMostOnce';
      readonly retry?: undefined;
    }
  | {
      /**
       * A row stays until the procedure has returned. A run that fails, or that a crash ends, is
       * repeated; when it has run too often, the row stays as it is, and is listed as failed.
       */
      readonly delivery: 'atLeastOnce';
      /** Five runs in all by default, the second a second after the first. */
      readonly retry?: ScheduleRetry;
    };

/**
 * Options of a cron.
 *
 * @example
 * ```ts
 * const options: CronOptions = { timeZone: 'Europe/Berlin', catchUp: 'once' };
 * ```
 */
export interface CronOptions extends SchedulePolicyOptions {
  /** Its name in the database; defaults to the export's name in snake case. */
  readonly name?: string;
  /** An IANA time zone such as `Europe/Berlin`; the default is UTC. */
  readonly timeZone?: string;
}

/** A cron has one argument: the time for which it runs. */
export type CronParams = { readonly due: TimestampBuilder };

/** One parameter, of the table's row type. */
export type ScheduledParams<Table extends AnyTable> =
  Table extends TableSchema<infer C, any> ? Readonly<Record<string, RowBuilder<C>>> : never;

export type ExactlyOne<P> = [keyof P] extends [infer Key]
  ? Key extends keyof P
    ? [keyof P] extends [Key]
      ? unknown
      : ScheduledWithSeveral
    : ScheduledWithSeveral
  : never;

interface ScheduledWithSeveral {
  readonly error: 'a scheduled function takes exactly one parameter: the row of its table';
}

/** A view must be public: only clients can read it. */
export interface ViewOptions {
  readonly name?: string;
  readonly public: true;
}

/** The declared result of a view: an array of rows, or one optional row. */
export type ViewReturns = AnyType & ({ readonly [elementType]: AnyType } | AnyOption);

type AnyOption = { readonly [outType]: object | undefined };

/** The types that the body of a view can return for `Returns`. */
export type ViewResult<Returns extends AnyType> = Returns extends {
  readonly [elementType]: infer Row extends AnyType;
}
  ? readonly Row[typeof inType][] | RowTypedQuery<Row[typeof outType], any>
  : Returns[typeof inType] | null;

export type View<S, Returns extends AnyType> = (ctx: ViewCtx<S>, args: Unit) => ViewResult<Returns>;

export type AnonymousView<S, Returns extends AnyType> = (
  ctx: AnonymousViewCtx<S>,
  args: Unit,
) => ViewResult<Returns>;

/** Key columns of the returned row: one at most. */
type KeyColumns<Returns> = Returns extends { readonly [elementType]: infer Row }
  ? RowKeys<Row>
  : never;

type RowKeys<Row> = Row extends { readonly [columnsType]: infer C extends Columns }
  ? { [Key in keyof C]: IsKey<C[Key]> extends true ? Key : never }[keyof C]
  : never;

type IsKey<B extends AnyBuilder> = TraitsOf<B> extends { primaryKey: true } ? true : false;

interface SeveralKeys<Names> {
  readonly error: 'the returned row may have one primaryKey() column at most';
  readonly columns: Names;
}

/** Nothing, or a last argument that cannot be passed and whose type is the error. */
export type ViewError<Returns> =
  IsUnion<KeyColumns<Returns>> extends true ? [SeveralKeys<KeyColumns<Returns>>] : [];

type IsUnion<T, All = T> = [T] extends [never]
  ? false
  : T extends unknown
    ? [All] extends [T]
      ? false
      : true
    : never;

/** The body of a procedure. It may be `async`. */
export type Procedure<S, P extends Params, R extends AnyType> = (
  ctx: ProcedureCtx<S>,
  args: ArgsOf<ParamsOf<P>>,
) => (R[typeof inType] & NotAsync) | Promise<R[typeof inType]>;

/** The body of a handler, which may be asynchronous: `R` is what it returns. */
export type HttpHandler<Ctx, R extends HandlerResult> = (ctx: Ctx, request: Request) => R;

export type HandlerResult = SyncResponse | Promise<SyncResponse>;

/** Options of a handler: its name, and whether it looks at the caller's token. */
export interface HandlerOptions<Auth extends 'optional' | 'required'> {
  readonly name?: string;
  /**
   * `'required'`: a request without a token is rejected. `'optional'`: only one with an invalid
   * token is. Without this, tokens are passed on unread.
   */
  readonly auth: Auth;
}

/** The context of a handler that declares `Auth`. */
export type ContextOf<S, Auth> = Auth extends 'required'
  ? AuthHandlerContext<S>
  : OptionalAuthHandlerContext<S>;
