import { afterAll, beforeAll, expect, it } from 'vitest';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import { type ClusterService, type ClusterServices, until } from '../support/cluster-services.ts';

let services: ClusterServices;
/** Leads the database at first. */
let a: ClusterService;
let b: ClusterService;
let porter: DatabaseIdentity;
let path: string;
let ada: Caller;

beforeAll(async () => {
  const pair = await startPair('porter', await program('porter'));
  ({ services, a, b, owner: ada, identity: porter } = pair);
  path = `/v1/database/${identityToHex(porter)}`;
});
afterAll(() => services.close());

function checkIn(at: ClusterService, name: string) {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify([name]);
  return ask(at, 'POST', `${path}/call/check_in`, { as: ada, body, headers });
}

const read = (at: ClusterService, query = '') =>
  ask(at, 'POST', `${path}/sql${query}`, { as: ada, body: 'SELECT name FROM guest' });

it('[replication 5.10] many confirmed reads of a leader share a proof, and see what is written', async () => {
  expect((await checkIn(a, 'one')).status).toBe(200);
  const all = await Promise.all(Array.from({ length: 50 }, () => read(a)));
  for (const { status, text } of all)
    expect([status, text]).toEqual([200, expect.stringContaining('one')]);
});

it('[replication 5.10] a leader that does not know that another one leads answers no confirmed read', async () => {
  // It stays with the old primary, which answers reads, and it hears of nothing else.
  services.engine.promote(['a']);
  b.part.membership.refuses(a.part.forHost.me.boot);
  b.service.host.replication.wake(porter);
  await until(() => b.part.placeOf(porter).kind === 'here');
  expect(a.part.placeOf(porter).kind).toBe('here');
  const unconfirmed = read(a, '?confirmed=false');
  const confirmed = read(a);
  expect((await unconfirmed).text).toContain('one');
  expect((await checkIn(b, 'two')).status).toBe(200);
  // Once it hears who leads, what it has read is not given: the leader is asked, or the client.
  services.engine.rejoin('a');
  const { status, text } = await confirmed;
  if (status === 200) expect(text).toContain('two');
  else expect([status, text]).toEqual([503, expect.stringMatching(/lost it|Nothing was done/)]);
});
