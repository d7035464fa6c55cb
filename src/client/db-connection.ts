import { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import { type AlgebraicType, emptyTypespace, type ProductType } from '../values/type.ts';
import {
  type DbView,
  describedSchema,
  makeQueryBuilder,
  type ProcedureCalls,
  type QueryBuilder,
  type ReducerCalls,
  type RemoteModule,
  type SchemaDescription,
} from './bindings.ts';
import { ClientFunction, type ClientSchema } from './client-schema.ts';
import type { ReconnectOptions } from './connection-state.ts';
import type { Difference } from './contents.ts';
import type { ContextInterface, ErrorContextInterface, EventContextInterface } from './contexts.ts';
import { Core } from './core.ts';
import { type ReducerDbError, reducerName } from './errors.ts';
import type { Event } from './events.ts';
import { callMessage, FunctionCall, type FunctionKind } from './function-call.ts';
import { kept } from './kept.ts';
import type { Platform } from './platform.ts';
import { nested } from './query-roots.ts';
import type { CallOptions } from './requests.ts';
import type { CompressionChoice, OpenSocket } from './socket.ts';
import { introduce, SubscriptionBuilderImpl } from './subscription-builder.ts';
import { accessorOf, type LiveHandle, liveHandle, tellRows } from './table-handle.ts';

/** Callbacks that a builder and all its connections share. */
export interface ConnectionListeners {
  readonly connect: Set<(connection: any, identity: Identity, token: string) => void>;
  readonly connectError: Set<(ctx: any, error: Error) => void>;
  readonly disconnect: Set<(ctx: any, error?: Error) => void>;
}

/**
 * The options from which a builder makes a connection.
 *
 * @example
 * ```ts
 * const make = (config: DbConnectionConfig<RemoteModule>) => new DbConnectionImpl(config);
 * ```
 */
export interface DbConnectionConfig<RM extends RemoteModule> {
  readonly uri: URL;
  readonly nameOrAddress: string;
  readonly token: string | undefined;
  readonly compression: CompressionChoice;
  readonly lightMode: boolean;
  readonly confirmedReads: boolean | undefined;
  readonly reconnect: ReconnectOptions | undefined;
  readonly remoteModule: RM;
  readonly listeners: ConnectionListeners;
  readonly openSocket: OpenSocket;
  readonly platform: Platform;
}

/**
 * A connection with generated bindings. Made by the builder that `DbConnection.builder()` of the
 * bindings gives.
 *
 * @example
 * ```ts
 * const greet = (connection: DbConnectionImpl<RemoteModule>) => connection.identity?.toHexString();
 * ```
 */
export class DbConnectionImpl<RM extends RemoteModule> {
  readonly db: DbView<RM, EventContextInterface<RM>>;
  readonly reducers: ReducerCalls<RM>;
  readonly procedures: ProcedureCalls<RM>;
  /** Our own at first; replaced by the server's when it arrives. */
  connectionId: ConnectionId = ConnectionId.random();
  isDisconnectRequested = false;
  readonly #core: Core;
  readonly #config: DbConnectionConfig<RM>;
  readonly #handles = new Map<string, LiveHandle>();
  #wasConnected = false;

  constructor(config: DbConnectionConfig<RM>) {
    this.#config = config;
    const { uri, nameOrAddress, token, platform, remoteModule } = config;
    const schema = describedSchema(remoteModule);
    const { compression, lightMode, confirmedReads, reconnect, openSocket } = config;
    this.#core = new Core(
      {
        target: { uri, database: nameOrAddress, compression, lightMode, confirmedReads },
        token: () => token,
        reconnect,
        openSocket,
        platform,
        idleMillis: 25_000,
        queueMillis: 30_000,
        loadSchema: () => schema,
      },
      {
        changed: (difference, event) => this.#changed(difference, event),
        welcomed: (identity, issued) => this.#welcomed(identity, issued),
        lost: (wasOpen, error) => this.#lost(wasOpen, error),
      },
    );
    this.db = this.#tables(schema) as DbView<RM, EventContextInterface<RM>>;
    this.reducers = this.#calls(schema.reducers, 'reducer') as ReducerCalls<RM>;
    this.procedures = this.#calls(schema.procedures, 'procedure') as ProcedureCalls<RM>;
    introduce(this, {
      core: this.#core,
      remoteModule,
      // Generic here, it may have submodules; the compiler cannot tell.
      roots: this.getFromBuilder() as QueryBuilder<SchemaDescription>,
      context: (event) => this.#context(event),
      brokenSet: () => {
        if (reconnect === undefined) this.disconnect();
      },
    });
    this.#core.start();
  }

  /** True if the socket is open; the identity may not have arrived yet. */
  get isActive(): boolean {
    return this.#core.link.isOpen;
  }

  /** True if the connection is over, or about to be. */
  get isSocketClosed(): boolean {
    return this.#core.isClosed;
  }

  get identity(): Identity | undefined {
    return this.#core.link.identity;
  }

  /** The token that was given, else the one that the server issued. */
  get token(): string | undefined {
    return this.#core.link.token;
  }

  /** A property, because generated bindings override it with one. */
  subscriptionBuilder = (): SubscriptionBuilderImpl<RM> => new SubscriptionBuilderImpl<RM>(this);

  disconnect(): void {
    this.isDisconnectRequested = true;
    this.#core.link.close();
  }

  removeOnConnect(callback: (connection: any, identity: Identity, token: string) => void): void {
    this.#config.listeners.connect.delete(callback);
  }

  removeOnDisconnect(callback: (ctx: ErrorContextInterface<RM>, error?: Error) => void): void {
    this.#config.listeners.disconnect.delete(callback);
  }

  removeOnConnectError(callback: (ctx: ErrorContextInterface<RM>, error: Error) => void): void {
    this.#config.listeners.connectError.delete(callback);
  }

  /** Starting points of queries, as `subscribe` passes them to a function. */
  getFromBuilder(): QueryBuilder<SchemaDescription<RM['tables']>> {
    return makeQueryBuilder({ tables: this.#config.remoteModule.tables });
  }

  /** Calls a reducer by its name on the wire with encoded arguments. */
  callReducer(name: string, encodedArgs: Uint8Array, args?: object): Promise<void> {
    return this.#core.call<void>({
      kind: 'reducer',
      name,
      mayRepeat: false,
      message: (requestId) => callMessage('reducer', name, requestId, encodedArgs),
      info: () => args && { name, args },
    });
  }

  /** Calls a procedure by its name on the wire with encoded arguments; returns encoded bytes. */
  callProcedure(name: string, encodedArgs: Uint8Array): Promise<Uint8Array> {
    return this.#core.call<Uint8Array>({
      kind: 'procedure',
      name,
      mayRepeat: false,
      message: (requestId) => callMessage('procedure', name, requestId, encodedArgs),
      result: (returned) => returned.slice(),
    });
  }

  /** Calls a reducer by its name on the wire, with arguments of the type `params`. */
  callReducerWithParams(name: string, params: ProductType, args: object): Promise<void> {
    const called = calledBy(name, params, undefined);
    return this.#call('reducer', called, args, {}) as Promise<void>;
  }

  /** Calls a procedure likewise; its result has the type `returns`. */
  callProcedureWithParams(
    name: string,
    params: ProductType,
    args: object,
    returns: AlgebraicType,
  ): Promise<unknown> {
    return this.#call('procedure', calledBy(name, params, returns), args, {});
  }

  #tables(schema: ClientSchema): object {
    // Bindings can give a table a second, older accessor.
    const byName = new Map<string, LiveHandle>();
    const items = [...schema.tables.values()].map((table) => {
      const { accessor, name, indexes } = table.parts;
      const rows = () => this.#core.contents?.table(name);
      const live = kept(byName, name, () => liveHandle(rows));
      this.#handles.set(accessor, live);
      const accessors = indexes.map((index) => {
        return [index.accessor, accessorOf(table, index.accessor, rows)] as const;
      });
      // An index named like a method hides the method.
      return [accessor, Object.assign(live.handle, Object.fromEntries(accessors))] as const;
    });
    return nested(items);
  }

  #calls(functions: ClientSchema['reducers'], kind: FunctionKind): object {
    const items = [...functions].map(([accessor, called]) => {
      const call = (args?: unknown, options: CallOptions = {}) =>
        this.#call(kind, called, args, options);
      return [accessor, Object.assign(call, { [reducerName]: accessor })] as const;
    });
    return nested(items);
  }

  #call(
    kind: FunctionKind,
    called: ClientFunction,
    args: unknown,
    options: CallOptions,
  ): Promise<unknown> {
    const { accessor: name } = called.parts;
    const call = new FunctionCall({ kind, name, find: () => called }, args, options);
    return this.#core.call(call, options);
  }

  #context(event?: unknown): ContextInterface<RM> {
    const connection = this;
    return {
      ...(event !== undefined && { event }),
      db: this.db,
      reducers: this.reducers,
      procedures: this.procedures,
      get isActive() {
        return connection.isActive;
      },
      subscriptionBuilder: () => this.subscriptionBuilder(),
      disconnect: () => this.disconnect(),
    };
  }

  #changed(difference: Difference, event: Event): void {
    tellRows(difference, this.#handles, this.#context(event), this.#config.platform.report);
  }

  #welcomed(identity: Identity, issued: string): void {
    const state = this.#core.link.state.get();
    if (state.kind === 'live') this.connectionId = state.connectionId;
    this.#wasConnected = true;
    const token = this.token ?? issued;
    this.#tell(this.#config.listeners.connect, (callback) => callback(this, identity, token));
  }

  #lost(wasOpen: boolean, error: Error | undefined): void {
    const { connectError, disconnect } = this.#config.listeners;
    const ctx = this.#context(error);
    if (!this.#wasConnected && !wasOpen && !this.isDisconnectRequested) {
      const reason = error ?? new Error('the connection could not be made');
      this.#tell(connectError, (callback) => callback(ctx, reason));
    }
    // That it was closed is no error of the socket; the context says it.
    const isReported = wasOpen && (error as Partial<ReducerDbError>)?.code !== 'socket.closed';
    const told = isReported ? error : undefined;
    this.#tell(disconnect, (callback) => callback(ctx, told));
  }

  #tell<Callback>(callbacks: ReadonlySet<Callback>, run: (callback: Callback) => void): void {
    for (const callback of [...callbacks]) {
      try {
        run(callback);
      } catch (thrown) {
        this.#config.platform.report(thrown);
      }
    }
  }
}

/** A function that the bindings do not describe. */
function calledBy(name: string, params: ProductType, returns: AlgebraicType | undefined) {
  const parts = { name, accessor: name, params, returns, throws: undefined };
  return new ClientFunction({ ...parts, typespace: emptyTypespace });
}
