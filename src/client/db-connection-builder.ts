import type { Identity } from '../values/identity.ts';
import type { RemoteModule } from './bindings.ts';
import type { ReconnectOptions } from './connection-state.ts';
import type { ErrorContextInterface } from './contexts.ts';
import { factorySockets, type SocketFactory } from './custom-socket.ts';
import type { ConnectionListeners, DbConnectionConfig, DbConnectionImpl } from './db-connection.ts';
import { type Platform, platform } from './platform.ts';
import { type CompressionChoice, type OpenSocket, uriIn, webSockets } from './socket.ts';

/** The bindings behind a connection's class. */
export type RemoteModuleOf<Connection> =
  Connection extends DbConnectionImpl<infer RM> ? RM : RemoteModule;

/**
 * Collects the options of a connection and opens it. Callbacks belong to the builder: all
 * connections that it builds share them.
 *
 * @example
 * ```ts
 * const connectTo = (builder: DbConnectionBuilder<DbConnectionImpl<RemoteModule>>) =>
 *   builder.withUri('ws://localhost:3000').withDatabaseName('tavern').build();
 * ```
 */
export class DbConnectionBuilder<Connection extends DbConnectionImpl<any>> {
  readonly #remoteModule: RemoteModuleOf<Connection>;
  readonly #make: (config: DbConnectionConfig<any>) => Connection;
  readonly #listeners: ConnectionListeners = {
    connect: new Set(),
    connectError: new Set(),
    disconnect: new Set(),
  };
  #uri: URL | undefined;
  #database = '';
  #token: string | undefined;
  #compression: CompressionChoice = 'gzip';
  #lightMode = false;
  #confirmedReads: boolean | undefined;
  #reconnect: ReconnectOptions | undefined;
  #platform: Platform = platform;
  #openSocket: OpenSocket | undefined;

  constructor(
    remoteModule: RemoteModuleOf<Connection>,
    make: (config: DbConnectionConfig<any>) => Connection,
  ) {
    this.#remoteModule = remoteModule;
    this.#make = make;
  }

  /** `http`, `https`, `ws` or `wss`. Throws at once if it is not such a URL. */
  withUri(uri: string | URL): this {
    this.#uri = uriIn(uri);
    return this;
  }

  /** The database's name or identity. */
  withDatabaseName(nameOrIdentity: string): this {
    this.#database = nameOrIdentity;
    return this;
  }

  /** @deprecated The older name of `withDatabaseName`. */
  withModuleName(nameOrIdentity: string): this {
    return this.withDatabaseName(nameOrIdentity);
  }

  /** Identifies the client; without a token, the server issues a new identity. */
  withToken(token?: string): this {
    this.#token = token;
    return this;
  }

  /** Default `gzip`. Throws `TypeError` if the platform cannot decompress `brotli`. */
  withCompression(compression: CompressionChoice): this {
    if (compression === 'brotli' && !this.#platform.canDecompress('brotli')) {
      throw new TypeError('this platform cannot decompress brotli');
    }
    this.#compression = compression;
    return this;
  }

  withLightMode(lightMode: boolean): this {
    this.#lightMode = lightMode;
    return this;
  }

  /** Receive changes only when they are durable. By default the server decides. */
  withConfirmedReads(confirmedReads: boolean): this {
    this.#confirmedReads = confirmedReads;
    return this;
  }

  /** Reestablishes a lost connection. Off by default. */
  withReconnect(options: ReconnectOptions = {}): this {
    this.#reconnect = options;
    return this;
  }

  /** Uses sockets provided by the program. */
  withWSFn(factory: SocketFactory): this {
    this.#openSocket = factorySockets(factory);
    return this;
  }

  onConnect(callback: (connection: Connection, identity: Identity, token: string) => void): this {
    this.#listeners.connect.add(callback);
    return this;
  }

  /** Called when a socket cannot be opened and there was no connection before. */
  onConnectError(
    callback: (ctx: ErrorContextInterface<RemoteModuleOf<Connection>>, error: Error) => void,
  ): this {
    this.#listeners.connectError.add(callback);
    return this;
  }

  /**
   * Called whenever a socket is closed or lost. `ctx.event` says why, if that is known: one with
   * the code `socket.closed` has the server's code and text in `cause`. Where `isSocketClosed` of
   * the connection is false, it comes back by itself.
   */
  onDisconnect(
    callback: (ctx: ErrorContextInterface<RemoteModuleOf<Connection>>, error?: Error) => void,
  ): this {
    this.#listeners.disconnect.add(callback);
    return this;
  }

  getUri(): string {
    return String(this.#uri ?? '');
  }

  getModuleName(): string {
    return this.#database;
  }

  /** `undefined`: a lost connection is not reestablished. */
  getReconnect(): ReconnectOptions | undefined {
    return this.#reconnect;
  }

  /** Starts to connect and returns the connection. */
  build(): Connection {
    if (this.#uri === undefined) throw new Error('URI is required to connect to SpacetimeDB');
    if (this.#database === '') {
      throw new Error('Database name or address is required to connect to SpacetimeDB');
    }
    const version = this.#remoteModule.versionInfo?.cliVersion;
    if (!/^\d+\.\d+\.\d+/.test(version ?? '')) {
      throw new Error('The generated bindings lack their version: generate them again');
    }
    const on = this.#platform;
    const canUndo = this.#compression === 'none' || on.canDecompress(this.#compression);
    return this.#make({
      uri: this.#uri,
      nameOrAddress: this.#database,
      token: this.#token,
      compression: canUndo ? this.#compression : 'none',
      lightMode: this.#lightMode,
      confirmedReads: this.#confirmedReads,
      reconnect: this.#reconnect,
      remoteModule: this.#remoteModule,
      listeners: this.#listeners,
      openSocket: this.#openSocket ?? webSockets(on),
      platform: on,
    });
  }
}
