import { useCallback, useSyncExternalStore } from 'react';
import type {
  ProcedureDescription,
  ProceduresByAccessor,
  ReducerDescription,
  ReducersByAccessor,
  ReducersDescription,
  RemoteModule,
  SchemaDescription,
} from '../client/bindings.ts';
import type { RowTypedQuery } from '../declare/query-types.ts';
import { useShared } from './connection-provider.ts';
import { disabled, type RowCallbacks, still, useWatched } from './use-watched.ts';

/**
 * Row callbacks of a component, and whether its query is enabled.
 *
 * @example
 * ```ts
 * const optionsFor = (isOpen: boolean): UseTableOptions<{ nick: string }> => ({ enabled: isOpen });
 * ```
 */
export interface UseTableOptions<R> extends RowCallbacks<R> {
  /** False: the query is not subscribed to, and there are no rows. */
  readonly enabled?: boolean | undefined;
}

/**
 * The rows of a query over generated bindings, in no guaranteed order, and whether they have
 * arrived. Once they have, they stay while the connection is lost.
 *
 * @example
 * ```ts
 * function Heroes() {
 *   const [heroes, isReady] = useTable(tables.hero.where((hero) => hero.level.gt(3)));
 *   return isReady ? heroes.map(({ nick }) => nick).join(', ') : '…';
 * }
 * ```
 */
export function useTable<R>(
  query: RowTypedQuery<R, any>,
  options: UseTableOptions<R> = {},
): [rows: readonly R[], isReady: boolean] {
  const { source } = useShared();
  const connection = useSyncExternalStore(source.subscribe, source.get, unconnected);
  const { enabled = true } = options;
  const watch = connection?.watch(query) ?? waiting;
  const { rows, isReady } = useWatched<R, R>(enabled ? watch : disabled, options);
  return [rows, isReady];
}

/** Before the provider has connected. */
const waiting = still({ rows: [], isReady: false, isStale: false });
const unconnected = () => undefined;

/** The call of one reducer, as the connection types it. */
type ReducerCall<D extends ReducerDescription<any, any>> = ReducersByAccessor<
  RemoteModule<SchemaDescription, ReducersDescription<readonly [D]>>
>[D['accessorName']];

type ProcedureCall<D extends ProcedureDescription<any, any, any>> = ProceduresByAccessor<
  RemoteModule<SchemaDescription, ReducersDescription, { readonly procedures: readonly [D] }>
>[D['accessorName']];

/**
 * The function that calls a reducer of generated bindings; always the same one. Calls made before
 * there is a connection wait for it.
 *
 * @example
 * ```ts
 * function Rename() {
 *   const rename = useReducer(reducers.rename);
 *   return createElement('button', { onClick: () => rename({ nick: 'Ada' }) }, 'Ada');
 * }
 * ```
 */
export function useReducer<D extends ReducerDescription<any, any>>(reducer: D): ReducerCall<D> {
  return useCall('reducers', reducer.accessorName) as ReducerCall<D>;
}

/**
 * The function that calls a procedure of generated bindings; always the same one.
 *
 * @example
 * ```ts
 * function Count() {
 *   const count = useProcedure(procedures.heroCount);
 *   return createElement('button', { onClick: async () => alert(await count()) }, 'How many?');
 * }
 * ```
 */
export function useProcedure<D extends ProcedureDescription<any, any, any>>(
  procedure: D,
): ProcedureCall<D> {
  return useCall('procedures', procedure.accessorName) as ProcedureCall<D>;
}

/** Functions of submodules are under their namespace, and so is their accessor. */
function useCall(kind: 'reducers' | 'procedures', path: string) {
  const shared = useShared();
  return useCallback(
    async (...args: readonly unknown[]) => {
      const connection = await shared.connected();
      const found = path.split('.').reduce((place, key) => place[key], connection[kind] as any);
      return found(...args);
    },
    [shared, kind, path],
  );
}
