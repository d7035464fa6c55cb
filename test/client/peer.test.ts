import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as peer from 'spacetimedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import * as ours from '../../src/client/index.ts';
import type { ClientMessage } from '../../src/protocol/v2/client-message.ts';
import { encodeServerMessage, type ServerMessage } from '../../src/protocol/v2/server-message.ts';
import { clientMessagesIn } from '../../src/protocol/v3.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { type Hero, hero, querySets, rowsOf, shout, tableRows } from './rig.ts';

/**
 * The published client of the peer and this one, with the same bindings, against the same server
 * that says the same: both must ask for the same and tell the same, in the same order.
 */
type Library = typeof ours;

function bindings({ t, table, schema, reducers, reducerSchema, ...library }: Library) {
  const { procedures, procedureSchema, makeQueryBuilder } = library;
  const Mood = t.enum('Mood', { Calm: t.unit(), Angry: t.unit() });
  const Spot = t.object('Spot', { x: t.f32(), y: t.f32() });
  const HeroRow = t.row({
    owner: t.identity(),
    id: t.u32().primaryKey(),
    nick: t.string(),
    get mood() {
      return Mood;
    },
    get spot() {
      return Spot;
    },
    guildId: t.option(t.u64()).name('guild_id'),
  });
  const ShoutRow = t.row({
    room: t.string(),
    sentAt: t.timestamp().name('sent_at'),
    text: t.string(),
  });
  const tables = schema({
    hero: table(
      {
        name: 'hero',
        indexes: [
          { accessor: 'id', name: 'hero_id_idx_btree', algorithm: 'btree', columns: ['id'] },
          { accessor: 'nick', name: 'hero_nick_idx_btree', algorithm: 'btree', columns: ['nick'] },
        ],
        constraints: [
          { name: 'hero_id_key', constraint: 'unique', columns: ['id'] },
          { name: 'hero_nick_key', constraint: 'unique', columns: ['nick'] },
        ],
      },
      HeroRow,
    ),
    shout: table({ name: 'shout', indexes: [], constraints: [] }, ShoutRow),
    flash: table(
      { name: 'flash', indexes: [], constraints: [], event: true },
      t.row({ text: t.string() }),
    ),
  });
  const calls = reducers(
    reducerSchema('join_tavern', { nick: t.string(), guildId: t.option(t.u64()) }),
  );
  const module = {
    versionInfo: { cliVersion: '2.8.0' },
    tables: tables.schemaType.tables,
    reducers: calls.reducersType.reducers,
    ...procedures(procedureSchema('hero_count', {}, t.u64())),
  };
  const build = () =>
    new library.DbConnectionBuilder<ours.DbConnectionImpl<typeof module>>(
      module,
      (config) => new library.DbConnectionImpl(config),
    );
  return { build, from: makeQueryBuilder(tables.schemaType) };
}

let address = '';
let asked: ClientMessage[] = [];
const http = createServer();
const server = new WebSocketServer({ server: http, handleProtocols: () => 'v3.bsatn.spacetimedb' });
let requestUrl = '';

beforeAll(async () => {
  server.on('connection', (socket, request) => {
    requestUrl = request.url ?? '';
    const token = 'issued';
    const say = (message: ServerMessage) => send(socket, message);
    say({ kind: 'initialConnection', identity: 7n, connectionId: 9n, token });
    socket.on('message', (data: Buffer) => {
      for (const message of clientMessagesIn(data)) {
        asked.push(message);
        for (const answer of answersTo(message)) say(answer);
      }
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});

afterAll(async () => {
  for (const socket of server.clients) socket.terminate();
  server.close();
  await new Promise((resolve) => http.close(resolve));
});

function send(socket: WebSocket, message: ServerMessage): void {
  socket.send(Buffer.from([0, ...encodeServerMessage(message)]));
}

/** The script: what the first set, the second, a call and an unsubscribe set off. */
function answersTo(message: ClientMessage): ServerMessage[] {
  const { requestId } = message;
  switch (message.kind) {
    case 'subscribe': {
      const { querySetId } = message;
      if (message.queries.includes('SELECT nonsense')) {
        return [{ kind: 'subscriptionError', requestId, querySetId, error: 'no such thing' }];
      }
      const tables = [tableRows('hero', hero(1), hero(2)), tableRows('shout', shout('hall', 1))];
      const applied: ServerMessage = { kind: 'subscribeApplied', requestId, querySetId, tables };
      return querySetId === 0 ? [applied, ...changes()] : [applied];
    }
    case 'unsubscribe': {
      const { querySetId } = message;
      const tables = [tableRows('hero', ...after), tableRows('shout', shout('hall', 2))];
      return [{ kind: 'unsubscribeApplied', requestId, querySetId, tables }];
    }
    case 'callReducer': {
      const args = new TextDecoder().decode(message.args.subarray(4, 7));
      const writer = new BinaryWriter();
      writer.string(`not ${args}`);
      const timestamp = 5n;
      if (args !== 'Ada') {
        const outcome = { kind: 'err', error: writer.finish() } as const;
        return [{ kind: 'reducerResult', requestId, timestamp, outcome }];
      }
      const inserts = [hero(9, { nick: 'Ada' })];
      const sets = querySets({ querySetId: 0, table: 'hero', inserts });
      const outcome = { kind: 'ok', returned: new Uint8Array(0), querySets: sets } as const;
      return [{ kind: 'reducerResult', requestId, timestamp, outcome }];
    }
    case 'callProcedure': {
      const status = { kind: 'returned', value: Uint8Array.of(3, 0, 0, 0, 0, 0, 0, 0) } as const;
      return [{ kind: 'procedureResult', requestId, status, timestamp: 1n, durationMicros: 1n }];
    }
    default:
      return [];
  }
}

const renamed = hero(1, { nick: 'one' });
/** Dropped rows come in any order; here in the one in which the set got them. */
const after: Hero[] = [hero(3), renamed, hero(9, { nick: 'Ada' })];

function changes(): ServerMessage[] {
  const events = rowsOf('flash', [{ text: 'bang' }]);
  const flash = [{ table: 'flash', changes: [{ kind: 'event', events } as const] }];
  return [
    {
      kind: 'transactionUpdate',
      querySets: querySets(
        { querySetId: 0, table: 'hero', inserts: [hero(3), renamed], deletes: [hero(2), hero(1)] },
        {
          querySetId: 0,
          table: 'shout',
          inserts: [shout('hall', 2)],
          deletes: [shout('hall', 1)],
        },
      ),
    },
    { kind: 'transactionUpdate', querySets: [{ querySetId: 0, tables: flash }] },
  ];
}

/** One session, told line by line. */
async function session(library: Library): Promise<{ lines: string[]; asked: unknown[] }> {
  asked = [];
  const { build, from } = bindings(library);
  const lines: string[] = [];
  const until = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () =>
        lines.some((line) => line.startsWith(text)) ? resolve() : setTimeout(look, 5);
      look();
    });
  const conn = build()
    .withUri(address)
    .withDatabaseName('tavern')
    .withCompression('none')
    .onConnect((_conn, identity, token) =>
      lines.push(`connected ${identity.toHexString()} ${token}`),
    )
    .onDisconnect((_ctx, error) => lines.push(`disconnected ${error?.message ?? '-'}`))
    .build();
  await until('connected');
  const { hero: heroes, shout: shouts, flash } = conn.db;
  const say =
    (what: string) => (ctx: { event: ours.Event }, row: { nick?: string; text?: string }) => {
      const state = `${heroes.count()} ${shouts.count()}`;
      lines.push(`${ctx.event.tag} ${what} ${row.nick ?? row.text} (${state})`);
    };
  heroes.onInsert(say('+'));
  heroes.onDelete(say('-'));
  heroes.onUpdate((ctx, old, row) => lines.push(`${ctx.event.tag} ~ ${old.nick} ${row.nick}`));
  shouts.onInsert(say('+'));
  shouts.onDelete(say('-'));
  flash.onInsert(say('+'));
  const subscribe = (name: string) =>
    conn
      .subscriptionBuilder()
      .onApplied((ctx) => lines.push(`${name} applied ${ctx.db.hero.count()}`))
      .onError(() => lines.push(`${name} refused`));
  const first = subscribe('first').subscribe([
    from.hero.where((row) => row.guildId.eq(5n).or(row.nick.ne("O'Hara"))),
    from.shout,
    'SELECT * FROM flash',
  ]);
  await until('Transaction + bang');
  subscribe('second').subscribe('SELECT nonsense');
  await until('second refused');
  await conn.reducers.joinTavern({ nick: 'Ada', guildId: undefined });
  lines.push(`joined, ${heroes.nick.find('Ada')?.id}, ${heroes.id.find(2)}`);
  const refusal = conn.reducers.joinTavern({ nick: 'Eve', guildId: 4n });
  await refusal.catch((error: Error) => lines.push(`${error.name}: ${error.message}`));
  lines.push(`procedure ${await conn.procedures.heroCount({})}`);
  first.unsubscribeThen((ctx) => lines.push(`left ${ctx.db.hero.count()}`));
  await until('left');
  lines.push(`${first.isActive()} ${first.isEnded()}`);
  conn.disconnect();
  await until('disconnected');
  const plain = asked.map((message) => {
    // How an unsubscribe asks for its rows is each library's own affair.
    const { sendDroppedRows: _flag, ...rest } = message as { sendDroppedRows?: boolean };
    return rest;
  });
  return { lines, asked: [requestUrl, ...plain] };
}

describe('beside the published client', () => {
  it('[client-sdk 11.2] asks for the same and tells the same, in the same order', async () => {
    const theirs = await session(peer as unknown as Library);
    const mine = await session(ours);
    expect(mine.lines).toEqual(theirs.lines);
    expect(mine.asked).toEqual(theirs.asked);
    expect(mine.lines.length).toBeGreaterThan(15);
  });
});
