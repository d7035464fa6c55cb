import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { databaseIn, type LogName } from '../../src/shared-log/log-name.ts';
import type { SharedLog } from '../../src/shared-log/shared-log.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import { type ClusterService, ClusterServices, until } from '../support/cluster-services.ts';

let services: ClusterServices;
/** Leads the database at first. */
let a: ClusterService;
let b: ClusterService;
let ledger: DatabaseIdentity;
let path: string;
let ada: Caller;
/** Changes nothing at all, not even by its connections: they are no commits. */
let reader: Caller;
/** What host `a` has asked the engine about the database. */
let askedCount = 0;

beforeAll(async () => {
  const leased = new CountedServices();
  leased.isReadByLease = true;
  const pair = await startPair('ledger', await program('ledger'), { placement: 'worker' }, leased);
  ({ services, a, b, owner: ada, identity: ledger } = pair);
  path = `/v1/database/${identityToHex(ledger)}`;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ read_only: true, features: ['read-only'] });
  const { status, text } = await ask(a, 'POST', `${path}/tokens`, { as: ada, body, headers });
  expect([status, text]).toEqual([200, expect.stringContaining('token')]);
  reader = JSON.parse(text);
});
afterAll(() => services.close());

/** Counts what host `a` asks. */
class CountedServices extends ClusterServices {
  override start(...[name, given]: Parameters<ClusterServices['start']>) {
    return super.start(name, given, name === 'a' ? counted : undefined);
  }
}

function counted(inner: SharedLog): SharedLog {
  const count = (logs: readonly LogName[]): void => {
    askedCount += logs.filter((log) => databaseIn(log) === ledger).length;
  };
  return {
    append: (items) => {
      count(items.map(({ log }) => log));
      return inner.append(items);
    },
    confirm: (items) => {
      count(items.map(({ log }) => log));
      return inner.confirm(items);
    },
    read: (log, ...more) => {
      count([log]);
      return inner.read(log, ...more);
    },
    wait: (...given) => inner.wait(...given),
    truncate: (...given) => inner.truncate(...given),
    create: (...given) => inner.create(...given),
    remove: (log) => inner.remove(log),
    capabilities: () => inner.capabilities(),
  };
}

async function write(at: ClusterService, number: number): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify([1, number]);
  const { status, text } = await ask(at, 'POST', `${path}/call/append`, { as: ada, body, headers });
  expect([status, text]).toEqual([200, expect.anything()]);
}

const read = (at: ClusterService, query = '') =>
  ask(at, 'POST', `${path}/sql${query}`, { as: reader, body: 'SELECT number FROM entry' });

/** True if a confirmed read of the leader was answered without a word to the engine. */
async function isReadAlone(): Promise<boolean> {
  const before = askedCount;
  expect((await read(a)).status).toBe(200);
  return askedCount === before;
}

it('[replication 5.11] a confirmed read behind a commit asks the engine for nothing', async () => {
  let number = 0;
  await until(async () => {
    number += 1;
    await write(a, number);
    return isReadAlone();
  });
  expect((await read(a)).text).toContain(`[${number}]`);
});

it('[replication 5.11] reads alone keep a lease, too', async () => {
  // What was written is told to followers, by an entry. Then nothing is, for longer than a lease
  // lasts: the first read asks.
  await sleep(limits.settleMillis + limits.leaseMillis);
  expect(await isReadAlone()).toBe(false);
  await until(isReadAlone);
});

it('[replication 5.11] another host waits a lease though the leader seems gone, which then answers no more', async () => {
  const writtenAt = performance.now();
  await write(a, 7_001);
  // It stays with the old primary, which answers reads, and it hears of nothing else.
  services.engine.promote(['a']);
  b.part.membership.refuses(a.part.forHost.me.boot);
  b.service.host.replication.wake(ledger);
  await until(() => b.part.placeOf(ledger).kind === 'here');
  expect(performance.now() - writtenAt).toBeGreaterThan(limits.leaseMillis);
  expect(a.part.placeOf(ledger).kind).toBe('here');
  await write(b, 7_002);
  const unconfirmed = read(a, '?confirmed=false');
  const confirmed = read(a);
  expect((await unconfirmed).text).not.toContain('7002');
  services.engine.rejoin('a');
  const { status, text } = await confirmed;
  if (status === 200) expect(text).toContain('7002');
  else expect([status, text]).toEqual([503, expect.stringMatching(/lost it|Nothing was done/)]);
});
