import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type Client,
  type ConnectOptions,
  connect,
  preload,
  type Snapshot,
  serialize,
} from '../../src/client/index.ts';
import type * as hall from '../client/hall.ts';
import { Running } from './running.ts';

let running: Running;
let database = '';
const clients: Client<typeof hall>[] = [];

beforeAll(async () => {
  running = await Running.start();
  const owner = await running.person();
  database = 'watched-hall';
  const { status, text } = await running.publish(database, 'test/client/hall.ts', owner);
  if (status !== 200) throw new Error(text);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(() => running.stop());

function open(options: Partial<ConnectOptions> = {}): Client<typeof hall> {
  const client = connect<typeof hall>({ uri: running.service.url, database, ...options });
  clients.push(client);
  return client;
}

describe('watched queries of a service', () => {
  it('[client-sdk 16] follow groups and windows as they are asked afresh', async () => {
    const client = open();
    const sqls = [
      'SELECT table_no, COUNT(*) AS guest_count, MAX(nick) AS last FROM guest GROUP BY table_no',
      'SELECT * FROM guest ORDER BY id DESC LIMIT 3',
      'SELECT g.nick, s.by_window FROM guest g LEFT JOIN seat s ON g.table_no = s.no',
      'SELECT by_window FROM seat',
    ];
    const watches = sqls.map((sql) => client.watch(sql));
    for (const watch of watches) {
      watch.subscribe(() => {});
      await watch.ready();
    }
    const check = async () => {
      for (const [at, sql] of sqls.entries()) {
        const fresh = (await client.query<object>(sql)).map(lineOf).sort();
        expect(watches[at]?.get().rows.map(lineOf).sort()).toEqual(fresh);
      }
      expect(watches[1]?.get().rows).toEqual(await client.query(sqls[1] ?? ''));
    };
    await check();
    for (let id = 1; id <= 6; id += 1) {
      await client.reducers.arrive({ id, nick: `guest ${id}`, tableNo: id % 3 });
      await check();
    }
    await client.reducers.place({ no: 1, byWindow: true });
    await client.reducers.place({ no: 2, byWindow: true });
    await check();
    await client.reducers.move({ id: 6, tableNo: 1 });
    await client.reducers.leave({ id: 5 });
    await check();
    expect(watches[0]?.get().rows).toContainEqual({ tableNo: 1, guestCount: 3n, last: 'guest 6' });
    expect(watches[3]?.get().rows).toEqual([{ byWindow: true }, { byWindow: true }]);
    // Of these only the window is of rows that the table has.
    expect([...client.db.guest].map(({ id }) => id).sort()).toEqual([3, 4, 6]);
    expect(client.db.seat.count()).toBe(0n);
  });

  it('[client-sdk 15] show a call before its answer, and its rows after it', async () => {
    const client = open();
    const watched = client.watch('SELECT * FROM guest WHERE table_no = :no', {
      params: { no: 50 },
    });
    const shown: string[] = [];
    watched.subscribe(() =>
      shown.push(
        watched
          .get()
          .rows.map(({ nick }) => nick)
          .join(),
      ),
    );
    await watched.ready();
    const arrive = (id: number, nick: string) =>
      client.reducers.arrive.result(
        { id, nick, tableNo: 50 },
        { optimistic: (draft, args) => draft.guest.insert({ ...args, mood: { tag: 'Calm' } }) },
      );
    const calls = [arrive(50, 'Ada'), arrive(50, 'Bob')];
    expect(watched.get().rows).toMatchObject([{ nick: 'Ada' }]);
    const third = arrive(51, 'Eve');
    expect(watched.get().rows).toMatchObject([{ nick: 'Ada' }, { nick: 'Eve' }]);
    const before = watched.get().rows;
    expect((await Promise.all([...calls, third])).map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(watched.get().rows).toEqual(before);
    expect(shown).toEqual(['', 'Ada', 'Ada,Eve']);
  });

  it('[client-sdk 17] begin with what a server has read, and go on without a gap', async () => {
    const server = open();
    await server.reducers.arrive({ id: 70, nick: 'Cleo', tableNo: 70 });
    const loaded = await preload(server, { guests: (q) => q.guest.where((g) => g.tableNo.eq(70)) });
    await server.reducers.arrive({ id: 71, nick: 'Dan', tableNo: 70 });
    const snapshot = JSON.parse(serialize(loaded)) as Snapshot;
    const page = open({ snapshot });
    const guests = page.watch((q) => q.guest.where((g) => g.tableNo.eq(70)));
    expect(guests.get()).toMatchObject({ isReady: true, isStale: true, rows: [{ nick: 'Cleo' }] });
    const [cleo] = guests.get().rows;
    const changes: string[] = [];
    guests.onChange((all) => changes.push(...all.map(({ kind, row }) => `${kind} ${row.nick}`)));
    await new Promise<void>((resolve) => {
      guests.subscribe(() => guests.get().isStale || resolve());
    });
    expect(changes).toEqual(['insert Dan']);
    expect(guests.get().rows[0]).toBe(cleo);
  });
});

function lineOf(row: object): string {
  return JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
}
