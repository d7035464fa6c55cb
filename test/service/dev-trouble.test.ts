import { cpSync, renameSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { DevDesk, edit, isAlive } from './dev-support.ts';

const desks: DevDesk[] = [];

async function desk(): Promise<DevDesk> {
  const made = await DevDesk.make();
  desks.push(made);
  return made;
}

afterEach(async () => {
  for (const one of desks.splice(0)) await one.remove();
});

const all = 'SELECT name FROM items ORDER BY id';

describe('reducerdb dev in trouble', () => {
  it('[console 3.5] runs several projects at once; a busy port is named', async () => {
    const [one, other] = [await desk(), await desk()];
    const first = await one.watching();
    const second = other.dev(['--server-only'], one.sandbox.port);
    await second.says(`port ${one.sandbox.port} is busy: the service takes `);
    await second.says('watching.');
    await first.call('add', ['tea']);
    await second.call('add', ['milk']);
    expect(await first.sql(all)).toEqual([['tea']]);
    expect(await second.sql(all)).toEqual([['milk']]);
    // The project keeps its port when it has the choice.
    const { url } = second;
    await second.quit();
    const again = other.dev(['--server-only'], Number(new URL(url).port));
    await again.says(`service: ${url}`);
  });

  it('[console 3.5] starts a service again that was killed, with its rows', async () => {
    const own = await desk();
    const run = await own.watching();
    await run.call('add', ['tea']);
    const before = run.servicePid;
    process.kill(before, 'SIGKILL');
    await run.says('the service has ended: starting it again; what was committed is there');
    await run.says('service: ');
    expect(run.servicePid).not.toBe(before);
    expect(await run.sql(all)).toEqual([['tea']]);
    edit(path.join(own.folder, 'src/index.ts'), "'adding '", "'again '");
    await run.says(/published shop in \d+ ms/);
    await run.call('add', ['milk']);
    await run.says('again milk');
  });

  it('[console 3.5] finds the service that a killed dev has left, and ends it', async () => {
    const own = await desk();
    const first = await own.watching();
    const { servicePid } = first;
    first.child.kill('SIGKILL');
    await first.ended;
    const second = own.dev(['--server-only']);
    await second.says('found: an earlier dev left it running');
    await second.says('watching.');
    expect(second.servicePid).toBe(servicePid);
    const third = own.dev(['--server-only']);
    await third.says(`found: process ${second.child.pid} runs dev here, too`);
    await third.says('watching.');
    await third.quit();
    expect(isAlive(servicePid)).toBe(true);
    await second.quit();
    await expect.poll(() => isAlive(servicePid)).toBe(false);
  });

  it('[console 3.5] has its rows where the project was moved or copied to', async () => {
    const own = await desk();
    const first = await own.watching();
    await first.call('add', ['tea']);
    const moved = path.join(own.sandbox.folder, 'elsewhere');
    const before = own.folder;
    renameSync(before, moved);
    own.folder = moved;
    await first.says('was moved or deleted: dev ends. Start it where it is now.');
    expect(await first.ended).toBe(1);
    const second = own.dev(['--server-only']);
    await second.says(`this project was in ${before} before: its rows have come along`);
    await second.says('watching.');
    expect(await second.sql(all)).toEqual([['tea']]);
    await second.quit();
    const copy = path.join(own.sandbox.folder, 'copy');
    cpSync(moved, copy, { recursive: true });
    own.folder = copy;
    const third = own.dev(['--server-only']);
    await third.says(`this project is a copy of ${moved}: its rows are a copy, too`);
    await third.says('watching.');
    expect(await third.sql(all)).toEqual([['tea']]);
  });

  it('[console 3.5] looks again at everything after the machine slept', async () => {
    const own = await desk();
    const run = await own.watching();
    // What stands still for so long has slept, as far as it can tell.
    run.child.kill('SIGSTOP');
    const wake = setTimeout(
      () => run.child.kill('SIGCONT'),
      limits.devSleepMillisMin + 2 * limits.devLookMillis,
    );
    await run.says(/the machine slept for \d+ s: looking again at everything/);
    clearTimeout(wake);
    await run.call('add', ['tea']);
    await run.says('adding tea');
  });

  it('[console 3.5] says why a service does not start', async () => {
    const own = await desk();
    own.write({ '.reducerdb/data/config.toml': 'wrong = 1' });
    const run = own.dev(['--server-only']);
    expect(await run.ended).toBe(1);
    expect(run.output).toContain('the service does not start; ');
    expect(run.output).toContain('wrong');
  });
});
