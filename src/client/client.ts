import type { RowTypedQuery } from '../declare/query-types.ts';
import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { ClientFunction, ClientSchema, RawSchema, Row } from './client-schema.ts';
import type { ConnectionState, ReconnectOptions } from './connection-state.ts';
import type { Difference } from './contents.ts';
import { Core, type CoreOptions, type Face } from './core.ts';
import { SchemaMismatchError } from './errors.ts';
import type { Event } from './events.ts';
import { FunctionCall, type FunctionKind } from './function-call.ts';
import { kept } from './kept.ts';
import { lateCalls, lateTables } from './late-handles.ts';
import type {
  ClientContext,
  ClientDb,
  ClientProcedures,
  ClientReducers,
  QueryInput,
  QueryRoots,
} from './module-types.ts';
import type { Readable } from './observable.ts';
import type { Snapshot } from './page-snapshot.ts';
import { type Platform, platform, type WebSocketClass } from './platform.ts';
import { listOf, rootsOf, sqlOf, withValues } from './query-roots.ts';
import type { QuerySet } from './query-set.ts';
import type { CallOptions, PendingCall } from './requests.ts';
import { computedTables, schemaFromJson } from './schema-from-json.ts';
import { type KeyValue, schemaSource } from './schema-loader.ts';
import { type CompressionChoice, type OpenSocket, webSockets } from './socket.ts';
import type { SqlParameters } from './sql-parameters.ts';
import { type LiveHandle, liveHandle, tellRows } from './table-handle.ts';
import type { WatchedQuery, WatchOptions } from './watch.ts';
import { Watches } from './watches.ts';

/**
 * How to connect. Only `uri` and `database` are required.
 *
 * @example
 * ```ts
 * const options: ConnectOptions = { uri: 'ws://localhost:3000', database: 'tavern' };
 * ```
 */
export interface ConnectOptions {
  /**
   * `http`, `https`, `ws` or `wss`; several for the hosts of a cluster: when one is lost, the next
   * one is tried, and those that it has named.
   */
  readonly uri: string | URL | readonly (string | URL)[];
  /** The database's name or identity. */
  readonly database: string;
  /**
   * Identifies the client; a function is called for every connection. Without a token, the server
   * issues a new identity.
   */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Called with the token that the server issued, if none was given. */
  readonly saveToken?: ((token: string) => void) | undefined;
  /** Default `gzip`, where the platform can decompress it. */
  readonly compression?: CompressionChoice | undefined;
  /** True: receive changes only when they are durable. By default the server decides. */
  readonly confirmedReads?: boolean | undefined;
  readonly lightMode?: boolean | undefined;
  /** For platforms without a `WebSocket`. */
  readonly webSocket?: WebSocketClass | undefined;
  /** The response of the schema endpoint. Without it, the endpoint is fetched. */
  readonly schema?: RawSchema | undefined;
  /** Caches the schema endpoint's response: tables have names before the network is available. */
  readonly schemaCache?: KeyValue | undefined;
  /** Rows read elsewhere, shown until the server's have arrived: see `preload`. */
  readonly snapshot?: Snapshot | undefined;
  /** False: a lost connection is not retried. */
  readonly reconnect?: false | ReconnectOptions | undefined;
  /**
   * Called when the database has lost commits that this client had seen, as it can without
   * `confirmedReads`; the changes to the rows were reported.
   */
  readonly onRewound?: (() => void) | undefined;
  /** How long a call waits to be sent while there is no connection; default 30,000. */
  readonly queueMillis?: number | undefined;
  /** How long the server can be silent before it is pinged; default 25,000. */
  readonly idleMillis?: number | undefined;
}

/**
 * Callbacks of a subscription.
 *
 * @example
 * ```ts
 * const listener: SubscriptionListener = { onError: (failure) => console.warn(failure.message) };
 * client.subscribe((q) => q.hero, listener);
 * ```
 */
export interface SubscriptionListener {
  /** Values for the `:name`s of SQL texts. */
  readonly params?: SqlParameters | undefined;
  /** Called when its rows are in the cache. */
  readonly onApplied?: (() => void) | undefined;
  /** Called when the server rejected it or dropped it later. */
  readonly onError?: ((error: Error) => void) | undefined;
}

/**
 * How long to wait for an answer, and the values of the query's parameters.
 *
 * @example
 * ```ts
 * const options: QueryOptions = { params: { room: 'hall' }, timeoutMillis: 5_000 };
 * ```
 */
export interface QueryOptions extends CallOptions {
  /** Values for the `:name`s of a SQL text. */
  readonly params?: SqlParameters | undefined;
}

/**
 * Queries that are kept up to date until `unsubscribe`.
 *
 * @example
 * ```ts
 * const subscription: Subscription = client.subscribe((q) => q.hero);
 * await subscription.applied;
 * subscription.unsubscribe();
 * ```
 */
export interface Subscription {
  readonly isActive: boolean;
  readonly isEnded: boolean;
  /** Resolves when the rows are in the cache, rejects when the queries are rejected. */
  readonly applied: Promise<void>;
  unsubscribe(): void;
}

type AnyQuery = string | RowTypedQuery<any, any>;

/**
 * A connection to one database. `M` is the type of its module.
 *
 * @example
 * ```ts
 * const nickOf = (connected: Client<typeof tavern>) => [...connected.db.hero][0]?.nick;
 * ```
 */
export interface Client<M> {
  readonly state: Readable<ConnectionState>;
  readonly identity: Identity | undefined;
  readonly connectionId: ConnectionId | undefined;
  /** The token that was given, else the one that the server issued. */
  readonly token: string | undefined;
  /** The cached rows, by table. */
  readonly db: ClientDb<M>;
  readonly reducers: ClientReducers<M>;
  readonly procedures: ClientProcedures<M>;
  /** Calls without an answer, in order. */
  readonly pendingCalls: Readable<readonly PendingCall[]>;
  /** Keeps the rows of one or several queries in the cache. */
  subscribe(
    queries:
      | QueryInput<M>
      | readonly QueryInput<M>[]
      | ((from: QueryRoots<M>) => readonly AnyQuery[]),
    listener?: SubscriptionListener,
  ): Subscription;
  /** Runs a query once. The rows are not added to the cache. */
  query<R>(query: QueryInput<M, R>, options?: QueryOptions): Promise<R[]>;
  /** The rows of a query as a store; equal queries share one subscription. */
  watch<R = Row, Out = R>(
    query: QueryInput<M, R>,
    options?: WatchOptions<NoInfer<R>, Out>,
  ): WatchedQuery<Out, R>;
  /** Ends the wait for the next attempt to connect. */
  retryNow(): void;
  /** Ends the connection permanently. */
  disconnect(): void;
}

/**
 * Connects to a database, typed by its module: `import type * as tavern from '../server/module'`.
 * The connection is kept, and reestablished when lost; subscriptions and rows stay.
 *
 * @example
 * ```ts
 * const tavernClient = connect<typeof tavern>({ uri: 'ws://localhost:3000', database: 'tavern' });
 * tavernClient.subscribe((q) => q.hero.where((hero) => hero.level.gt(3)));
 * await tavernClient.reducers.rename({ nick: 'Ada' });
 * ```
 */
export function connect<M>(options: ConnectOptions): Client<M> {
  return connectOn<M>(options, platform);
}

/** Connects on another platform or over other sockets. */
export function connectOn<M>(
  options: ConnectOptions,
  on: Platform,
  openSocket: OpenSocket = webSockets(on, options.webSocket),
): Client<M> {
  const client = new ModuleClient(options, on, openSocket);
  client.start();
  return client as unknown as Client<M>;
}

/** The schema of a client's database, if known by now. */
export function schemaOf(client: Client<any>): ClientSchema | undefined {
  // The interface has only the public members; every client is an object of this class.
  return (client as unknown as ModuleClient).schema;
}

/** The API over the core for programs that use the type of a module. */
class ModuleClient implements Face {
  readonly #core: Core;
  readonly #platform: Platform;
  readonly #handles = new Map<string, LiveHandle>();
  readonly #watches: Watches;
  readonly db: object;
  readonly reducers: object;
  readonly procedures: object;

  constructor(options: ConnectOptions, on: Platform, openSocket: OpenSocket) {
    this.#platform = on;
    this.#core = new Core(coreOptions(options, on, openSocket), this);
    this.#watches = new Watches(this.#core);
    if (options.snapshot !== undefined) this.#watches.hydrate(options.snapshot);
    this.db = lateTables({
      schema: () => this.#core.schema,
      live: (path) => this.#live(path),
      rows: (path) => this.#rows(path),
    });
    const call =
      (kind: FunctionKind) =>
      (name: string, args: unknown, given: unknown = {}) => {
        const made = new FunctionCall({ kind, name, find: functionAt }, args, given as CallOptions);
        return this.#core.call(made, given as CallOptions);
      };
    this.reducers = lateCalls(call('reducer'));
    this.procedures = lateCalls(call('procedure'));
  }

  start(): void {
    this.#core.start();
    // Loaded while it connects, so that the first prediction does not have to wait.
    this.#core.predictions.load().catch(this.#platform.report);
  }

  get schema(): ClientSchema | undefined {
    return this.#core.schema;
  }

  get state(): Readable<ConnectionState> {
    return this.#core.link.state;
  }

  get pendingCalls(): Readable<readonly PendingCall[]> {
    return this.#core.requests.pending;
  }

  get identity(): Identity | undefined {
    return this.#core.link.identity;
  }

  get connectionId(): ConnectionId | undefined {
    const state = this.state.get();
    return state.kind === 'live' ? state.connectionId : undefined;
  }

  get token(): string | undefined {
    return this.#core.link.token;
  }

  subscribe(queries: unknown, listener: SubscriptionListener = {}): Subscription {
    const given = withValues(queries, listener.params);
    let set: QuerySet | undefined;
    const applied = new Promise<void>((resolve, reject) => {
      set = this.#core.subscribe(
        (schema) => listOf(given).flatMap((each) => sqlOf(each, rootsOf(schema))),
        {
          applied: () => {
            resolve();
            listener.onApplied?.();
          },
          failed: (error) => {
            reject(error);
            listener.onError?.(error);
          },
          left: () => reject(new Error('the subscription ended before its rows arrived')),
          closed: reject,
        },
      );
    });
    // A program that does not await it uses the callback, or ignores the error.
    applied.catch(() => {});
    return {
      get isActive() {
        return set?.wasApplied === true && set.status !== 'ended';
      },
      get isEnded() {
        return set?.status === 'ended';
      },
      applied,
      unsubscribe: () => set && this.#core.unsubscribe(set),
    };
  }

  async query(query: unknown, options: QueryOptions = {}): Promise<unknown[]> {
    const given = withValues(query, options.params);
    return this.#core.call<unknown[]>(
      {
        kind: 'query',
        name: typeof query === 'string' ? query : 'query',
        mayRepeat: true,
        message: (requestId, schema) => {
          const [text = ''] = sqlOf(given, rootsOf(schema));
          return { kind: 'oneOffQuery', requestId, query: text };
        },
      },
      options,
    );
  }

  watch<R, Out>(query: unknown, options?: WatchOptions<R, Out>): WatchedQuery<Out, R> {
    return this.#watches.watch(query, options);
  }

  retryNow(): void {
    this.#core.link.retryNow();
  }

  disconnect(): void {
    this.#core.link.close();
  }

  changed(difference: Difference, event: Event): void {
    tellRows(difference, this.#handles, this.#context(event), this.#platform.report);
  }

  welcomed(identity: Identity): void {
    this.#watches.welcomed(identity);
  }

  #context(event: Event): ClientContext<unknown> {
    const { db, reducers, procedures } = this;
    return { event, db, reducers, procedures } as ClientContext<unknown>;
  }

  #live(path: string): LiveHandle {
    return kept(this.#handles, path, () => liveHandle(() => this.#rows(path)));
  }

  #rows(path: string) {
    const { schema, contents } = this.#core;
    return contents?.table(schema?.tables.get(path)?.parts.name ?? '');
  }
}

/**
 * The function that the program calls. Parameters that the program's types do not have are missing;
 * properties that the database does not have are dropped, so a row with extra columns can be
 * passed.
 */
function functionAt(
  schema: ClientSchema,
  { kind, name: path, args }: FunctionCall,
): ClientFunction {
  const found = (kind === 'reducer' ? schema.reducers : schema.procedures).get(path);
  if (found === undefined) throw new SchemaMismatchError(path, `has no ${kind}`);
  const given = Object(args) as object;
  for (const { name = '', type } of found.parts.params.elements) {
    if (name in given || specialKindOf(type) === 'option') continue;
    throw new SchemaMismatchError(`${path}.${name}`, 'wants the argument');
  }
  return found;
}

function coreOptions(options: ConnectOptions, on: Platform, openSocket: OpenSocket): CoreOptions {
  const { token, schema, reconnect, database, compression = 'gzip' } = options;
  const uris = listOf(options.uri).map((each) => new URL(each as URL));
  const given = schema === undefined ? undefined : schemaFromJson(schema);
  const target = {
    // Replaced when another one is tried.
    uri: uris[0] as URL,
    database,
    compression: on.canDecompress(compression) ? compression : 'none',
    lightMode: options.lightMode ?? false,
    confirmedReads: options.confirmedReads,
    isFullDialect: true,
  } as const;
  const source = schemaSource(target.uri, database, on, options.schemaCache);
  return {
    target,
    uris,
    rewound: options.onRewound,
    token: typeof token === 'function' ? token : () => token,
    saveToken: options.saveToken,
    reconnect: reconnect === false ? undefined : (reconnect ?? {}),
    openSocket,
    platform: on,
    idleMillis: options.idleMillis ?? 25_000,
    queueMillis: options.queueMillis ?? 30_000,
    computedTable: computedTables(),
    keptSchema: source.kept,
    loadSchema: given === undefined ? () => source.load(target.uri) : () => given,
  };
}
