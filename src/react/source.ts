import { createContext, useContext, useSyncExternalStore } from 'react';
import type { ConnectionState } from '../client/connection-state.ts';
import type { Readable } from '../client/observable.ts';
import type { PendingCall } from '../client/requests.ts';

/** The parts of a connection that the hooks for its state need. */
export interface Source {
  readonly state: Readable<ConnectionState>;
  readonly pendingCalls: Readable<readonly PendingCall[]>;
}

/** The connection of the nearest provider of any kind; a store, because it may not exist yet. */
export const SourceContext = createContext<Readable<Source | undefined> | undefined>(undefined);

export function useNearestSource(): Source | undefined {
  const source = useContext(SourceContext);
  if (source === undefined) throw outside('a hook of reducerdb/react');
  return useSyncExternalStore(source.subscribe, source.get, nothing);
}

/** A store of a value that never changes. */
export function constant<Value>(value: Value): Readable<Value> {
  return { get: () => value, subscribe: () => () => {} };
}

export function outside(what: string): Error {
  return new Error(`${what} needs a provider around its component`);
}

const nothing = () => undefined;
