'use client';

/**
 * Hooks for React over `reducerdb/client`. `createHooks` types them by the module itself;
 * `ReducerDBProvider` and the hooks beside it are for generated bindings.
 *
 * The directive above is for frameworks that render on servers: this entry is client code.
 *
 * @module
 */
export {
  type ConnectionProviderProps,
  ReducerDBProvider,
  ReducerDBProvider as SpacetimeDBProvider,
  useConnection,
  useConnection as useSpacetimeDB,
} from './connection-provider.ts';
export {
  createHooks,
  type Hooks,
  type ProviderProps,
  type UseQueryOptions,
  type UseSuspenseQueryOptions,
} from './create-hooks.ts';
export { type UseTableOptions, useProcedure, useReducer, useTable } from './described-hooks.ts';
export type { SharedConnectionState } from './shared-connection.ts';
export {
  type ConnectionStatus,
  type UseOnlineOptions,
  useConnectionState,
  useOnline,
  usePendingCalls,
} from './status.ts';
export type { RowCallbacks } from './use-watched.ts';
