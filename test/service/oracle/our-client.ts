import { WebSocket } from 'ws';
import {
  type Client,
  type ConnectOptions,
  connect,
  DbConnectionBuilder,
  DbConnectionImpl,
  type RemoteModule,
  reducerSchema,
  reducers,
  type SocketAdapter,
  schema,
  t,
  table,
  type WebSocketClass,
} from '../../../src/client/index.ts';
import type { Random } from '../../../src/testing/random.ts';
import type { Person } from '../running.ts';
import { Bag } from './bags.ts';
import type { Ledger, Step } from './ledger.ts';
import { columnNames, type Plan, relationsOf, type TablePlan } from './plan.ts';
import type { Query, Viewer, World } from './queries.ts';

type Record_ = Readonly<Record<string, unknown>>;

interface Handle extends Iterable<Record_> {
  onInsert(told: (ctx: unknown, row: Record_) => void): void;
  onDelete(told: (ctx: unknown, row: Record_) => void): void;
  onUpdate(told: (ctx: unknown, old: Record_, row: Record_) => void): void;
}

/** What the two faces of the client have in common. */
interface Face {
  readonly isConfirmed: boolean;
  readonly db: Readonly<Record<string, Handle>>;
  run(tag: number, script: string): Promise<unknown>;
  subscribe(texts: readonly string[], told: Told): { unsubscribe(): void };
  isLive(): boolean;
  close(): void;
}

interface Told {
  readonly applied: () => void;
  readonly failed: (error: Error) => void;
}

export interface OurOptions {
  readonly url: string;
  readonly database: string;
  readonly plan: Plan;
  readonly person: Person;
  readonly viewer: Viewer;
  readonly ledger: Ledger;
  readonly random: Random;
}

interface KeptSet {
  readonly queries: readonly Query[];
  state: 'asked' | 'kept' | 'refused';
  readonly unsubscribe: () => void;
}

/** One of our clients, which connects again by itself, and whose callbacks are followed by hand. */
export class OurClient {
  readonly viewer: Viewer;
  readonly #face: Face;
  readonly #plan: Plan;
  readonly #ledger: Ledger;
  readonly #sockets: WebSocket[];
  readonly #sets: KeptSet[] = [];
  /** What the callbacks have said so far, by table. */
  readonly #followed = new Map<string, Set<string>>();
  readonly #tunes = new Set<string>();
  #lastRing = 0;
  #pending = 0;
  fault: Error | undefined;

  constructor(options: OurOptions) {
    this.viewer = options.viewer;
    this.#plan = options.plan;
    this.#ledger = options.ledger;
    this.#sockets = [];
    const make = options.random.chance(0.5) ? connectedFace : boundFace;
    this.#face = make(options, cuttable(this.#sockets));
    for (const [name, plan] of relationsOf(options.plan)) this.#follow(name, plan);
    this.#face.db.bell?.onInsert((_, row) => this.#rang(row));
  }

  /** How many sockets it has opened so far. */
  get socketCount(): number {
    return this.#sockets.length;
  }

  call(steps: readonly Step[]): void {
    const tag = this.#ledger.ask(steps);
    this.#pending += 1;
    const told = (word: 'committed' | 'failed') => {
      try {
        this.#ledger.told(tag, word, this.#face.isConfirmed);
      } catch (error) {
        this.fault ??= error as Error;
      }
    };
    this.#face
      .run(tag, JSON.stringify(steps))
      .then(
        () => told('committed'),
        (error: Error & { code?: string }) => {
          if (isRefusal(error)) told('failed');
        },
      )
      .finally(() => {
        this.#pending -= 1;
      });
  }

  subscribe(queries: readonly Query[]): void {
    // Callbacks count rows of tables alone; the larger dialect may take what the smaller refuses;
    // each set that watches events would tell of them again.
    const hearsEvents = this.#sets.some((set) => set.queries.some(({ isEvent }) => isEvent));
    const wanted = queries.filter(
      ({ from, isDoubtful, isEvent }) =>
        from !== 'clock' && isDoubtful !== true && !(isEvent === true && hearsEvents),
    );
    if (wanted.length === 0) return;
    const isBad = wanted.some(({ rows }) => rows(nothing, this.viewer) === undefined);
    const set: KeptSet = {
      queries: wanted,
      state: 'asked',
      unsubscribe: () => handle.unsubscribe(),
    };
    const handle = this.#face.subscribe(
      wanted.map(({ sql }) => sql),
      {
        applied: () => {
          if (isBad) this.fault ??= new Error('a bad set was accepted');
          set.state = 'kept';
        },
        failed: (error) => {
          if (!isBad) this.fault ??= new Error(`a set was refused: ${error.message}`);
          set.state = 'refused';
        },
      },
    );
    this.#sets.push(set);
  }

  unsubscribe(random: Random): void {
    const kept = this.#sets.filter(({ state }) => state === 'kept');
    if (kept.length === 0) return;
    const set = random.pick(kept);
    this.#sets.splice(this.#sets.indexOf(set), 1);
    set.unsubscribe();
  }

  /** Its socket is gone, behind its back. */
  drop(): void {
    this.#sockets.at(-1)?.terminate();
  }

  get isSettled(): boolean {
    const isAsking = this.#sets.some(({ state }) => state === 'asked');
    return this.#face.isLive() && this.#pending === 0 && !isAsking;
  }

  check(world: World): void {
    if (this.fault !== undefined) throw this.fault;
    for (const [name, plan] of relationsOf(this.#plan)) {
      const known = Bag.of([...(this.#face.db[name] ?? [])].map((row) => plainOf(row)));
      const expected = new Set<string>();
      for (const { queries, state } of this.#sets) {
        if (state !== 'kept') continue;
        for (const { from, rows } of queries) {
          if (from !== name) continue;
          for (const row of rows(world, this.viewer) ?? []) expected.add(JSON.stringify(row));
        }
      }
      const wanted = [...expected].sort().join('\n');
      const got = known.rows.join('\n');
      if (got !== wanted) throw new Error(`${name} has\n${got}\nand there is\n${wanted}`);
      const followed = [...(this.#followed.get(name) ?? [])].sort().join('\n');
      if (followed !== got) {
        throw new Error(
          `${name} ${plan.id.key}: callbacks told\n${followed}\nand there is\n${got}`,
        );
      }
    }
  }

  close(): void {
    this.#face.close();
  }

  #follow(name: string, plan: TablePlan): void {
    const rows = new Set<string>();
    this.#followed.set(name, rows);
    const handle = this.#face.db[name];
    const came = (row: Record_) => {
      const text = JSON.stringify(plainOf(row));
      if (rows.has(text)) this.fault ??= new Error(`${name} was told twice of ${text}`);
      rows.add(text);
    };
    const went = (row: Record_) => {
      const text = JSON.stringify(plainOf(row));
      if (!rows.delete(text)) this.fault ??= new Error(`${name} lost ${text} without having it`);
    };
    handle?.onInsert((_, row) => came(row));
    handle?.onDelete((_, row) => went(row));
    if (plan.id.key !== 'primary') return;
    handle?.onUpdate((_, old, row) => {
      went(old);
      came(row);
    });
  }

  /** Events come once each, in the order of the commits, also around a lost connection. */
  #rang(row: Record_): void {
    const n = Number(row.n);
    const tune = String(row.tune);
    if (this.#tunes.has(tune)) this.fault ??= new Error(`${tune} was told twice`);
    if (n < this.#lastRing)
      this.fault ??= new Error(`${tune} of ${n} came after ${this.#lastRing}`);
    this.#lastRing = n;
    this.#tunes.add(tune);
  }
}

const nothing: World = { base: new Map(), version: 'one' };

function isRefusal(error: Error & { code?: string }): boolean {
  const { code, name } = error;
  return code === 'reducer.refused' || code === 'call.failed' || name === 'SenderError';
}

function plainOf(row: Record_): unknown[] {
  return columnNames.map((name) => {
    const value = row[name];
    if (typeof value === 'bigint') return Number(value);
    if (name !== 'who') return value;
    return [`0x${(value as { toHexString(): string }).toHexString().replace(/^0x/, '')}`];
  });
}

const reconnect = { firstDelayMillis: 5, maxDelayMillis: 50 };

function connectedFace(options: OurOptions, webSocket: WebSocketClass): Face {
  const { url: uri, database, person, random } = options;
  const isConfirmed = random.chance(0.7);
  const more: Partial<ConnectOptions> = isConfirmed ? {} : { confirmedReads: false };
  const compression = random.pick(['none', 'gzip'] as const);
  const lightMode = random.chance(0.3);
  const { token } = person;
  const given = { uri, database, token, webSocket, reconnect, compression, lightMode };
  const client = connect({ ...given, ...more }) as unknown as Client<unknown> & {
    reducers: { run(args: object): Promise<unknown> };
    db: Readonly<Record<string, Handle>>;
  };
  return {
    isConfirmed,
    db: client.db,
    run: (tag, script) => client.reducers.run({ tag, script }),
    subscribe: (texts, { applied, failed }) =>
      client.subscribe(texts as never, { onApplied: applied, onError: failed }),
    isLive: () => client.state.get().kind === 'live',
    close: () => client.disconnect(),
  };
}

/** With bindings, as they would be generated for the module. */
function boundFace(options: OurOptions, WebSocketOf: WebSocketClass): Face {
  const { url, database, person, plan } = options;
  let isLive = false;
  const openSocket = async ({
    wsProtocol,
    authToken,
  }: {
    wsProtocol: string[];
    authToken?: string | undefined;
  }) => {
    const query = `compression=None&token=${authToken ?? ''}`;
    const address = `${url.replace('http', 'ws')}/v1/database/${database}/subscribe?${query}`;
    return new PlainSocket(new WebSocketOf(address, wsProtocol));
  };
  const connection = new DbConnectionBuilder<DbConnectionImpl<RemoteModule>>(
    bindingsOf(plan) as never,
    (config) => new DbConnectionImpl(config),
  )
    .withUri(url)
    .withDatabaseName(database)
    .withToken(person.token)
    .withReconnect(reconnect)
    .withWSFn(openSocket)
    .onConnect(() => {
      isLive = true;
    })
    .onDisconnect(() => {
      isLive = false;
    })
    .build();
  const { run } = connection.reducers as unknown as Readonly<
    Record<string, (args: object) => Promise<unknown>>
  >;
  return {
    isConfirmed: true,
    db: connection.db as unknown as Face['db'],
    run: async (tag, script) => run?.({ tag, script }),
    subscribe: (texts, { applied, failed }) =>
      connection
        .subscriptionBuilder()
        .onApplied(applied)
        .onError((_, error) => failed(error))
        .subscribe([...texts]),
    isLive: () => isLive,
    close: () => connection.disconnect(),
  };
}

function bindingsOf(plan: Plan) {
  const tables: Record<string, unknown> = {};
  for (const [name, { id, extra }] of relationsOf(plan)) {
    const isKey = id.key === 'primary' && plan.tables.some((one) => one.name === name);
    const key = t[id.kind as 'u32']();
    const columns = {
      id: isKey ? key.primaryKey() : key,
      a: t.u32(),
      b: t.i32(),
      text: t.string(),
      who: t.identity(),
      extra: t[extra as 'bool'](),
    };
    const constraints = isKey
      ? [{ name: `${name}_id_key`, constraint: 'unique' as const, columns: ['id'] as const }]
      : [];
    tables[name] = table({ name, indexes: [], constraints } as never, t.row(columns));
  }
  const bell = t.row({ n: t.u32(), tune: t.string() });
  tables.bell = table({ name: 'bell', indexes: [], constraints: [], event: true } as never, bell);
  const { schemaType } = schema(tables as never);
  const calls = reducers(reducerSchema('run', { tag: t.u32(), script: t.string() }));
  return {
    versionInfo: { cliVersion: '2.8.0' },
    tables: schemaType.tables,
    reducers: calls.reducersType.reducers,
    procedures: [],
  };
}

/** Takes the tag from in front of frames that are not compressed. */
class PlainSocket implements SocketAdapter {
  readonly #socket: InstanceType<WebSocketClass>;

  constructor(socket: InstanceType<WebSocketClass>) {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  get readyState(): number {
    return this.#socket.readyState;
  }

  send(bytes: Uint8Array): void {
    this.#socket.send(bytes);
  }

  close(): void {
    this.#socket.close();
  }

  set onopen(handler: () => void) {
    this.#socket.onopen = handler;
  }

  set onmessage(handler: (message: { data: Uint8Array }) => void) {
    this.#socket.onmessage = ({ data }) => handler({ data: new Uint8Array(data).subarray(1) });
  }

  set onclose(handler: () => void) {
    this.#socket.onclose = handler;
  }

  set onerror(handler: (event: unknown) => void) {
    this.#socket.onerror = handler;
  }
}

/** Sockets that can be cut, as a network would. */
function cuttable(made: WebSocket[]): WebSocketClass {
  class Cuttable extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      made.push(this);
    }
  }
  return Cuttable as unknown as WebSocketClass;
}
