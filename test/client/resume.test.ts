import { afterEach, describe, expect, it } from 'vitest';
import type { ConnectOptions } from '../../src/client/client.ts';
import { ConnectionLostError } from '../../src/client/errors.ts';
import type { Resumed } from '../../src/protocol/v2/resume.ts';
import {
  committed,
  hero,
  liveRig,
  loaded,
  log,
  makeRig,
  type Rig,
  settled,
  tableRows,
  update,
} from './rig.ts';

const resumable = 'v3.bsatn.reducerdb';
const all = 'SELECT * FROM hero';
const rigs: Rig[] = [];
afterEach(() => {
  for (const { client } of rigs.splice(0)) client.disconnect();
});

function resumed(outcome: number, more: Partial<Resumed> = {}): Resumed {
  return { kind: 'resumed', requestId: 0, outcome, history: 77n, hosts: [], ...more };
}

/** What follows the first message of a connection comes in the same frame. */
async function welcome(rig: Rig, offset: number, identity = 7n): Promise<void> {
  await rig.socket.open(resumable);
  const token = 'issued';
  await rig.socket.sendAt(offset, {
    ...{ kind: 'initialConnection', identity, connectionId: 9n, token },
  });
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; !isTrue(); turn += 1) {
    if (turn > 10_000) throw new Error('it never came true');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A client with the rows of one set, which are of commit 10. */
async function current(options: Partial<ConnectOptions> = {}): Promise<Rig> {
  const rig = makeRig(options);
  rigs.push(rig);
  await settled();
  await welcome(rig, 1);
  rig.client.subscribe(all);
  await settled();
  // What it needs to come back is loaded while it connects.
  await until(() => rig.socket.of('resume').length > 0 || rig.socket.of('subscribe').length > 0);
  await rig.socket.sendAt(10, {
    ...{ kind: 'subscribeApplied', requestId: 0, querySetId: 0 },
    tables: [tableRows('hero', hero(1), hero(2))],
  });
  await until(() => rig.socket.of('resume').length === 1);
  const [greeting] = rig.socket.of('resume');
  expect(greeting).toMatchObject({ history: 0n, sets: [] });
  await rig.socket.sendAt(10, resumed(0));
  return rig;
}

async function nextSocket({ connections, platform }: Rig): Promise<void> {
  const count = connections.length;
  while (connections.length === count) await platform.advance(250);
}

async function back(rig: Rig, offset = 0): Promise<void> {
  await rig.socket.drop();
  await nextSocket(rig);
  await welcome(rig, offset);
}

const ids = ({ client }: Rig) => [...client.db.hero].map(({ id }) => id).sort();

describe('[replication 11.4] a client that comes back', () => {
  it('goes on where it was: the missed updates come one by one', async () => {
    const rig = await current();
    const { client } = rig;
    const lines = log(client);
    const watched = client.watch(all);
    watched.subscribe(() => {});
    await settled();
    await rig.socket.sendAt(12, {
      ...{ kind: 'subscribeApplied', requestId: 0, querySetId: 1 },
      tables: [tableRows('hero', hero(1), hero(2))],
    });
    await back(rig, 40);
    expect(watched.get()).toMatchObject({ isStale: true });
    expect(rig.socket.received).toEqual([
      {
        ...{ kind: 'resume', requestId: expect.any(Number), history: 77n, offset: 12n },
        sets: [
          { querySetId: 0, queries: [all] },
          { querySetId: 1, queries: ['SELECT * FROM "hero"'].map(() => expect.any(String)) },
        ],
      },
    ]);
    const called = client.reducers.ping().catch(() => undefined);
    await settled();
    // Nothing else is sent before the answer.
    expect(rig.socket.received).toHaveLength(1);
    lines.length = 0;
    const change = (id: number) => update({ querySetId: 0, table: 'hero', inserts: [hero(id)] });
    await rig.socket.sendAt(12, resumed(0));
    expect(watched.get()).toMatchObject({ isStale: false });
    expect(rig.socket.of('subscribe')).toEqual([]);
    await rig.socket.sendAt(14, change(3), change(4));
    await rig.socket.sendAt(15, change(5));
    expect(lines.map((line) => line.replace(/ .*/, ''))).toHaveLength(3);
    expect(ids(rig)).toEqual([1, 2, 3, 4, 5]);
    // It is at 15 now, and says so when it comes back again.
    await back(rig);
    expect(rig.socket.of('resume').map(({ offset }) => offset)).toEqual([15n]);
    void called;
  });

  it('[replication 11.5] reads its rows again where it cannot: one difference', async () => {
    const rig = await current();
    const lines = log(rig.client);
    await back(rig);
    await rig.socket.sendAt(30, resumed(1));
    expect(ids(rig)).toEqual([1, 2]);
    expect(rig.socket.of('subscribe').map(({ querySetId }) => querySetId)).toEqual([0]);
    await rig.socket.sendAt(31, {
      ...{ kind: 'subscribeApplied', requestId: 0, querySetId: 0 },
      tables: [tableRows('hero', hero(2), hero(3))],
    });
    expect(ids(rig)).toEqual([2, 3]);
    expect(lines).toHaveLength(2);
    await back(rig);
    expect(rig.socket.of('resume').map(({ offset }) => offset)).toEqual([31n]);
  });

  it('[replication 11.6] says that commits are lost, behind the difference', async () => {
    const told: string[] = [];
    const rig = await current({ onRewound: () => told.push(`rewound ${ids(rig)}`) });
    await back(rig);
    await rig.socket.sendAt(5, resumed(2, { history: 78n }));
    expect(told).toEqual([]);
    // Lost again before its rows were there: it is not forgotten.
    await back(rig);
    expect(rig.socket.of('resume')).toMatchObject([{ history: 78n, sets: [] }]);
    await rig.socket.sendAt(5, resumed(0, { history: 78n }), {
      ...{ kind: 'subscribeApplied', requestId: 0, querySetId: 0 },
      tables: [tableRows('hero', hero(2))],
    });
    expect(told).toEqual(['rewound 2']);
    await rig.socket.sendAt(6, update({ querySetId: 0, table: 'hero', inserts: [hero(9)] }));
    expect([told.length, ids(rig)]).toEqual([1, [2, 9]]);
  });

  it('reads its rows again when a frame was lost in its middle', async () => {
    const rig = await current();
    const change = update({ querySetId: 0, table: 'hero', inserts: [hero(3)] });
    const broken = { kind: 'subscribeApplied', requestId: 0, querySetId: 0 } as const;
    rig.client.db.hero.onInsert(() => {
      // The second message of the frame is never applied.
      void rig.socket.drop();
    });
    await rig.socket.sendAt(20, change, { ...broken, tables: [] });
    await rig.platform.advance(250);
    await welcome(rig, 0);
    expect(ids(rig)).toContain(3);
    expect(rig.socket.of('resume')).toMatchObject([{ sets: [] }]);
    expect(rig.socket.of('subscribe')).toHaveLength(1);
  });

  it('leaves sets that ended while the server was asked, and asks for those without rows', async () => {
    const rig = await current();
    const second = rig.client.subscribe("SELECT * FROM hero WHERE nick = 'x'");
    await settled();
    await back(rig);
    expect(rig.socket.of('resume')).toMatchObject([{ sets: [{ querySetId: 0 }] }]);
    const third = rig.client.subscribe("SELECT * FROM hero WHERE nick = 'y'");
    await rig.socket.sendAt(10, resumed(0));
    expect(
      rig.socket
        .of('subscribe')
        .map(({ querySetId }) => querySetId)
        .sort(),
    ).toEqual([1, 2]);
    expect([second.isEnded, third.isEnded]).toEqual([false, false]);
    // The first set has been dropped by the program while it waited: the server is notified.
    await rig.socket.sendAt(11, {
      ...{ kind: 'subscribeApplied', requestId: 0, querySetId: 1 },
      tables: [tableRows('hero')],
    });
    await back(rig);
    second.unsubscribe();
    await rig.socket.sendAt(11, resumed(0));
    expect(rig.socket.of('unsubscribe').map(({ querySetId }) => querySetId)).toEqual([1]);
  });

  it('a call that was in flight has an unknown outcome', async () => {
    const rig = await current();
    const call = rig.client.reducers.ping();
    const outcome = call.then(
      () => 'done',
      (error: unknown) => (error as ConnectionLostError).outcome,
    );
    await settled();
    await back(rig);
    expect(await outcome).toBe('unknown');
    expect(ConnectionLostError.name).toBe('ConnectionLostError');
  });

  it('works with a server that has only the subprotocols of others', async () => {
    const rig = await liveRig();
    rigs.push(rig);
    expect(rig.socket.request.protocols).toEqual([
      ...[resumable, 'v3.bsatn.spacetimedb', 'v2.bsatn.spacetimedb'],
    ]);
    rig.client.subscribe(all);
    await settled();
    await rig.socket.apply(0, tableRows('hero', hero(1)));
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    await rig.socket.send(committed(99));
    expect(rig.socket.received.map(({ kind }) => kind)).toEqual(['subscribe']);
  });
});

describe('[replication 11.4] several addresses', () => {
  it('are tried in turn, with those that the hosts have told', async () => {
    const rig = await current({ uri: ['ws://a:1', new URL('ws://b:2')] });
    const where = () => rig.socket.request.uri.host;
    expect(where()).toBe('a:1');
    const hosts = ['http://c:3', 'http://a:1', 'https://d:4'];
    await rig.socket.sendAt(10, resumed(0, { hosts }));
    const tried: string[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await rig.socket.drop();
      await nextSocket(rig);
      tried.push(where());
    }
    expect(tried).toEqual(['b:2', 'c:3', 'd:4', 'a:1', 'b:2', 'c:3']);
  });

  it('are each tried once before the delay grows', async () => {
    const reconnect = { firstDelayMillis: 1_000, jitter: 0 };
    const rig = await current({ uri: ['ws://a:1', 'ws://b:2', 'ws://c:3'], reconnect });
    const delays: number[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await rig.socket.drop();
      const since = rig.platform.time;
      await nextSocket(rig);
      delays.push(rig.platform.time - since);
    }
    expect(delays).toEqual([250, 250, 4_000, 250, 250, 15_000]);
  });

  it('a host that does not answer is given up while there are others', async () => {
    const rig = makeRig({ uri: ['ws://a:1', 'ws://b:2'] });
    rigs.push(rig);
    await settled();
    await loaded();
    await rig.platform.advance(5_300);
    expect(rig.connections.map(({ request }) => request.uri.host)).toEqual(['a:1', 'b:2']);
    expect(rig.connections[0]?.isClosed).toBe(true);
  });

  it('none that is less secure than the one in use is taken', async () => {
    const rig = await current({ uri: 'https://a:1' });
    await rig.socket.sendAt(10, resumed(0, { hosts: ['http://b:2', 'ws://c:3', 'wss://d:4'] }));
    await rig.socket.drop();
    await nextSocket(rig);
    expect(rig.socket.request.uri.host).toBe('d:4');
  });

  it('[replication 11.4] the schema is read from the host that is tried', async () => {
    const rig = makeRig({ uri: ['ws://a:1', 'ws://b:2'], schema: undefined });
    rigs.push(rig);
    await settled();
    await loaded();
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.open();
    await settled();
    expect(rig.platform.fetched.map((url) => new URL(url).host)).toEqual(['a:1', 'b:2']);
  });
});
