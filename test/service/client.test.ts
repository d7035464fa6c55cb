import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  type Client,
  type ConnectOptions,
  connect,
  type WebSocketClass,
} from '../../src/client/index.ts';
import type * as hall from '../client/hall.ts';
import { Running } from './running.ts';

let running: Running;
let count = 0;
const clients: Client<typeof hall>[] = [];

beforeAll(async () => {
  running = await Running.start();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(() => running.stop());

/** A database of its own for a test. */
async function publish(): Promise<string> {
  const owner = await running.person();
  const name = `hall-${count}`;
  count += 1;
  const { status, text } = await running.publish(name, 'test/client/hall.ts', owner);
  if (status !== 200) throw new Error(text);
  return name;
}

function open(database: string, options: Partial<ConnectOptions> = {}): Client<typeof hall> {
  const client = connect<typeof hall>({ uri: running.service.url, database, ...options });
  clients.push(client);
  return client;
}

/** Waits until `isTrue`, looking again whenever something may have changed. */
async function until(isTrue: () => boolean): Promise<void> {
  const end = Date.now() + 10_000;
  while (!isTrue()) {
    if (Date.now() > end) throw new Error('it never came true');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('the client and the service', () => {
  it('[client-sdk 12] types, names and values of a module hold from end to end', async () => {
    const database = await publish();
    const [ada, eve] = [open(database), open(database)];
    await eve.subscribe((q) => [q.guest, q.angry, q.bell]).applied;
    const tunes: string[] = [];
    eve.db.bell.onInsert(({ event }, { tune }) => tunes.push(`${event.tag} ${tune}`));
    await ada.reducers.arrive({ id: 1, nick: 'Ada', tableNo: 4, note: 'window, please' });
    await ada.reducers.arrive({ id: 2, nick: 'Bob', tableNo: 5 });
    await ada.reducers.move({ id: 1, tableNo: 5 });
    await ada.reducers.ring({ tune: 'ding' });
    await until(() => tunes.length === 1);
    expect(tunes).toEqual(['Transaction ding']);
    expect(eve.db.guest.nick.find('Ada')).toEqual({
      id: 1,
      nick: 'Ada',
      tableNo: 5,
      mood: { tag: 'Angry', value: {} },
      note: 'window, please',
    });
    expect(eve.db.guest.id.find(2)?.note).toBeUndefined();
    expect([...eve.db.guest.tableNo.filter(5)].map(({ id }) => id).sort()).toEqual([1, 2]);
    expect([...eve.db.angry].map(({ nick }) => nick)).toEqual(['Ada']);
    const asked = await eve.query((q) => q.guest.where((g) => g.nick.eq('Bob')));
    expect(asked.map(({ id }) => id)).toEqual([2]);
  });

  it('[client-sdk 7] says why a call failed, and tells rows before it settles', async () => {
    const client = open(await publish());
    await client.subscribe((q) => q.guest).applied;
    const lines: string[] = [];
    client.db.guest.onInsert(({ event }, { nick }) => lines.push(`${event.tag} ${nick}`));
    await client.reducers.arrive({ id: 1, nick: 'Ada', tableNo: 1 });
    lines.push('settled');
    expect(lines).toEqual(['Reducer Ada', 'settled']);
    const again = client.reducers.arrive({ id: 1, nick: 'Ada', tableNo: 1 });
    await expect(again).rejects.toMatchObject({
      code: 'reducer.refused',
      message: '1 is here already',
    });
    await expect(client.reducers.crash()).rejects.toMatchObject({ code: 'call.failed' });
    const bad = client.subscribe('SELECT * FROM secret').applied;
    await expect(bad).rejects.toMatchObject({ code: 'query.refused' });
  });

  it('[client-sdk 13] keeps identity, subscriptions and rows across a restart of the service', async () => {
    const database = await publish();
    const client = open(database, { reconnect: { firstDelayMillis: 20, maxDelayMillis: 100 } });
    await client.subscribe((q) => q.guest).applied;
    await client.reducers.arrive({ id: 1, nick: 'Ada', tableNo: 1 });
    await client.reducers.arrive({ id: 2, nick: 'Bob', tableNo: 1 });
    const [identity, before] = [client.identity, client.db.guest.id.find(1)];
    const lines: string[] = [];
    client.db.guest.onInsert(({ event }, { nick }) => lines.push(`${event.tag} + ${nick}`));
    client.db.guest.onDelete(({ event }, { nick }) => lines.push(`${event.tag} - ${nick}`));
    const port = Number(new URL(running.service.url).port);
    await running.pause();
    await until(() => client.state.get().kind === 'waiting');
    const call = client.reducers.arrive({ id: 3, nick: 'Eve', tableNo: 2 });
    running = await Running.start({
      dataDirectory: running.folder,
      listen: { host: '127.0.0.1', port },
    });
    await call;
    expect(client.identity?.isEqual(identity as never)).toBe(true);
    expect(client.db.guest.id.find(1)).toBe(before);
    await until(() => lines.length > 0);
    expect(lines.map((line) => line.replace(/^\w+ /, ''))).toEqual(['+ Eve']);
  });

  it('[subscriptions 4] after random calls, cuts and subscriptions each cache equals its queries', async () => {
    const database = await publish();
    const reconnect = { firstDelayMillis: 5, maxDelayMillis: 20 };
    const cuts = Array.from({ length: 3 }, cuttable);
    const group = cuts.map(({ webSocket }) => open(database, { reconnect, webSocket }));
    let state = 20_261_121;
    const next = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    const queries = [
      'SELECT * FROM guest WHERE table_no > 2',
      'SELECT * FROM guest',
      'SELECT guest.* FROM guest JOIN seat ON guest.table_no = seat.no WHERE seat.by_window = true',
      'SELECT * FROM angry',
      'SELECT * FROM seat',
      'SELECT * FROM word',
    ];
    const watches = group.flatMap((client) =>
      queries.map((query) => {
        const watch = client.watch(query);
        watch.subscribe(() => {});
        return { client, query, watch };
      }),
    );
    await until(() => watches.every(({ watch }) => watch.get().isReady));
    for (let round = 0; round < 12; round += 1) {
      const calls: Promise<unknown>[] = [];
      for (let step = 0; step < 25; step += 1) {
        const { reducers } = group[next(group.length)] as Client<typeof hall>;
        const [id, tableNo] = [next(30), next(6)];
        const choice = next(5);
        if (choice === 0) calls.push(reducers.arrive.result({ id, nick: `n${id}`, tableNo }));
        if (choice === 1) calls.push(reducers.move.result({ id, tableNo }));
        if (choice === 2) calls.push(reducers.leave.result({ id }));
        if (choice === 3)
          calls.push(reducers.place.result({ no: tableNo, byWindow: id % 2 === 0 }));
        if (choice === 4) calls.push(reducers.speak.result({ text: `said ${id % 4}` }));
      }
      if (round % 3 === 2) cuts[next(cuts.length)]?.cut();
      await Promise.all(calls);
      await until(() => group.every((client) => client.state.get().kind === 'live'));
      await until(() => watches.every(({ watch }) => !watch.get().isStale));
      // An answer after everything else: what came before has been applied.
      await Promise.all(group.map((client) => client.reducers.leave({ id: 1_000 })));
      await Promise.all(group.map((client) => client.query('SELECT * FROM seat')));
      for (const { client, query, watch } of watches) {
        const fresh = await client.query(query);
        const distinct = [...new Set(fresh.map(textOf))];
        expect([query, watch.get().rows.map(textOf).sort()]).toEqual([query, distinct.sort()]);
      }
    }
  });
});

/** A row as text: rows of one query have their columns in one order. */
function textOf(row: unknown): string {
  return JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? `${value}` : value));
}

/** Sockets that a test can cut, as a network would: behind the client's back. */
function cuttable() {
  const made: WebSocket[] = [];
  class Cuttable extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      made.push(this);
    }
  }
  const webSocket = Cuttable as unknown as WebSocketClass;
  return { webSocket, cut: () => made.at(-1)?.terminate() };
}
