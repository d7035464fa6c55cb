import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { itemsModule } from './cli-support.ts';
import { ServiceCluster } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import { writtenFrom } from './written-module.ts';

describe.skipIf(withoutPostgres !== undefined)('a leader whose disk is full', () => {
  let cluster: ServiceCluster;
  let a: RunningService;
  let b: RunningService;
  let disk: string;
  let isMounted = false;

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    await cluster.appoint();
    a = await cluster.host('a');
    disk = cluster.folder('b');
    mkdirSync(disk);
    const args = ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk];
    isMounted = process.platform === 'linux' && spawnSync('mount', args).status === 0;
    b = await cluster.host('b');
  });
  afterAll(async () => {
    if (isMounted) spawnSync('umount', ['-l', disk]);
    await cluster?.close();
  });

  const placed = async () => {
    const { databases } = JSON.parse(await cluster.ok(a, ['cluster', 'databases', '--json']));
    return databases.find(({ names }: { names: string[] }) => names.includes('shop'));
  };

  it('[replication 13.3] is followed by another host, and leads again when it is asked to', async (context) => {
    if (!isMounted) return context.skip('no file system can be mounted here');
    const owner = await cluster.owner(b);
    expect((await owner.upload('shop', await writtenFrom(itemsModule()))).status).toBe(200);
    await expect.poll(async () => (await placed())?.copies).toHaveLength(2);
    const warm = ({ host, warm }: { host: string; warm?: boolean }) =>
      host === 'a' && warm === true;
    await expect.poll(async () => (await placed())?.copies.some(warm)).toBe(true);
    const ballast = path.join(disk, 'ballast');
    const { bavail, bsize } = statfsSync(disk);
    try {
      writeFileSync(ballast, new Uint8Array(bavail * bsize));
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
    // It writes until there is no room, and then others do, at both addresses.
    const kept: string[] = [];
    const there = owner.at(a.url);
    const add = async (at: typeof owner): Promise<number> => {
      const name = `${kept.length} ${'x'.repeat(60_000)}`;
      const { status } = await at.call('shop', 'add', [name]);
      if (status === 200) kept.push(name);
      return status;
    };
    await expect
      .poll(async () => {
        await add(owner);
        return (await placed())?.leader;
      })
      .toBe('a');
    await expect.poll(() => add(there)).toBe(200);
    await expect.poll(() => add(owner)).toBe(200);
    const rows = (await there.rows('shop', 'SELECT name FROM items')).flat();
    expect(rows).toEqual(expect.arrayContaining(kept));

    rmSync(ballast);
    await expect
      .poll(() => cluster.run(a, ['cluster', 'move', 'shop', 'b']))
      .toMatchObject({ code: 0 });
    await expect.poll(() => add(there)).toBe(200);
    const all = (await owner.rows('shop', 'SELECT name FROM items')).flat();
    expect(all).toEqual(expect.arrayContaining(kept));
  });
});
