import { spawn } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isolations } from '../../src/host/workers/isolation.ts';
import { someOf } from '../support/share.ts';
import { bombs, deep } from './hard-programs.ts';
import { freePort, RunningService, root } from './harness.ts';
import { type GoodPrograms, goodPrograms, LinkingService } from './linking-service.ts';

/**
 * Each ends at a bound of another kind: nesting, memory, time, size. `test/long/linking.long.ts` has
 * all bombs.
 */
const someBombs = someOf(
  [
    '2 MB of importExpressionN',
    'a template in a template',
    'a chain of +',
    'a source map of empty lines',
  ],
  2,
);

/** The engine's own recursions: in brackets, in operators, in statements, in calls. */
const someDeep = someOf(['brackets', '?:', 'else if', 'calls'], 2);

describe('linking', { timeout: 600_000 }, () => {
  let linking: LinkingService;
  let good: GoodPrograms;

  beforeAll(async () => {
    good = await goodPrograms();
  });
  afterEach(() => linking.end());

  it(`of a hostile program keeps nobody from publishing, calling or reopening (${someBombs})`, async () => {
    linking = await LinkingService.start();
    expect((await linking.publish('neighbour', good.one)).status).toBe(200);
    const heavy = linking.publish('heavy', 'a;'.repeat(15_000_000));
    expect((await linking.publish('meanwhile', good.two)).status).toBe(200);
    expect((await heavy).status).toBe(500);
    for (const name of someBombs) await linking.withstand(name, bombs[name]?.() ?? '', good);
    await linking.expectWhole();
  });

  it(`of deep programs ends in words, and ends no worker (${someDeep})`, async () => {
    linking = await LinkingService.start();
    expect((await linking.publish('neighbour', good.one)).status).toBe(200);
    for (const name of someDeep) await linking.withstandDeep(name, deep[name] ?? '');
    await linking.expectWhole();
  });

  it.runIf(existsSync('/proc/self/statm'))(
    'goes on when a linker is killed, and leaves none behind when the service is',
    async () => {
      linking = await LinkingService.start();
      const attack = linking.publish('large', 'a;'.repeat(600_000));
      await expect.poll(() => linking.linkers().length).toBeGreaterThan(0);
      for (const pid of linking.linkers()) process.kill(pid, 'SIGKILL');
      expect((await linking.publish('other', good.one)).status).toBe(200);
      await attack;
      const again = linking.publish('larger', 'a;'.repeat(10_000_000)).catch(() => undefined);
      await expect.poll(() => linking.linkers().length).toBeGreaterThan(0);
      const pids = linking.linkers();
      await linking.service.stop('SIGKILL');
      await again;
      const commandOf = (pid: number) => {
        const file = `/proc/${pid}/cmdline`;
        return existsSync(file) ? readFileSync(file, 'utf8') : '';
      };
      await expect.poll(() => pids.filter((pid) => commandOf(pid) !== '')).toEqual([]);
    },
  );

  for (const isolation of someOf(isolations)) {
    it(`is not done again when databases are opened (${isolation})`, async () => {
      linking = await LinkingService.start(['--isolation', isolation]);
      expect((await linking.publish('shop', good.one)).status).toBe(200);
      expect((await linking.publish('shop', good.two)).status).toBe(200);
      expect((await linking.publish('desk', good.one)).status).toBe(200);
      expect(await linking.call('shop', 'a')).toBe(200);
      await expect.poll(() => linking.linked().length).toBe(3);
      await linking.service.stop();

      // The same package, whose linker ends as soon as it is started.
      const lamed = path.join(root, `node_modules/.cache/reducerdb/lamed-${process.pid}`);
      cpSync(path.join(root, 'dist'), path.join(lamed, 'dist'), { recursive: true });
      cpSync(path.join(root, 'package.json'), path.join(lamed, 'package.json'));
      symlinkSync(path.join(root, 'node_modules'), path.join(lamed, 'node_modules'));
      writeFileSync(path.join(lamed, 'dist/host/linker-main.bundle.mjs'), 'process.exit(1);\n');
      const port = await freePort();
      const flags = [
        '--listen-addr',
        `127.0.0.1:${port}`,
        '--log-level',
        'warn',
        '--isolation',
        isolation,
      ];
      const folders = ['--root-dir', path.join(linking.sandbox.folder, 'root'), 'start'];
      const data = ['--data-dir', path.join(linking.sandbox.folder, 'data')];
      const args = [path.join(lamed, 'dist/cli/main.js'), ...folders, ...flags, ...data];
      try {
        linking.service = new RunningService(
          spawn(process.execPath, args),
          `http://127.0.0.1:${port}`,
        );
        await linking.service.untilReady();
        expect(await linking.call('shop', 'b')).toBe(200);
        expect(await linking.call('desk', 'c')).toBe(200);
        expect(await linking.texts('shop')).toEqual(['two a', 'two b']);
        expect(await linking.publish('fresh', good.one)).toMatchObject({
          status: 500,
          text: expect.stringContaining('the linker ended twice (exit code 1); try again'),
        });
      } finally {
        rmSync(lamed, { recursive: true });
      }
    });
  }

  it('is done again for data of an earlier version, and for files that are damaged', async () => {
    linking = await LinkingService.start();
    expect((await linking.publish('shop', good.one)).status).toBe(200);
    expect(await linking.call('shop', 'a')).toBe(200);
    const [name = ''] = linking.linked();
    const file = path.join(linking.sandbox.folder, 'data/databases', name);
    const kept = readFileSync(file);
    for (const spoil of ['gone', 'damaged'] as const) {
      await linking.service.stop();
      if (spoil === 'gone') rmSync(path.dirname(file), { recursive: true });
      else writeFileSync(file, kept.subarray(0, 200));
      linking.service = await linking.sandbox.start([
        '--data-dir',
        path.join(linking.sandbox.folder, 'data'),
      ]);
      expect(await linking.call('shop', spoil)).toBe(200);
      expect(readFileSync(file).equals(kept), spoil).toBe(true);
      expect(linking.service.output.includes('links its program again'), spoil).toBe(
        spoil === 'damaged',
      );
    }
    expect(await linking.texts('shop')).toEqual(['one a', 'one gone', 'one damaged']);
  });
});
