import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useSyncExternalStore,
} from 'react';
import type { DbConnectionBuilder } from '../client/db-connection-builder.ts';
import {
  type SharedConnection,
  type SharedConnectionState,
  sharedConnectionOf,
  unconnected,
} from './shared-connection.ts';
import { outside, SourceContext } from './source.ts';

/**
 * Props of the provider of a connection with generated bindings. The builder must be the same
 * object in every render: make it outside the component, or with `useMemo`.
 *
 * @example
 * ```ts
 * const propsFor = (connectionBuilder: DbConnectionBuilder<any>): ConnectionProviderProps => {
 *   return { connectionBuilder };
 * };
 * ```
 */
export interface ConnectionProviderProps {
  readonly connectionBuilder: DbConnectionBuilder<any>;
  readonly children?: ReactNode;
}

const SharedContext = createContext<SharedConnection | undefined>(undefined);

/**
 * Connects with generated bindings, and provides the connection to the components in it. Providers
 * of the same address and database share one connection. It is reestablished when lost, and ends
 * when the last provider has been unmounted.
 *
 * @example
 * ```ts
 * const Connected = ({ connectionBuilder }: ConnectionProviderProps) =>
 *   createElement(ReducerDBProvider, { connectionBuilder }, 'hello');
 * ```
 */
export function ReducerDBProvider({
  connectionBuilder,
  children,
}: ConnectionProviderProps): ReactElement {
  const shared = sharedConnectionOf(connectionBuilder);
  useEffect(() => shared.retain(connectionBuilder), [shared, connectionBuilder]);
  const inner = createElement(SharedContext.Provider, { value: shared }, children);
  return createElement(SourceContext.Provider, { value: shared.source }, inner);
}

/**
 * The state of the connection of the nearest `ReducerDBProvider`, and the connection itself.
 *
 * @example
 * ```ts
 * function Me() {
 *   const { isActive, identity } = useConnection();
 *   return isActive ? identity?.toHexString() : '…';
 * }
 * ```
 */
export function useConnection(): SharedConnectionState {
  const shared = useShared();
  return useSyncExternalStore(shared.subscribe, shared.get, atFirst);
}

/** As rendered on the server, even if a connection exists here by now. */
const atFirst = () => unconnected;

export function useShared(): SharedConnection {
  const shared = useContext(SharedContext);
  if (shared === undefined) throw outside('a hook for generated bindings');
  return shared;
}
