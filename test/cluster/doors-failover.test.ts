import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  kill,
  roleAt,
  until,
} from '../support/cluster-services.ts';

let services: ClusterServices;
/** Leads the database at first. */
let a: ClusterService;
/** Follows it. */
let b: ClusterService;
let porter: DatabaseIdentity;
let path: string;
let ada: Caller;

beforeEach(async () => {
  ({
    services,
    a,
    b,
    owner: ada,
    identity: porter,
  } = await startPair('porter', await program('porter')));
  path = `/v1/database/${identityToHex(porter)}`;
});
afterEach(() => services.close());

const ofJson = { 'content-type': 'application/json' };

function checkIn(at: ClusterService, name: string) {
  const body = JSON.stringify([name]);
  return ask(at, 'POST', `${path}/call/check_in`, { as: ada, body, headers: ofJson });
}

async function guests(at: ClusterService): Promise<string[]> {
  const asked = { as: ada, body: 'SELECT name FROM guest' };
  const { status, text } = await ask(at, 'POST', `${path}/sql`, asked);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text)[0].rows.map(([one]: [string]) => one);
}

it('[replication 8.5] calls that come while nobody leads wait for the next leader', async () => {
  expect((await checkIn(b, 'before')).status).toBe(200);
  await kill(a, porter);
  const large = 'x'.repeat(2 * limits.forwardKeptBytesMax);
  const answers = await Promise.all([
    checkIn(b, 'meanwhile'),
    checkIn(b, large),
    ask(b, 'GET', `${path}/route/board`),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(roleAt(b, porter)).toBe('leader');
  expect((await guests(b)).sort()).toEqual(['before', 'meanwhile', large]);
});

it('[replication 8.5] where nobody leads in time, nothing was done, and the answer says so', async () => {
  await b.part.membership.drain(true);
  await kill(a, porter);
  const begun = performance.now();
  const { status, text, headers } = await checkIn(b, 'never');
  expect(performance.now() - begun).toBeGreaterThan(limits.waitLeaderMillis / 2);
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  expect(text).toMatch(/database\.noLeader.*Nothing was done/s);
  await b.part.membership.drain(false);
  await until(() => roleAt(b, porter) === 'leader');
  expect(await guests(b)).toEqual([]);
});

it('[replication 8.4] what was sent and is not answered has an unknown outcome, and is not sent again', async () => {
  expect((await checkIn(b, 'before')).status).toBe(200);
  services.engine.cut('a');
  // The leader runs it, and can neither acknowledge it nor learn that it has lost the database.
  const { status, text } = await checkIn(b, 'lost');
  expect([status, text]).toEqual([503, expect.stringContaining('outcome: unknown')]);
  expect(roleAt(b, porter)).toBe('leader');
  expect(await guests(b)).toEqual(['before']);
  expect((await checkIn(b, 'after')).status).toBe(200);
  services.engine.heal('a');
  await until(() => a.part.isLedElsewhere(porter));
  const through = await checkIn(a, 'through a');
  expect([through.status, through.headers.get('reducerdb-leader')]).toEqual([200, 'http://b.test']);
  expect((await guests(a)).sort()).toEqual(['after', 'before', 'through a']);
});
