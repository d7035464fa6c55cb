import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import type { ConnectionState } from '../client/connection-state.ts';
import type { PendingCall } from '../client/requests.ts';
import { Online } from './online.ts';
import { constant, type Source, useNearestSource } from './source.ts';
import { useLatest } from './use-watched.ts';

/**
 * The state of the connection. `offline`: there seems to be no network.
 *
 * @example
 * ```ts
 * const textOf = ({ kind, offline }: ConnectionStatus) => (offline ? 'no network' : kind);
 * ```
 */
export type ConnectionStatus = ConnectionState & { readonly offline: boolean };

/**
 * Callbacks for the loss and the return of the connection.
 *
 * @example
 * ```ts
 * const options: UseOnlineOptions = { onLost: () => console.warn('offline'), graceMillis: 3_000 };
 * ```
 */
export interface UseOnlineOptions {
  readonly onLost?: (() => void) | undefined;
  readonly onBack?: (() => void) | undefined;
  /** A shorter loss does not count; default 1,000. */
  readonly graceMillis?: number | undefined;
}

/** Hooks for the state of a connection, whichever `useSource` finds. */
export function statusHooks(useSource: () => Source | undefined) {
  return {
    useConnectionState(): ConnectionStatus {
      const state = useSource()?.state ?? starting;
      return statusOf(useSyncExternalStore(state.subscribe, state.get, starting.get));
    },

    usePendingCalls(): readonly PendingCall[] {
      const calls = useSource()?.pendingCalls ?? noCalls;
      return useSyncExternalStore(calls.subscribe, calls.get, noCalls.get);
    },

    useOnline(options: UseOnlineOptions = {}): boolean {
      const { graceMillis = 1_000 } = options;
      const state = useSource()?.state ?? starting;
      const online = useMemo(() => new Online(state, graceMillis), [state, graceMillis]);
      const isOnline = useSyncExternalStore(online.subscribe, online.get, yes);
      const latest = useLatest(options);
      const wasOnline = useRef(true);
      useEffect(() => {
        if (wasOnline.current === isOnline) return;
        wasOnline.current = isOnline;
        const { onLost, onBack } = latest.current;
        if (isOnline) onBack?.();
        else onLost?.();
      }, [isOnline, latest]);
      return isOnline;
    },
  };
}

const nearest = statusHooks(useNearestSource);

/**
 * The state of the connection of the nearest provider.
 *
 * @example
 * ```ts
 * function Banner() {
 *   const { kind } = useConnectionState();
 *   return kind === 'waiting' ? 'no connection' : null;
 * }
 * ```
 */
export const useConnectionState: () => ConnectionStatus = nearest.useConnectionState;

/**
 * The calls of the nearest provider's connection without an answer so far, in order.
 *
 * @example
 * ```ts
 * function Spinner() {
 *   return usePendingCalls().length > 0 ? '…' : null;
 * }
 * ```
 */
export const usePendingCalls: () => readonly PendingCall[] = nearest.usePendingCalls;

/**
 * Whether the nearest provider is connected; short losses do not count.
 *
 * @example
 * ```ts
 * function Light() {
 *   const isOnline = useOnline({ onBack: () => console.log('back'), graceMillis: 2_000 });
 *   return isOnline ? 'on' : 'off';
 * }
 * ```
 */
export const useOnline: (options?: UseOnlineOptions) => boolean = nearest.useOnline;

/** The state that a server renders and a browser starts with: not connected yet. */
const starting = constant<ConnectionState>({ kind: 'connecting', attempt: 0 });
const noCalls = constant<readonly PendingCall[]>([]);
const yes = () => true;

const statuses = new WeakMap<ConnectionState, ConnectionStatus>();

/** The status of a state; the same object for the same state. */
function statusOf(state: ConnectionState): ConnectionStatus {
  let status = statuses.get(state);
  if (status === undefined) {
    status = { offline: false, ...state };
    statuses.set(state, status);
  }
  return status;
}
