import type { DbView, ProcedureCalls, ReducerCalls, RemoteModule } from './bindings.ts';
import type { Event } from './events.ts';
import type { SubscriptionBuilderImpl } from './subscription-builder.ts';

/**
 * The first argument of every callback of a connection with generated bindings.
 *
 * @example
 * ```ts
 * const isOpen = (ctx: DbContext<RemoteModule>) => ctx.isActive;
 * ```
 */
export interface ContextInterface<RM extends RemoteModule> {
  readonly db: DbView<RM, EventContextInterface<RM>>;
  readonly reducers: ReducerCalls<RM>;
  readonly procedures: ProcedureCalls<RM>;
  /** True if the socket is open. */
  readonly isActive: boolean;
  subscriptionBuilder(): SubscriptionBuilderImpl<RM>;
  disconnect(): void;
}

/**
 * The context of row callbacks; `event` says why the rows changed.
 *
 * @example
 * ```ts
 * const tagOf = (ctx: EventContextInterface<RemoteModule>) => ctx.event.tag;
 * ```
 */
export interface EventContextInterface<RM extends RemoteModule> extends ContextInterface<RM> {
  readonly event: Event;
}

/**
 * The context of callbacks of calls.
 *
 * @example
 * ```ts
 * const idOf = (ctx: ReducerEventContextInterface<RemoteModule>) => ctx.event.id;
 * ```
 */
export interface ReducerEventContextInterface<RM extends RemoteModule>
  extends ContextInterface<RM> {
  readonly event: Event;
}

/**
 * The context of `onApplied` and `unsubscribeThen`.
 *
 * @example
 * ```ts
 * const isOpen = (ctx: SubscriptionEventContextInterface<RemoteModule>) => ctx.isActive;
 * ```
 */
export interface SubscriptionEventContextInterface<RM extends RemoteModule>
  extends ContextInterface<RM> {
  readonly event?: undefined;
}

/**
 * The context of `onError` and of errors of the connection.
 *
 * @example
 * ```ts
 * const textOf = (ctx: ErrorContextInterface<RemoteModule>) => ctx.event?.message;
 * ```
 */
export interface ErrorContextInterface<RM extends RemoteModule> extends ContextInterface<RM> {
  readonly event?: Error;
}
