import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { ConfigurationError } from '../../src/service/configuration.ts';
import { checkDataFolder, securePermissions } from '../../src/service/data-folder.ts';
import { startService } from '../../src/service/start-service.ts';
import { hostileSource } from '../hostile/programs.ts';

let folder = '';
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), 'reducerdb-permissions-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

const start = () =>
  startService({
    listen: { host: '127.0.0.1', port: 0 },
    dataDirectory: folder,
    placement: 'local',
    logLevel: 'silent',
  });

async function publish(url: string, name: string): Promise<void> {
  const body = new Uint8Array((await buildModule(hostileSource('runs-code'))).program);
  const where = `${url}/v1/database/${name}?host_type=Js`;
  expect((await fetch(where, { method: 'PUT', body })).status).toBe(200);
}

const write = (url: string, name: string) =>
  fetch(`${url}/v1/database/${name}/call/write`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '["kept"]',
  });

/** Every file and folder below, with what others may do with it. */
function loose(below: string): string[] {
  return fs
    .readdirSync(below, { recursive: true, encoding: 'utf8' })
    .filter((name) => (fs.lstatSync(path.join(below, name)).mode & 0o077) !== 0)
    .filter((name) => !name.endsWith('id_ecdsa.pub'));
}

describe.runIf(process.platform !== 'win32')('the data folder', () => {
  it('[rulings 3.5] is for the user of the service alone, also one that an earlier version made', async () => {
    const before = process.umask(0o022);
    try {
      const first = await start();
      await publish(first.url, 'one');
      await write(first.url, 'one');
      await first.stop();
    } finally {
      process.umask(before);
    }
    expect(loose(folder)).toEqual([]);

    for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (name.startsWith('keys')) continue;
      const place = path.join(folder, name);
      fs.chmodSync(place, fs.statSync(place).isDirectory() ? 0o755 : 0o644);
    }
    fs.chmodSync(folder, 0o755);
    const said: string[] = [];
    securePermissions(folder, (level, message) => said.push(`${level}: ${message}`));
    expect(said.length).toBe(1);
    expect(said[0]).toMatch(/^info: Other users could read \d+ entries of .*; they no longer can$/);
    expect(loose(folder)).toEqual([]);
    expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
    securePermissions(folder, (level, message) => said.push(`${level}: ${message}`));
    expect(said.length).toBe(1);

    const again = await start();
    expect((await write(again.url, 'one')).status).toBe(200);
    await again.stop();
  });

  it('[rulings 3.5] with a link in the place of a database has that database broken, and no other', async () => {
    const first = await start();
    await publish(first.url, 'linked');
    await publish(first.url, 'sound');
    const identity = await (await fetch(`${first.url}/v1/database/linked/identity`)).text();
    await first.stop();
    const place = path.join(folder, 'databases', identity);
    const log = fs.readdirSync(place).find((name) => name.startsWith('log-')) ?? '';
    fs.renameSync(path.join(place, log), path.join(folder, 'moved'));
    fs.symlinkSync(path.join(folder, 'moved'), path.join(place, log));

    const again = await start();
    expect((await write(again.url, 'sound')).status).toBe(200);
    const refused = await write(again.url, 'linked');
    expect(refused.status).toBe(500);
    expect(await refused.text()).toContain('is a symbolic link');
    await again.stop();
    const findings = await checkDataFolder(folder);
    const refusals = findings.filter(({ state }) => state !== 'intact');
    const detail = expect.stringContaining('is a symbolic link');
    const linked = path.relative(folder, path.join(place, log));
    expect(refusals).toEqual([
      { log: linked, state: 'unreadable', commits: '', history: '', snapshots: '', detail },
    ]);
  });

  it('may itself be reached by a link', async () => {
    const real = path.join(folder, 'real');
    const link = path.join(folder, 'link');
    fs.mkdirSync(real);
    fs.symlinkSync(real, link);
    const linked = () =>
      startService({
        listen: { host: '127.0.0.1', port: 0 },
        dataDirectory: link,
        logLevel: 'silent',
        isolation: { everywhere: 'process' },
      });
    const first = await linked();
    await publish(first.url, 'one');
    expect((await write(first.url, 'one')).status).toBe(200);
    await first.stop();
    const findings = await checkDataFolder(link);
    expect(findings.map(({ state }) => state)).toEqual(['intact', 'intact']);

    const again = await linked();
    expect((await write(again.url, 'one')).status).toBe(200);
    await again.stop();
    expect(fs.readdirSync(real)).toContain('databases');
  });

  it('[rulings 3.5] with a link in the place of a part is not opened', async () => {
    fs.mkdirSync(path.join(folder, 'elsewhere'));
    fs.symlinkSync(path.join(folder, 'elsewhere'), path.join(folder, 'databases'));
    await expect(start()).rejects.toThrow(ConfigurationError);
    await expect(start()).rejects.toThrow(/databases is a symbolic link, which is not followed/);
  });
});
