import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useMemo,
} from 'react';
import type { Client } from '../client/client.ts';
import type { ClientProcedures, ClientReducers, QueryInput } from '../client/module-types.ts';
import type { PendingCall } from '../client/requests.ts';
import type { WatchedQuery, WatchedRows, WatchOptions } from '../client/watch.ts';
import { constant, outside, SourceContext } from './source.ts';
import { type ConnectionStatus, statusHooks, type UseOnlineOptions } from './status.ts';
import { disabled, firstRows, type RowCallbacks, useWatched } from './use-watched.ts';

/**
 * Options of a query in a component that suspends until its rows have arrived.
 *
 * @example
 * ```ts
 * const options: UseSuspenseQueryOptions<{ nick: string }, string> = {
 *   sort: (a, b) => a.nick.localeCompare(b.nick),
 *   limit: 10,
 *   select: ({ nick }) => nick,
 * };
 * ```
 */
export interface UseSuspenseQueryOptions<R, Out = R>
  extends WatchOptions<R, Out>,
    RowCallbacks<R> {}

/**
 * Options of a query in a component.
 *
 * @example
 * ```ts
 * const optionsFor = (isOpen: boolean): UseQueryOptions<{ nick: string }> => ({ enabled: isOpen });
 * ```
 */
export interface UseQueryOptions<R, Out = R> extends UseSuspenseQueryOptions<R, Out> {
  /** False: the query is not subscribed to, and there are no rows. */
  readonly enabled?: boolean | undefined;
  /**
   * Default true: while a changed query loads, the rows of the previous one stay, marked as stale.
   */
  readonly keepPrevious?: boolean | undefined;
}

/**
 * Props of the provider of a module's hooks. The program owns the client: the provider neither
 * creates nor disconnects it.
 *
 * @example
 * ```ts
 * const propsFor = (connected: Client<typeof tavern>): ProviderProps<typeof tavern> => {
 *   return { client: connected };
 * };
 * ```
 */
export interface ProviderProps<M> {
  readonly client: Client<M>;
  readonly children?: ReactNode;
}

/**
 * Hooks that know a module: its tables, reducers and procedures.
 *
 * @example
 * ```ts
 * const hooks: Hooks<typeof tavern> = createHooks<typeof tavern>();
 * ```
 */
export interface Hooks<M> {
  /** Provides the client to the components in it. */
  Provider(props: ProviderProps<M>): ReactElement;
  useClient(): Client<M>;
  /** The rows of a query as they are now. */
  useQuery<R, Out = R>(
    query: QueryInput<M, R>,
    options?: UseQueryOptions<R, Out>,
  ): WatchedRows<Out>;
  /** Like `useQuery`, for components in a `Suspense`: they wait for the first rows. */
  useSuspenseQuery<R, Out = R>(
    query: QueryInput<M, R>,
    options?: UseSuspenseQueryOptions<R, Out>,
  ): readonly Out[];
  /** The function that calls a reducer; always the same one. */
  useReducer<Call>(pick: (reducers: ClientReducers<M>) => Call): Call;
  /** The function that calls a procedure; always the same one. */
  useProcedure<Call>(pick: (procedures: ClientProcedures<M>) => Call): Call;
  useConnectionState(): ConnectionStatus;
  /** Calls without an answer so far, in order. */
  usePendingCalls(): readonly PendingCall[];
  /** Whether the client is connected; short losses do not count. */
  useOnline(options?: UseOnlineOptions): boolean;
}

/**
 * Hooks for a database, typed by its module: `import type * as tavern from '../server/module'`.
 * Create them once, beside the client.
 *
 * @example
 * ```ts
 * const { Provider, useQuery, useReducer } = createHooks<typeof tavern>();
 * function Heroes() {
 *   const { rows } = useQuery((q) => q.hero.where((hero) => hero.level.gt(3)));
 *   const rename = useReducer((reducers) => reducers.rename);
 *   return rows.map(({ nick }) => nick).join(', ');
 * }
 * ```
 */
export function createHooks<M>(): Hooks<M> {
  const Context = createContext<Client<M> | undefined>(undefined);
  const useClient = () => {
    const client = useContext(Context);
    if (client === undefined) throw outside('a hook of `createHooks`');
    return client;
  };
  return {
    Provider: ({ client, children }) => {
      const source = useMemo(() => constant(client), [client]);
      const inner = createElement(Context.Provider, { value: client }, children);
      return createElement(SourceContext.Provider, { value: source }, inner);
    },
    useClient,
    useQuery: (query, options = {}) => {
      const client = useClient();
      const { enabled = true } = options;
      return useWatched(enabled ? watched(client, query, options) : disabled, options);
    },
    useSuspenseQuery: (query, options = {}) => {
      const watch = watched(useClient(), query, options);
      const { rows, error } = useWatched(watch, options);
      if (error !== undefined) throw error;
      // Checks the query itself: rows of the previous query are not enough to render.
      if (!watch.get().isReady) throw firstRows(watch);
      return rows;
    },
    useReducer: (pick) => pick(useClient().reducers),
    useProcedure: (pick) => pick(useClient().procedures),
    ...statusHooks(useClient),
  };
}

/** The unshaped rows: each component sorts and selects on its own, the subscription is shared. */
function watched<M, R>(
  client: Client<M>,
  query: QueryInput<M, R>,
  { params, keepMillis, initial }: WatchOptions<R, unknown>,
): WatchedQuery<R> {
  return client.watch<R>(query, { params, keepMillis, initial });
}
