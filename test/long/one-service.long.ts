import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { itemsModule, writeBundle } from '../service/cli-support.ts';
import {
  addItem,
  flock,
  lacksContainers,
  startInContainer,
  whyWithout,
} from '../service/container.ts';
import { type RunningService, Sandbox } from '../service/harness.ts';

let sandbox: Sandbox;
let first: RunningService | undefined;
let second: RunningService | undefined;

beforeEach(async () => {
  sandbox = await Sandbox.make();
});
afterEach(async () => {
  await Promise.all([first?.stop('SIGKILL'), second?.stop('SIGKILL')]);
  sandbox.remove();
});

async function names(url: string, database: string): Promise<string> {
  const where = `${url}/v1/database/${database}/sql`;
  const answer = await fetch(where, { method: 'POST', body: 'SELECT name FROM items' });
  return answer.text();
}

it('[cli 8] a service that cannot lock supersedes one that it does not see', async ({ skip }) => {
  skip(lacksContainers, whyWithout);
  first = await sandbox.start(['--isolation', 'thread', '--isolation-of', 'apart=process']);
  const bundle = await writeBundle(sandbox, 'items', itemsModule());
  const databases = ['shared', 'apart'];
  for (const name of databases) {
    await sandbox.ok(['publish', name, '-j', bundle]);
    expect(await addItem(first.url, name, 'before')).toMatchObject({ status: 200 });
  }
  rmSync(path.join(sandbox.folder, 'root/data/reducerdb.pid'));

  second = await startInContainer(sandbox, `mount --bind /dev/null ${flock}`);
  await second.untilReady();
  expect(second.output).toContain('cannot be locked in the kernel');
  for (const name of databases) {
    const { status, text } = await addItem(first.url, name, 'lost');
    expect(status).toBe(500);
    expect(text).toContain('another service has taken over the data folder');
    expect((await addItem(second.url, name, 'after')).status).toBe(200);
    // It is final: the first service does not take the folder back.
    expect((await addItem(first.url, name, 'lost')).status).toBe(500);
    const rows = await names(second.url, name);
    expect(rows).toContain('before');
    expect(rows).toContain('after');
    expect(rows).not.toContain('lost');
  }
  const lines = first.output.split('\n').filter((line) => line.includes('taken over the data'));
  expect(lines).toHaveLength(databases.length);
  for (const line of lines) expect(line).toMatch(/"level":50.*no longer serves/);

  expect(await first.stop()).toBe(0);
  await second.stop('SIGKILL');
  const found = await sandbox.ok(['verify']);
  expect(found.match(/intact|torn/g)).toHaveLength(databases.length + 1);
}, 120_000);
