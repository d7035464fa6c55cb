import path from 'node:path';
import { expect, it } from 'vitest';
import { Sandbox } from './harness.ts';
import { unpackOldData } from './old-data.ts';
import { Remote } from './remote.ts';

it('[living 1.1, 1.4, 1.11] a data folder with schedules opens, and they go on', async () => {
  const sandbox = await Sandbox.make();
  try {
    unpackOldData(path.join(sandbox.folder, 'root/data'), 'data-folder-schedules');
    const service = await sandbox.start(['--isolation', 'thread']);
    const remote = await Remote.of(sandbox.url);
    const ran = () => remote.rows('planned', 'SELECT what FROM ran');
    await expect.poll(ran).toEqual([['soon']]);
    const left = await remote.rows('planned', 'SELECT what FROM job ORDER BY id');
    expect(left).toEqual([['fails'], ['each two years']]);
    expect(await service.stop()).toBe(0);

    const again = await sandbox.start(['--isolation', 'process', '--operator', remote.identity]);
    const { status, text } = await remote.ask('GET', '/v1/database/planned/schedules');
    expect([status, text]).toEqual([200, expect.any(String)]);
    const [job, retried, yearly] = JSON.parse(text).schedules;
    expect(retried).toMatchObject({ name: 'job', state: 'retrying', row: '1' });
    expect(job).toMatchObject({ state: 'armed', armed_rows: 2 });
    const next = new Date(yearly.next_due / 1_000);
    expect(next.getTime()).toBeGreaterThan(Date.now());
    expect(next.toISOString()).toMatch(/-12-31T23:00:00\.000Z$/);
    expect(await ran()).toEqual([['soon']]);
    expect(await again.stop()).toBe(0);
  } finally {
    sandbox.remove();
  }
});
