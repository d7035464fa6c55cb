import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { encodeClientMessage } from '../../src/protocol/v1/client-message.ts';
import { someOf } from '../support/share.ts';
import { MigratedModules } from './migrated-module.ts';
import { type Person, Running } from './running.ts';
import { expectText, expectV1, SocketClient } from './socket-client.ts';
import { encoded, Guest } from './socket-guest.ts';

interface Version {
  readonly size: string;
  readonly extra: string;
  readonly params: string;
  readonly view: string;
  readonly row: string;
}

const moduleOf = ({ size, extra, params, view, row }: Version) => `
  import { schema, t, table } from 'reducerdb/server';
  const item = table({ public: true }, { id: t.u32().primaryKey(), size: ${size} });
  const other = table({ public: true }, { id: t.u32().primaryKey() });
  const extra = table({ public: true }, { id: t.u32().primaryKey(), ${extra} });
  const db = schema({ item, other, extra });
  export default db;
  export const add = db.reducer({ id: t.u32() }, (ctx, { id }) => {
    if (id < 3) ctx.db.item.insert({ id, size: 1 } as never);
    ctx.db.other.insert({ id });
  });
  export const rename = db.reducer({ ${params} }, () => {});
  export const twice = db.procedure({ id: t.u32() }, t.u32(), (_, { id }) => 2 * id);
  export const small = db.anonymousView(
    { name: 'small', public: true }, t.array(t.row('SmallRow', { ${view} })),
    (ctx) => [...ctx.db.other.iter()].map(({ id }) => (${row})),
  );
`;

const before = moduleOf({
  ...{ size: 't.u32()', extra: 'name: t.string()', params: 'id: t.u32()' },
  ...{ view: 'id: t.u32()', row: '{ id }' },
});
/** Sizes are texts, `extra` has a column more, and so has the view; `rename` takes a text. */
const after = moduleOf({
  ...{ size: 't.string()', extra: 'name: t.string(), more: t.u32().default(1)' },
  ...{ params: 'id: t.string()', view: 'id: t.u32(), more: t.u32()', row: '{ id, more: 1 }' },
});
const steps = `
  m.changeColumn('item', 'size', { using: (old) => String(old.size) }),
  m.run(({ new: now }) => { now.other.id.delete(1); }),
`;

const schemaChanged = { code: 1001, reason: 'schema changed' };

/** Connections to one database. */
class Crowd {
  readonly running: Running;
  readonly #sockets: SocketClient[] = [];

  constructor(running: Running) {
    this.running = running;
  }

  async guest(protocol = 'v2.bsatn.spacetimedb'): Promise<Guest> {
    const { url } = this.running.service;
    const guest = await Guest.arrive(url, 'crowded', { protocols: [protocol] });
    this.#sockets.push(guest.client);
    return guest;
  }

  async watching(query: string, protocol?: string): Promise<Guest> {
    const guest = await this.guest(protocol);
    guest.subscribe(1, 5, query);
    await guest.expect('subscribeApplied');
    return guest;
  }

  async watchingV1(query: string, format: 'bsatn' | 'json'): Promise<SocketClient> {
    const protocols = [`v1.${format}.spacetimedb`];
    const client = await SocketClient.open(this.running.service.url, 'crowded', { protocols });
    this.#sockets.push(client);
    if (format === 'json') {
      await expectText(client, 'IdentityToken');
      const asked = { query, request_id: 1, query_id: { id: 5 } };
      client.send(JSON.stringify({ SubscribeSingle: asked }));
      await expectText(client, 'SubscribeApplied');
      return client;
    }
    await expectV1(client, 'identityToken');
    const asked = { kind: 'subscribeSingle', query, requestId: 1, queryId: 5 } as const;
    client.send(encodeClientMessage(asked));
    await expectV1(client, 'subscribeApplied');
    return client;
  }

  /** Those who watch this over every version of the protocol. */
  async ofAllVersions(query: string) {
    return {
      v1: await this.watchingV1(query, 'bsatn'),
      v1Text: await this.watchingV1(query, 'json'),
      v2: await this.watching(query),
      v3: await this.watching(query, 'v3.bsatn.spacetimedb'),
    };
  }

  async leave(): Promise<void> {
    for (const socket of this.#sockets) await socket.close();
  }
}

const twice = {
  kind: 'callProcedure',
  requestId: 7,
  procedure: 'twice',
  args: encoded([4]),
} as const;

const kinds = someOf(['thread', 'process'] as const, 2);

describe.each(kinds)('clients of a database in a %s', (isolation) => {
  const modules = new MigratedModules();
  let running: Running;
  let owner: Person;
  let crowd: Crowd;
  let story: Awaited<ReturnType<typeof tell>>;

  beforeAll(async () => {
    running = await Running.start({ isolation: { everywhere: isolation } });
    owner = await running.person();
    crowd = new Crowd(running);
    story = await tell();
  }, 300_000);
  afterAll(async () => {
    for (const client of story.clients) client.disconnect();
    await crowd.leave();
    await running.stop();
    modules.remove();
  });

  /** A client of the library that watches a table, with the counts of rows that it has shown. */
  async function library(table: string) {
    const { url: uri } = running.service;
    const client = connect({ uri, database: 'crowded', reconnect: { firstDelayMillis: 20 } });
    const watched = client.watch(`SELECT * FROM ${table}`);
    const counts: number[] = [];
    watched.subscribe(() => counts.push(watched.get().rows.length));
    await watched.ready();
    const states: string[] = [];
    client.state.subscribe(() => states.push(client.state.get().kind));
    return { client, watched, counts, states };
  }

  /** All kinds of clients, and then a publish that breaks some of them. */
  async function tell() {
    const old = await modules.build(before);
    const next = await modules.build(after, [{ steps, from: old }]);
    expect((await running.upload('crowded', old, owner)).status).toBe(200);
    for (const id of [1, 2]) await running.call('crowded', 'add', [id]);
    const items = await crowd.ofAllVersions('SELECT * FROM item');
    const others = await crowd.ofAllVersions('SELECT * FROM other');
    const extra = await crowd.watching('SELECT * FROM extra WHERE id = 1');
    const small = await crowd.watching('SELECT * FROM small');
    const [renamer, adder, doubler, asker, idle, lateCaller] = [
      ...[await crowd.guest(), await crowd.guest(), await crowd.guest()],
      ...[await crowd.guest(), await crowd.guest(), await crowd.guest()],
    ] as [Guest, Guest, Guest, Guest, Guest, Guest];
    renamer.call(1, 'rename', 5);
    await renamer.expect('reducerResult');
    adder.call(1, 'add', 3);
    await adder.expect('reducerResult');
    doubler.send(twice);
    await doubler.expect('procedureResult');
    asker.send({ kind: 'oneOffQuery', requestId: 1, query: 'SELECT * FROM item' });
    await asker.expect('oneOffQueryResult');
    for (const one of [others.v2, others.v3]) await one.expect('transactionUpdate');
    await expectV1(others.v1, 'transactionUpdateLight');
    await expectText(others.v1Text, 'TransactionUpdateLight');
    await small.expect('transactionUpdate');
    const [broken, whole] = [await library('item'), await library('other')];
    const planned = await running.plan('crowded', next, owner, '&trial=true');
    const { break_clients, token, trial } = JSON.parse(planned.text).AutoMigrate;
    const query = `&policy=BreakClients&token=${token}`;
    const published = await running.upload('crowded', next, owner, query);
    expect([published.status, published.text]).toEqual([200, expect.stringContaining('Success')]);
    const watchers = { items, others, extra, small };
    const clients = [broken.client, whole.client];
    const rest = { renamer, adder, doubler, asker, idle, lateCaller, broken, whole, clients };
    return { ...watchers, ...rest, break_clients, trial };
  }

  it('[living 5.9, 5.10] those leave that watch what has changed, and the plan counts them', async () => {
    const { items, extra, small, renamer, asker, break_clients, trial } = story;
    const guests = [items.v2, items.v3, extra, small, renamer, asker].map(({ client }) => client);
    for (const socket of [items.v1, items.v1Text, ...guests]) {
      expect(await socket.ended).toEqual(schemaChanged);
    }
    expect(break_clients).toBe(true);
    // One more is the client of the library.
    expect(trial).toMatchObject({ failure: null, clients_disconnected: 9 });
  });

  it('[living 5.9] the others stay, over every version, and see what `run` has changed', async () => {
    const { others } = story;
    for (const one of [others.v2, others.v3]) await one.expect('transactionUpdate');
    await expectV1(others.v1, 'transactionUpdateLight');
    await expectText(others.v1Text, 'TransactionUpdateLight');
    expect(await running.rows('crowded', 'SELECT id FROM other ORDER BY id')).toEqual([[2], [3]]);
  });

  it('[living 5.9] callers of what has kept its meaning stay', async () => {
    const { adder, doubler } = story;
    adder.call(2, 'add', 20);
    await adder.expect('reducerResult');
    doubler.send(twice);
    await doubler.expect('procedureResult');
  });

  it('[living 5.9] who stays, and uses what has changed since, leaves then', async () => {
    const { idle, lateCaller } = story;
    idle.subscribe(1, 0, 'SELECT * FROM other');
    await idle.expect('subscribeApplied');
    idle.subscribe(2, 1, 'SELECT * FROM item');
    expect(await idle.client.ended).toEqual(schemaChanged);
    lateCaller.call(1, 'rename', 5);
    expect(await lateCaller.client.ended).toEqual(schemaChanged);
    const newcomer = await crowd.watching('SELECT * FROM item');
    newcomer.subscribe(2, 6, 'SELECT * FROM small');
    await newcomer.expect('subscribeApplied');
  });

  it('[living 5.9] the library connects again where it must, and keeps its rows', async () => {
    const { broken, whole } = story;
    const sizes = () => broken.watched.get().rows.map((row) => (row as { size: unknown }).size);
    await expect.poll(sizes).toEqual(['1', '1']);
    expect(broken.states).toContain('live');
    expect(broken.counts.slice(broken.counts.indexOf(2))).not.toContain(0);
    await running.call('crowded', 'add', [30]);
    const ids = () => whole.watched.get().rows.map((row) => (row as { id: unknown }).id);
    await expect.poll(ids).toContain(30);
    expect(ids()).not.toContain(1);
    expect(whole.states).toEqual([]);
  });
});
