import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Version } from '../support/deploy-versions.ts';
import { bundleOf, deploysOf, wordOf } from './deploys-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { askRaw } from './raw-http.ts';

/** What was published, going back, and canaries: by the command, with services of their own. */

let sandbox: Sandbox;
let service: RunningService;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
}, 120_000);
afterAll(async () => {
  await service?.stop();
  sandbox?.remove();
});

async function publish(name: string, version: Version, ...flags: string[]) {
  const file = await bundleOf(sandbox, version);
  return sandbox.run(['publish', name, '--js-path', file, '-y', ...flags]);
}

const rows = (name: string) => sandbox.ok(['sql', name, 'SELECT text FROM note ORDER BY id']);

const restart = async (signal: NodeJS.Signals) => {
  service.child.kill(signal);
  await service.ended;
  service = await sandbox.start();
};

describe('[living 5.11] deploys', { timeout: 240_000 }, () => {
  it('are listed with who, when, what and why', async () => {
    await publish('shop', { word: 'one' }, '-m', 'the first');
    await publish('shop', { word: 'two', columns: 'size: t.u32().default(0),' }, '-m', 'sizes');
    const again = await publish('shop', { word: 'two', columns: 'size: t.u32().default(0),' });
    expect(again.code).toBe(0);
    const { running, deploys } = await deploysOf(sandbox, 'shop');
    expect(running).toBe(2);
    const who = (await sandbox.ok(['login', 'show'])).trim().split(' ').at(-1);
    expect(deploys).toMatchObject([
      { deploy: 2, kind: 'updated', by: who, message: 'sizes', kept: true, canary: null },
      { deploy: 1, kind: 'created', by: who, message: 'the first', plan: '', kept: true },
    ]);
    expect(deploys[0]?.plan).toContain('+ size: U32');
    expect(deploys[0]?.program).toMatch(/^[0-9a-f]{64}$/);
    expect(deploys[0]?.offset).toBeGreaterThan(deploys[1]?.offset ?? 0);
    const shown = await sandbox.ok(['deploys', 'shop']);
    expect(shown).toMatch(/2 \*.*updated: sizes/);
    expect(shown).toMatch(/1 .*created: the first/);
  });

  it('survive a kill -9, and end with what runs', async () => {
    await restart('SIGKILL');
    const { running, deploys } = await deploysOf(sandbox, 'shop');
    expect([running, deploys.map(({ message }) => message)]).toEqual([2, ['sizes', 'the first']]);
    expect(await wordOf(sandbox, 'shop')).toBe('two');
  });

  it('go back to an earlier program, which is a deploy itself', async () => {
    await publish('back', { word: 'one' });
    await sandbox.ok(['call', 'back', 'add', '"a"']);
    await publish('back', { word: 'two' }, '-m', 'broken');
    await sandbox.ok(['call', 'back', 'add', '"b"']);
    const unanswered = await sandbox.run(['rollback', 'back'], { input: 'no\n' });
    expect([unanswered.code, await wordOf(sandbox, 'back')]).toEqual([1, 'two']);
    const done = await sandbox.ok(['rollback', 'back', '-y', '-m', 'two was broken']);
    expect(done).toMatch(/Rolled back back to deploy 1, as deploy 3 at commit \d+\./);
    expect(await wordOf(sandbox, 'back')).toBe('one');
    expect(await rows('back')).toMatch(/one a[\s\S]*two b/);
    const { running, deploys } = await deploysOf(sandbox, 'back');
    expect(running).toBe(3);
    expect(deploys[0]).toMatchObject({ kind: 'rolled-back', of: 1, message: 'two was broken' });
    const further = await sandbox.run(['rollback', 'back', '-y']);
    expect([further.code, further.stderr]).toEqual([
      1,
      expect.stringContaining('There is no earlier program to go back to'),
    ]);
    await sandbox.ok(['rollback', 'back', '2', '-y']);
    expect(await wordOf(sandbox, 'back')).toBe('two');
  });

  it('are not left where rows would be lost, and say which, and how to get them back', async () => {
    await publish('full', { word: 'one' });
    const tables = 'const extra = table({}, { id: t.u32().primaryKey() });';
    const columns = 'size: t.u32().default(0),';
    const first = 'ctx.db.extra.insert({ id: 7 });';
    await publish('full', { word: 'two', tables, named: ', extra', columns });
    await publish('full', { word: 'three', tables, named: ', extra', columns, first });
    await sandbox.ok(['call', 'full', 'add', '"a"']);
    const { code, stderr } = await sandbox.run(['rollback', 'full', '1', '-y']);
    expect(code).toBe(1);
    expect(stderr).toContain('Rolling back to deploy 1 was refused; nothing was changed.');
    expect(stderr).toContain('- table `extra`: 1 row\n');
    expect(stderr).toContain('- column `size` of table `note`: its values in 1 row\n');
    expect(stderr).toMatch(/`reducerdb backup restore latest --database \w+ --at \d+ --in-place`/);
    expect(await wordOf(sandbox, 'full')).toBe('three');
    expect((await deploysOf(sandbox, 'full')).deploys).toHaveLength(3);
  });

  it('bring their static files back', async () => {
    const dist = path.join(sandbox.folder, 'dist');
    mkdirSync(dist, { recursive: true });
    const put = (text: string) => writeFileSync(path.join(dist, 'index.html'), text);
    const page = async () => {
      const headers: [string, string][] = [['Host', 'page.localhost']];
      const asked = { method: 'GET', target: '/', headers };
      return (await askRaw(sandbox.port, asked)).body.toString();
    };
    put('first');
    await publish('page', { word: 'one' }, '--static', dist);
    put('second');
    await publish('page', { word: 'two' }, '--static', dist);
    const before = await page();
    const done = await sandbox.ok(['rollback', 'page', '-y']);
    expect(done).toContain('Its static files are served again.');
    expect([before, await page()]).toEqual(['second', 'first']);
    const { deploys } = await deploysOf(sandbox, 'page');
    expect(deploys.map((one) => one.static)).toEqual([true, true, true]);
  });

  it('tell of resets, and begin with what runs where nothing was written down', async () => {
    await publish('old', { word: 'one' });
    await publish('old', { word: 'two' }, '--delete-data');
    expect((await deploysOf(sandbox, 'old')).deploys.map(({ kind }) => kind)).toEqual([
      'reset',
      'created',
    ]);
    await service.stop();
    const identity = /[0-9a-f]{64}/;
    const folder = path.join(sandbox.folder, 'root');
    removeDeploys(folder);
    service = await sandbox.start();
    const { running, deploys } = await deploysOf(sandbox, 'old');
    expect(deploys).toMatchObject([{ deploy: 1, kind: 'found', time: null, by: null, kept: true }]);
    expect([running, deploys[0]?.program]).toEqual([1, expect.stringMatching(identity)]);
    await publish('old', { word: 'three' });
    await sandbox.ok(['rollback', 'old', '-y']);
    expect(await wordOf(sandbox, 'old')).toBe('two');
  });
});

/** As in a data folder of an earlier version. */
function removeDeploys(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name !== 'deploys') continue;
    rmSync(path.join(entry.parentPath, entry.name), { recursive: true });
  }
}
