import { type ConnectionSource, sourceOf } from '../client/connection-source.ts';
import type { ConnectionState } from '../client/connection-state.ts';
import type { DbConnectionImpl } from '../client/db-connection.ts';
import type { DbConnectionBuilder } from '../client/db-connection-builder.ts';
import type { Readable } from '../client/observable.ts';
import { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';

/** A builder for a connection with any generated bindings. */
export type AnyBuilder = DbConnectionBuilder<DbConnectionImpl<any>>;

/**
 * The state of a provider's connection.
 *
 * @example
 * ```ts
 * const whoIs = ({ identity }: SharedConnectionState) => identity?.toHexString() ?? 'nobody yet';
 * ```
 */
export interface SharedConnectionState {
  /** True if connected and the identity is known. */
  readonly isActive: boolean;
  readonly identity?: Identity;
  readonly token?: string;
  /** All zero until received from the server. */
  readonly connectionId: ConnectionId;
  /** Why there is no connection. */
  readonly connectionError?: Error;
  /** `null` until the provider is on the screen. */
  getConnection<Connection extends DbConnectionImpl<any>>(): Connection | null;
}

interface Used {
  readonly connection: DbConnectionImpl<any>;
  readonly source: ConnectionSource;
}

/**
 * One connection for all providers with the same address and database. It is opened for the first
 * one and closed a moment after the last one has been unmounted: mounting again at once keeps it.
 *
 * ```text
 * unused ─ retain ─▶ used ─ last release ─▶ leaving ─ a tick ─▶ unused
 * leaving ─ retain ─▶ used
 * ```
 */
export class SharedConnection implements Readable<SharedConnectionState> {
  readonly source: Readable<ConnectionSource | undefined>;
  readonly #listeners = new Set<() => void>();
  #users = 0;
  #used: Used | undefined;
  #state: SharedConnectionState = unconnected;
  #stop = () => {};

  constructor() {
    this.source = { get: () => this.#used?.source, subscribe: this.subscribe };
  }

  get = (): SharedConnectionState => this.#state;

  subscribe = (changed: () => void): (() => void) => {
    const listener = () => changed();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /**
   * Resolves with the connection once there is one. Waiting callers resume in the order of their
   * calls.
   */
  async connected(): Promise<DbConnectionImpl<any>> {
    if (this.#used !== undefined) return this.#used.connection;
    return new Promise((resolve) => {
      const stop = this.subscribe(() => {
        if (this.#used === undefined) return;
        stop();
        resolve(this.#used.connection);
      });
    });
  }

  /**
   * Keeps the connection until the returned function is called; `builder` opens it if necessary.
   */
  retain(builder: AnyBuilder): () => void {
    this.#users += 1;
    if (this.#used === undefined) this.#begin(builder);
    return () => {
      this.#users -= 1;
      setTimeout(() => {
        if (this.#users === 0) this.#end();
      }, 0);
    };
  }

  #begin(builder: AnyBuilder): void {
    if (builder.getReconnect() === undefined) builder.withReconnect(patient);
    const connection = builder.build();
    const source = sourceOf(connection);
    this.#used = { connection, source };
    this.#stop = source.state.subscribe(() => this.#look());
    this.#look();
  }

  #end(): void {
    this.#stop();
    this.#used?.connection.disconnect();
    this.#used = undefined;
    this.#set(unconnected);
  }

  #look(): void {
    if (this.#used === undefined) return;
    const { connection, source } = this.#used;
    const state = source.state.get();
    const { identity, token } = connection;
    const connectionError = errorOf(state, this.#state);
    this.#set({
      isActive: state.kind === 'live',
      ...(identity && { identity }),
      ...(token !== undefined && { token }),
      connectionId: state.kind === 'live' ? state.connectionId : this.#state.connectionId,
      ...(connectionError && { connectionError }),
      // The program's bindings know the class of their connection.
      getConnection: () => connection as never,
    });
  }

  #set(state: SharedConnectionState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A new attempt to connect does not clear the previous error. */
function errorOf(state: ConnectionState, before: SharedConnectionState): Error | undefined {
  if (state.kind === 'live') return undefined;
  return state.kind === 'connecting' ? before.connectionError : state.error;
}

/** From one second up to half a minute. */
const patient = { firstDelayMillis: 1_000, maxDelayMillis: 30_000, jitter: 0 };

export const unconnected: SharedConnectionState = {
  isActive: false,
  connectionId: new ConnectionId(0n),
  getConnection: () => null,
};

const shared = new Map<string, SharedConnection>();

/** The shared connection for the builder's address and database; costs nothing until retained. */
export function sharedConnectionOf(builder: AnyBuilder): SharedConnection {
  const key = `${builder.getUri()} ${builder.getModuleName()}`;
  let known = shared.get(key);
  if (known === undefined) {
    known = new SharedConnection();
    shared.set(key, known);
  }
  return known;
}
