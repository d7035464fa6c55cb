import type { Client } from '../../src/client/client.ts';
import { type ConnectOptions, connectOn } from '../../src/client/client.ts';
import type { Platform } from '../../src/client/platform.ts';
import { schemaFromJson } from '../../src/client/schema-from-json.ts';
import type { OpenSocket, SocketListener, SocketRequest } from '../../src/client/socket.ts';
import { type RowList, rowListOf } from '../../src/protocol/row-list.ts';
import { type ClientMessage, clientArms } from '../../src/protocol/v2/client-message.ts';
import {
  encodeResumed,
  type Resume,
  type Resumed,
  resumeArm,
} from '../../src/protocol/v2/resume.ts';
import {
  encodeServerMessage,
  type ServerMessage,
  type TableRows,
} from '../../src/protocol/v2/server-message.ts';
import { clientMessagesIn, packServerMessages } from '../../src/protocol/v3.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { Identity } from '../../src/values/identity.ts';
import { nativeEncoderOf } from '../../src/values/native.ts';
import { Timestamp } from '../../src/values/timestamp.ts';
// What the library loads later is there at once: a test may end before.
import '../../src/client/one-table-query.ts';
import '../../src/client/optimistic.ts';
import '../../src/client/resuming.ts';
import type * as tavern from './tavern.ts';
import { tavernSchemaText } from './tavern.ts';

/** A clock that moves when it is told to, a network that is a list of sockets. */
export class TestPlatform implements Platform {
  time = 1_000_000;
  online = true;
  readonly reported: unknown[] = [];
  readonly fetched: string[] = [];
  readonly answers = new Map<string, { status: number; text: string }>();
  readonly #timers = new Set<{ at: number; run: () => void }>();
  readonly #wakes = new Set<() => void>();

  now = () => this.time;
  random = () => 0;
  after = (millis: number, run: () => void) => {
    const timer = { at: this.time + millis, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };
  fetch = async (url: string) => {
    this.fetched.push(url);
    await Promise.resolve();
    const path = new URL(url).pathname;
    const { status, text } = this.answers.get(path) ?? { status: 404, text: 'not found' };
    return { ok: status < 300, status, statusText: text, text: async () => text };
  };
  webSocket = async () => {
    throw new Error('no web sockets here');
  };
  isOnline = () => this.online;
  onWake = (wake: () => void) => {
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  };
  canDecompress = () => false;
  decompress = async () => new Uint8Array(0);
  debug = () => {};
  readonly warned: string[] = [];
  warn = (text: string) => {
    this.warned.push(text);
  };
  report = (error: unknown) => {
    this.reported.push(error);
  };

  get timerCount(): number {
    return this.#timers.size;
  }

  get wakeCount(): number {
    return this.#wakes.size;
  }

  wake(): void {
    for (const wake of [...this.#wakes]) wake();
  }

  async advance(millis: number): Promise<void> {
    const end = this.time + millis;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      const [next] = due;
      if (next === undefined) break;
      this.#timers.delete(next);
      this.time = Math.max(this.time, next.at);
      next.run();
      await settled();
    }
    this.time = end;
  }
}

/** One socket, seen from the server. */
export class TestConnection {
  readonly request: SocketRequest;
  readonly received: (ClientMessage | Resume)[] = [];
  frameCount = 0;
  isClosed = false;
  readonly #listener: SocketListener;

  constructor(request: SocketRequest, listener: SocketListener) {
    this.request = request;
    this.#listener = listener;
  }

  take(frame: Uint8Array): void {
    this.frameCount += 1;
    this.received.push(...clientMessagesIn(frame, messageArms));
  }

  async open(protocol = 'v3.bsatn.spacetimedb'): Promise<void> {
    this.#listener.opened(protocol);
    await settled();
  }

  /** One frame of our own subprotocol. */
  async sendAt(offset: number, ...messages: (ServerMessage | Resumed)[]): Promise<void> {
    const encoded = messages.map((message) =>
      message.kind === 'resumed' ? encodeResumed(message) : encodeServerMessage(message),
    );
    const [frame = new Uint8Array(0), ...more] = packServerMessages(encoded);
    if (more.length > 0) throw new Error('more than one frame');
    const whole = new Uint8Array(8 + frame.length);
    new DataView(whole.buffer).setBigUint64(0, BigInt(offset), true);
    whole.set(frame, 8);
    this.#listener.frame(whole);
    await settled();
  }

  async welcome(identity = 7n): Promise<void> {
    const token = 'issued';
    await this.send({ kind: 'initialConnection', identity, connectionId: 9n, token });
  }

  async send(...messages: ServerMessage[]): Promise<void> {
    for (const frame of packServerMessages(messages.map(encodeServerMessage))) {
      this.#listener.frame(frame);
    }
    await settled();
  }

  async drop(error?: Error): Promise<void> {
    this.isClosed = true;
    this.#listener.closed(error);
    await settled();
  }

  /** The messages of a kind, in order. */
  of<Kind extends (ClientMessage | Resume)['kind']>(
    kind: Kind,
  ): Extract<ClientMessage | Resume, { kind: Kind }>[] {
    return this.received.filter((message) => message.kind === kind) as never;
  }

  async apply(querySetId: number, ...tables: TableRows[]): Promise<void> {
    await this.send({ kind: 'subscribeApplied', requestId: 0, querySetId, tables });
  }
}

const messageArms = [...clientArms, resumeArm];

export interface Rig {
  readonly platform: TestPlatform;
  readonly connections: TestConnection[];
  readonly client: Client<typeof tavern>;
  /** The newest socket. */
  readonly socket: TestConnection;
}

export const schemaText = tavernSchemaText();
export const tavernSchema = schemaFromJson(JSON.parse(schemaText));

export function testSockets(connections: TestConnection[]): OpenSocket {
  return (request, listener) => {
    const connection = new TestConnection(request, listener);
    connections.push(connection);
    return {
      send: (bytes) => connection.take(bytes),
      close: () => {
        connection.isClosed = true;
      },
    };
  };
}

export function makeRig(options: Partial<ConnectOptions> = {}): Rig {
  const platform = new TestPlatform();
  const connections: TestConnection[] = [];
  const client = connectOn<typeof tavern>(
    { uri: 'ws://test', database: 'tavern', schema: JSON.parse(schemaText), ...options },
    platform,
    testSockets(connections),
  );
  return {
    platform,
    connections,
    client,
    get socket() {
      const last = connections.at(-1);
      if (last === undefined) throw new Error('no socket');
      return last;
    },
  };
}

/** A rig whose client is connected and welcome. */
export async function liveRig(options: Partial<ConnectOptions> = {}): Promise<Rig> {
  const rig = makeRig(options);
  await settled();
  await loaded();
  await rig.socket.open();
  await rig.socket.welcome();
  return rig;
}

/** Resolves when what a client loads while it connects is there. */
export async function loaded(): Promise<void> {
  await import('../../src/client/resuming.ts');
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** Rows of a table as the server would encode them. */
export function rowsOf(table: string, rows: readonly object[]): RowList {
  const parts = tavernSchema.tablesByName.get(table)?.parts;
  if (parts === undefined) throw new Error(`no table ${table}`);
  const elements = parts.columns.map(({ key, type }) => ({ name: key, type }));
  const encode = nativeEncoderOf({ kind: 'product', elements }, parts.typespace, table);
  return rowListOf(
    rows.map((row) => {
      const writer = new BinaryWriter();
      encode(writer, row);
      return writer.finish();
    }),
  );
}

export function tableRows(table: string, ...rows: readonly object[]): TableRows {
  return { table, rows: rowsOf(table, rows) };
}

export interface SetUpdate {
  readonly querySetId: number;
  readonly table: string;
  readonly inserts?: readonly object[];
  readonly deletes?: readonly object[];
}

export function querySets(...updates: SetUpdate[]) {
  return updates.map(({ querySetId, table, inserts = [], deletes = [] }) => {
    const changes = [
      {
        kind: 'persistent',
        inserts: rowsOf(table, inserts),
        deletes: rowsOf(table, deletes),
      } as const,
    ];
    return { querySetId, tables: [{ table, changes }] };
  });
}

export function update(...updates: SetUpdate[]): ServerMessage {
  return { kind: 'transactionUpdate', querySets: querySets(...updates) };
}

/** The answer to a call that changed nothing. */
export function committed(requestId: number): ServerMessage {
  const outcome = { kind: 'ok', returned: new Uint8Array(0), querySets: [] } as const;
  return { kind: 'reducerResult', requestId, timestamp: 5n, outcome };
}

export interface Hero {
  owner: Identity;
  id: number;
  nick: string;
  mood: { tag: 'Calm' } | { tag: 'Angry' };
  spot: { x: number; y: number };
  guildId: bigint | undefined;
}

export function hero(id: number, more: Partial<Hero> = {}): Hero {
  const spot = { x: id, y: -id };
  const owner = new Identity(BigInt(id));
  return {
    owner,
    id,
    nick: `hero ${id}`,
    mood: { tag: 'Calm' },
    spot,
    guildId: undefined,
    ...more,
  };
}

export function shout(room: string, at: number, text = `${room} ${at}`) {
  return { room, sentAt: new Timestamp(BigInt(at)), text };
}

/** All row callbacks of a table, as texts. */
export function log(client: Client<typeof tavern>): string[] {
  const lines: string[] = [];
  const { hero: heroes } = client.db;
  heroes.onInsert((ctx, row) => lines.push(`${ctx.event.tag} + ${row.id} ${row.nick}`));
  heroes.onDelete((ctx, row) => lines.push(`${ctx.event.tag} - ${row.id} ${row.nick}`));
  heroes.onUpdate((ctx, old, row) => {
    lines.push(`${ctx.event.tag} ~ ${row.id} ${old.nick} > ${row.nick}`);
  });
  return lines;
}
