import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HostOptions } from '../../src/host/host-options.ts';
import type { LinksPrograms } from '../../src/host/workers/worker-placement.ts';
import { ProgramError } from '../../src/module/runner.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';
import { sharedLinker } from '../support/shared-linker.ts';
import { shopModule } from '../support/shop-module.ts';

const isLeader = ({ kind }: { readonly kind: string }) => kind === 'leader';

let cluster: ClusterHosts;
let a: ClusterHost;
let shop: DatabaseIdentity;

beforeEach(async () => {
  cluster = new ClusterHosts('worker');
  a = await cluster.start('a');
});
afterEach(() => cluster.close());

/** A linker that counts, and links nothing while that is wanted. */
function watchedLinker() {
  const seen = { links: 0, isBroken: false };
  const makeLinker: HostOptions['makeLinker'] = (options): LinksPrograms => {
    const inner = sharedLinker(options);
    return {
      link: async (request) => {
        seen.links += 1;
        if (seen.isBroken) throw new ProgramError('it is of another world');
        return inner.link(request);
      },
      close: () => inner.close(),
    };
  };
  return { seen, makeLinker };
}

/** The leader's process ends, and the other host looks. */
function end(leader: ClusterHost, other: ClusterHost): void {
  leader.crash(shop);
  cluster.gone.add(leader.lead.boot);
  other.host.replication.wake(shop);
}

const isWarm = (host: ClusterHost) =>
  host.until(shop, (role) => role.kind === 'follower' && role.isAtEnd && role.isWarm);

it('[replication 9.8] a follower has its program loaded before it leads, each one that is published', async () => {
  const { seen, makeLinker } = watchedLinker();
  const b = await cluster.start('b', { makeLinker });
  shop = (await a.publish('shop')).identity;
  await isWarm(b);
  expect(seen.links).toBe(1);
  await a.publish('shop', shopModule({ more: 'export const more = db.reducer(() => {});' }));
  await expect.poll(() => seen.links).toBe(2);
  await isWarm(b);
  end(a, b);
  await b.until(shop, isLeader);
  await b.call(shop, 'add', 'after');
  expect(await b.items(shop)).toContain('after');
  expect(seen.links).toBe(2);
});

it('[replication 9.8, 9.9] one that cannot load it follows on, says so, and does not lead', async () => {
  const { seen, makeLinker } = watchedLinker();
  seen.isBroken = true;
  const b = await cluster.start('b', { makeLinker });
  shop = (await a.publish('shop')).identity;
  const role = await b.until(shop, (one) => one.kind === 'follower' && one.fault !== undefined);
  expect(role).toMatchObject({ fault: expect.stringContaining('another world'), isWarm: false });
  const told = () => b.reports.map(({ message }) => message).join('\n');
  await expect.poll(told).toContain('This host follows the database and does not lead it');
  const offset = await a.add(shop, 'goes on');
  await b.until(shop, (one) => one.kind === 'follower' && one.end.offset >= offset);
  // Another program, and it can lead.
  seen.isBroken = false;
  await a.publish('shop', shopModule({ more: 'export const more = db.reducer(() => {});' }));
  expect(await isWarm(b)).not.toHaveProperty('fault', expect.any(String));
  seen.isBroken = true;
  await a.publish('shop', shopModule({ more: 'export const other = db.reducer(() => {});' }));
  await b.until(shop, (one) => one.kind === 'follower' && one.fault !== undefined);
  end(a, b);
  for (let looks = 0; looks < 5; looks++) {
    b.host.replication.wake(shop);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(b.role(shop)).toMatchObject({ kind: 'follower', term: 1 });
});

it('[replication 9.8] one whose program runs too long when it is loaded is ended, and follows cold', async () => {
  const slow = shopModule({
    more: 'let sum = 0;\nfor (let at = 0; at < 4e8; at++) sum += at % 7;',
  });
  const b = await cluster.start('b', { budget: { publishMillisMax: 1 } });
  shop = (await a.publish('shop', slow)).identity;
  const role = await b.until(shop, (one) => one.kind === 'follower' && one.fault !== undefined);
  expect(role).toMatchObject({ fault: expect.stringContaining('before it served') });
  const offset = await a.add(shop, 'goes on');
  await b.until(shop, (one) => one.kind === 'follower' && one.end.offset >= offset);
  expect(b.role(shop)).toMatchObject({ kind: 'follower', isWarm: false });
});
