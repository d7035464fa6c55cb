import type { RowTypedQuery } from '../declare/query-types.ts';
import type { ConnectionState } from './connection-state.ts';
import type { DbConnectionImpl } from './db-connection.ts';
import type { Readable } from './observable.ts';
import type { PendingCall } from './requests.ts';
import { subscriberOf } from './subscription-builder.ts';
import type { WatchedQuery } from './watch.ts';
import { Watches } from './watches.ts';

/** The parts of a connection with generated bindings that user interfaces need. */
export interface ConnectionSource {
  readonly state: Readable<ConnectionState>;
  readonly pendingCalls: Readable<readonly PendingCall[]>;
  watch<R>(query: RowTypedQuery<R, any>): WatchedQuery<R>;
}

/**
 * The stores of a connection. They are here and not in its class, so that only programs that use
 * them load them.
 */
export function sourceOf(connection: DbConnectionImpl<any>): ConnectionSource {
  const { core } = subscriberOf(connection);
  const watches = core.watcher instanceof Watches ? core.watcher : new Watches(core);
  return {
    state: core.link.state,
    pendingCalls: core.requests.pending,
    watch: (query) => watches.watch(query),
  };
}
