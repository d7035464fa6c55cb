import type { RowTypedQuery } from '../declare/query-types.ts';
import type { QueryBuilder, RemoteModule, SchemaDescription } from './bindings.ts';
import type {
  ContextInterface,
  ErrorContextInterface,
  SubscriptionEventContextInterface,
} from './contexts.ts';
import type { Core } from './core.ts';
import { sqlOf } from './query-roots.ts';
import type { QuerySet } from './query-set.ts';

/** The argument of `subscribe`: SQL, a query, several of them, or a function of the query roots. */
export type Subscribable<RM extends RemoteModule> =
  | AnyQuery
  | readonly AnyQuery[]
  | ((from: QueryBuilder<SchemaDescription<RM['tables']>>) => AnyQuery | readonly AnyQuery[]);

type AnyQuery = string | RowTypedQuery<any, any>;

/** The part of a connection that subscriptions need. */
export interface Subscriber<RM extends RemoteModule> {
  readonly core: Core;
  readonly remoteModule: RM;
  readonly roots: QueryBuilder<SchemaDescription<RM['tables']>>;
  /** A context, with `event` if there is one. */
  context(event?: unknown): ContextInterface<RM>;
  /** Called when an applied set has failed: its connection cannot go on as it was. */
  brokenSet(): void;
}

/** Subscribers by connection: not accessible outside the library. */
const subscribers = new WeakMap<object, Subscriber<any>>();

export function introduce(connection: object, subscriber: Subscriber<any>): void {
  subscribers.set(connection, subscriber);
}

/** The subscriber of a connection; throws `TypeError` for anything else. */
export function subscriberOf(connection: object): Subscriber<any> {
  const subscriber = subscribers.get(connection);
  if (subscriber === undefined) throw new TypeError('expected a connection');
  return subscriber;
}

/**
 * Collects callbacks and then subscribes.
 *
 * @example
 * ```ts
 * const everyHero = (builder: SubscriptionBuilderImpl<RemoteModule>) =>
 *   builder.onApplied((ctx) => console.log(ctx.isActive)).subscribe('SELECT * FROM hero');
 * ```
 */
export class SubscriptionBuilderImpl<RM extends RemoteModule> {
  readonly #subscriber: Subscriber<RM>;
  #onApplied: ((ctx: SubscriptionEventContextInterface<RM>) => void) | undefined;
  #onError: ((ctx: ErrorContextInterface<RM>, error: Error) => void) | undefined;

  constructor(connection: object) {
    this.#subscriber = subscriberOf(connection) as Subscriber<RM>;
  }

  /** Called when the rows are in the cache. The last callback given counts. */
  onApplied(callback: (ctx: SubscriptionEventContextInterface<RM>) => void): this {
    this.#onApplied = callback;
    return this;
  }

  /**
   * Called when the server rejected the queries, or dropped them later. The last callback given
   * counts.
   */
  onError(callback: (ctx: ErrorContextInterface<RM>, error: Error) => void): this {
    this.#onError = callback;
    return this;
  }

  /** Subscribes to one set of queries, which are applied and ended together. */
  subscribe(queries: Subscribable<RM>): SubscriptionHandleImpl<RM> {
    const texts = sqlOf(queries, this.#subscriber.roots);
    return new SubscriptionHandleImpl<RM>(this.#subscriber, texts, {
      onApplied: this.#onApplied,
      onError: this.#onError,
    });
  }

  /** Subscribes to all tables and views of the bindings. */
  subscribeToAllTables(): void {
    const { core } = this.#subscriber;
    const names = [...(core.schema?.tablesByName.keys() ?? [])];
    this.subscribe(names.map((name) => `SELECT * FROM ${name}`));
  }
}

interface Callbacks<RM extends RemoteModule> {
  readonly onApplied: ((ctx: SubscriptionEventContextInterface<RM>) => void) | undefined;
  readonly onError: ((ctx: ErrorContextInterface<RM>, error: Error) => void) | undefined;
}

/**
 * A set of queries that is kept up to date until it is ended.
 *
 * @example
 * ```ts
 * const end = (handle: SubscriptionHandleImpl<RemoteModule>) => {
 *   if (!handle.isEnded()) handle.unsubscribe();
 * };
 * ```
 */
export class SubscriptionHandleImpl<RM extends RemoteModule> {
  readonly #subscriber: Subscriber<RM>;
  readonly #set: QuerySet;
  #isLeaving = false;
  #onLeft: ((ctx: SubscriptionEventContextInterface<RM>) => void) | undefined;

  constructor(subscriber: Subscriber<RM>, texts: readonly string[], callbacks: Callbacks<RM>) {
    this.#subscriber = subscriber;
    const context = () => subscriber.context() as SubscriptionEventContextInterface<RM>;
    this.#set = subscriber.core.subscribe(() => texts, {
      applied: () => callbacks.onApplied?.(context()),
      left: () => this.#onLeft?.(context()),
      failed: (error, wasApplied) => {
        try {
          callbacks.onError?.(subscriber.context(error) as ErrorContextInterface<RM>, error);
        } finally {
          if (wasApplied) subscriber.brokenSet();
        }
      },
    });
  }

  /** True if the rows are in the cache. */
  isActive(): boolean {
    return this.#set.wasApplied && !this.isEnded();
  }

  /** True if the subscription was ended and the server confirmed it, or if it failed. */
  isEnded(): boolean {
    return this.#set.status === 'ended';
  }

  /** Ends the subscription. Throws if that was requested before. */
  unsubscribe(): void {
    if (this.#isLeaving) throw new Error('Unsubscribe has already been called');
    this.#isLeaving = true;
    this.#subscriber.core.unsubscribe(this.#set);
  }

  /** Ends the subscription and calls back when the server has confirmed it. */
  unsubscribeThen(callback: (ctx: SubscriptionEventContextInterface<RM>) => void): void {
    if (this.#isLeaving) throw new Error('Unsubscribe has already been called');
    if (this.isEnded()) throw new Error('Subscription has already ended');
    this.#onLeft = callback;
    this.unsubscribe();
  }
}
