import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ask, type Caller, newCaller } from '../support/asking.ts';
import { buildText } from '../support/build-text.ts';
import {
  type ClusterService,
  ClusterServices,
  follows,
  identityOf,
  kill,
  readsCopy,
  roleAt,
  until,
} from '../support/cluster-services.ts';
import { RecordingSocket } from '../support/recording-socket.ts';
import { someOf } from '../support/share.ts';
import { readsModule } from './reads-module.ts';

/** Databases on threads and in processes, which a watchdog can end. */
const places = [
  ['on threads', 'thread'],
  ['in processes', 'process'],
] as const;
const some = someOf(places, 2);

describe.each(some)('a view that never ends, at a host that follows, %s', (_, mode) => {
  const services = new ClusterServices();
  let a: ClusterService;
  let b: ClusterService;
  let ada: Caller;
  let path: string;
  let identity: DatabaseIdentity;

  beforeAll(async () => {
    const given = { placement: 'worker', isolation: { everywhere: mode } } as const;
    [a, b] = [await services.start('a', given), await services.start('b', given)];
    ada = await newCaller(a);
    const body = new Uint8Array((await buildText(readsModule)).bytes);
    await ask(a, 'PUT', '/v1/database/hostile?host_type=Js', { as: ada, body });
    identity = identityOf(a, 'hostile');
    path = `/v1/database/${identityToHex(identity)}`;
    await follows(b, a, identity);
    await readsCopy(b, identity);
  });
  afterAll(() => services.close());

  function sql(at: ClusterService, query: string, body: string) {
    return ask(at, 'POST', `${path}/sql${query}`, { as: ada, body });
  }

  it('[replication 10.6] is ended as at the leader, and others are answered again', async () => {
    const call = { as: ada, body: '["before"]', headers: { 'content-type': 'application/json' } };
    const added = await ask(a, 'POST', `${path}/call/add`, call);
    const offset = added.headers.get('reducerdb-offset');
    const before = await sql(b, `?consistency=offset:${offset}`, 'SELECT text FROM note');
    expect([before.headers.get('reducerdb-role'), before.text.includes('before')]).toEqual([
      'follower',
      true,
    ]);
    const spun = await sql(b, '?consistency=any', 'SELECT text FROM spin');
    const atLeader = await sql(a, '', 'SELECT text FROM spin');
    expect([spun.status, spun.text]).toEqual([atLeader.status, atLeader.text]);
    // The leader was not troubled by it, nor is the follower for long.
    await follows(b, a, identity);
    // It takes no reads for a while, so that nobody keeps it from following for long.
    const after = await sql(b, '?consistency=any', 'SELECT text FROM note');
    expect([after.status, after.headers.get('reducerdb-role')]).toEqual([200, 'leader']);
    expect(after.text).toContain('before');
  });
});

/** A call may take as long as the test: only the take-over ends the read. */
it.each(['thread', 'process'] as const)(
  '[replication 10.6] a read that never ends is ended when its host has to take over (%s)',
  async (everywhere) => {
    const services = new ClusterServices();
    onTestFinished(() => services.close());
    const budget = { callMillisMax: 600_000 };
    const given = { placement: 'worker', isolation: { everywhere }, budget } as const;
    const [a, b] = [await services.start('a', given), await services.start('b', given)];
    const ada = await newCaller(a);
    const body = new Uint8Array((await buildText(readsModule)).bytes);
    await ask(a, 'PUT', '/v1/database/hostile?host_type=Js', { as: ada, body });
    const identity = identityOf(a, 'hostile');
    const path = `/v1/database/${identityToHex(identity)}`;
    await follows(b, a, identity);
    const any = `${path}/sql?consistency=any`;
    await until(async () => {
      const { headers } = await ask(b, 'POST', any, { as: ada, body: 'SELECT text FROM note' });
      return headers.get('reducerdb-role') === 'follower';
    });
    const spinning = ask(b, 'POST', any, { as: ada, body: 'SELECT text FROM spin' });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await kill(a, identity);
    await until(() => roleAt(b, identity) === 'leader');
    expect((await spinning).text).toContain('while the database had lost its leader');
    const call = { as: ada, body: '["after"]', headers: { 'content-type': 'application/json' } };
    expect((await ask(b, 'POST', `${path}/call/add`, call)).status).toBe(200);
  },
);

/** Nobody did anything wrong: an error would end the subscription for good. */
it.each(['thread', 'process'] as const)(
  '[replication 10.6, 11.8] a subscription that is ended for a take-over is asked for again (%s)',
  async (everywhere) => {
    const services = new ClusterServices();
    onTestFinished(() => services.close());
    const budget = { callMillisMax: 600_000 };
    const given = { placement: 'worker', isolation: { everywhere }, budget } as const;
    const [a, b] = [await services.start('a', given), await services.start('b', given)];
    const ada = await newCaller(a);
    const body = new Uint8Array((await buildText(readsModule)).bytes);
    await ask(a, 'PUT', '/v1/database/hostile?host_type=Js', { as: ada, body });
    const identity = identityOf(a, 'hostile');
    await follows(b, a, identity);
    await readsCopy(b, identity);
    const at = { url: b.url, database: identityToHex(identity), as: ada };
    const held = await RecordingSocket.open(at);
    const other = await RecordingSocket.open(at);
    expect([held.isRelayed, other.isRelayed]).toEqual([false, false]);
    held.send({ kind: 'subscribe', requestId: 7, querySetId: 7, queries: ['SELECT * FROM spin'] });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await kill(a, identity);
    expect((await held.closed)[0]).toBe(1012);
    expect(held.messages.map(({ kind }) => kind)).toEqual(['initialConnection']);
    expect((await other.closed)[0]).toBe(1012);
    await until(() => roleAt(b, identity) === 'leader');
    const again = await RecordingSocket.open(at);
    expect((await again.subscribe(['SELECT * FROM note'])).kind).toBe('subscribeApplied');
    again.close();
  },
);

it('[replication 10.6, 11.8] a watched view that never ends holds no copy', async () => {
  const services = new ClusterServices();
  onTestFinished(() => services.close());
  const given = { placement: 'worker', budget: { callMillisMax: 1_000 } } as const;
  const [a, b] = [await services.start('a', given), await services.start('b', given)];
  const ada = await newCaller(a);
  const body = new Uint8Array((await buildText(readsModule)).bytes);
  await ask(a, 'PUT', '/v1/database/hostile?host_type=Js', { as: ada, body });
  const identity = identityOf(a, 'hostile');
  await follows(b, a, identity);
  const database = identityToHex(identity);
  await readsCopy(b, identity);
  const watching = await RecordingSocket.open({ url: b.url, database, as: ada });
  expect(watching.isRelayed).toBe(false);
  expect((await watching.subscribe(['SELECT * FROM touchy'])).kind).toBe('subscribeApplied');
  const add = (text: string) =>
    ask(a, 'POST', `/v1/database/${database}/call/add`, {
      ...{ as: ada, body: JSON.stringify([text]) },
      headers: { 'content-type': 'application/json' },
    });
  // Nobody watches it at the leader, where it commits.
  expect((await add('hang')).status).toBe(200);
  expect((await watching.closed)[0]).toBe(1012);
  expect((await add('more')).status).toBe(200);
  const query = { as: ada, body: 'SELECT text FROM note' };
  const where = `/v1/database/${database}/sql?consistency=any`;
  await until(async () => {
    const { headers, text } = await ask(b, 'POST', where, query);
    return headers.get('reducerdb-role') === 'follower' && text.includes('more');
  });
});
