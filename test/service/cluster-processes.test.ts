import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { childrenOf, spawnersOf, titleOf } from '../support/process-tree.ts';
import { itemsModule } from './cli-support.ts';
import { ServiceCluster } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import { writtenFrom } from './written-module.ts';

describe.skipIf(withoutPostgres !== undefined)('databases of a cluster in processes', () => {
  let cluster: ServiceCluster;
  let a: RunningService;
  let b: RunningService;
  const flags = ['--isolation', 'process'];

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    await cluster.appoint();
    a = await cluster.host('a', flags);
    b = await cluster.host('b', flags);
  });
  afterAll(() => cluster?.close());

  /** The processes of databases at a host. */
  const processesAt = ({ child }: RunningService) =>
    spawnersOf(child.pid ?? Number.NaN)
      .flatMap(childrenOf)
      .filter((pid) => /^reducerdb [0-9a-f]{16}$/.test(titleOf(pid)));
  const copiesOf = async (name: string) => {
    const { databases } = JSON.parse(await cluster.ok(b, ['cluster', 'databases', '--json']));
    return databases.find(({ names }: { names: string[] }) => names.includes(name));
  };

  it('[replication 16.2, 8.4] follow, are handed over, and survive their host and process', async () => {
    const owner = await cluster.owner(a);
    const made = await owner.upload('shop', await writtenFrom(itemsModule()));
    expect(made).toMatchObject({ status: 200 });
    const there = owner.at(b.url);
    const names = async () => (await there.rows('shop', 'SELECT name FROM items')).flat().sort();
    await expect.poll(() => processesAt(b)).toHaveLength(1);
    expect(processesAt(a)).toHaveLength(1);
    // More than one entry, and more than one frame holds.
    const long = 'x'.repeat(600_000);
    for (const letter of ['a', 'b', 'c']) {
      expect((await there.call('shop', 'add', [letter + long])).status).toBe(200);
    }
    await expect.poll(async () => (await copiesOf('shop'))?.copies).toHaveLength(2);

    // The process that leads ends; what it had acknowledged is there when it is opened again.
    for (const pid of processesAt(a)) process.kill(pid, 'SIGKILL');
    await expect.poll(async () => (await there.call('shop', 'add', ['d'])).status).toBe(200);
    expect(await names()).toEqual([`a${long}`, `b${long}`, `c${long}`, 'd']);

    // So does the one that follows, which follows again.
    for (const pid of processesAt(b)) process.kill(pid, 'SIGKILL');
    await expect
      .poll(() => cluster.run(a, ['cluster', 'move', 'shop', 'b']))
      .toMatchObject({ code: 0, stdout: 'shop is led by b.\n' });
    expect((await owner.call('shop', 'add', ['e'])).status).toBe(200);

    // And its host: the other one leads again.
    await b.stop('SIGKILL');
    await expect.poll(async () => (await owner.call('shop', 'add', ['f'])).status).toBe(200);
    const rows = (await owner.rows('shop', 'SELECT name FROM items')).flat().sort();
    expect(rows).toEqual([`a${long}`, `b${long}`, `c${long}`, 'd', 'e', 'f']);
  });
});
