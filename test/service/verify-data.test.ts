import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Sandbox } from './harness.ts';
import { unpackOldData } from './old-data.ts';

let sandbox: Sandbox;
let data: string;
beforeEach(async () => {
  sandbox = await Sandbox.make();
  data = path.join(sandbox.folder, 'root/data');
  unpackOldData(data);
});
afterEach(() => sandbox.remove());

/** The only log of a database, relative to the data folder. */
function log(): string {
  const [identity = ''] = readdirSync(path.join(data, 'databases'));
  return path.join('databases', identity, 'log-1');
}

function segmentOf(folder: string): string {
  const names = readdirSync(path.join(data, folder));
  return path.join(data, folder, names.find((name) => name.endsWith('.log')) ?? '');
}

describe('a data folder of an earlier version', () => {
  it('[durability 5] opens with its rows, goes on, and has marks afterwards', async () => {
    const before = await sandbox.ok(['verify']);
    expect(before).toMatch(/^ registry +\| intact +\| \d+ /m);
    expect(before).toMatch(/^ databases\/\S+ +\| intact +\| 12 /m);
    const mark = () => readFileSync(path.join(data, log(), 'durable'), 'hex');
    for (const [count, isolation] of [[3, 'thread'] as const, [4, 'process'] as const]) {
      const service = await sandbox.start(['--isolation', isolation]);
      const rows = await sandbox.ok(['sql', 'counted', 'SELECT * FROM entry']);
      expect(rows.trim().split('\n')).toHaveLength(2 + count);
      // The mark follows while the service runs.
      const older = mark();
      await sandbox.ok(['call', 'counted', 'append', '4']);
      await expect.poll(mark, { timeout: 20_000 }).not.toBe(older);
      expect(await service.stop()).toBe(0);
      for (const folder of ['registry', log()]) {
        expect(existsSync(path.join(data, folder, 'durable'))).toBe(true);
      }
    }
    expect(await sandbox.ok(['verify'])).not.toMatch(/damaged|missing/);
  });
});

it('[cli 7.7] a log that cannot be read is reported, and so are all others', async () => {
  symlinkSync('/dev/null', path.join(data, log(), 'link'));
  const { code, stdout, stderr } = await sandbox.run(['verify']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ registry +\| intact /m);
  expect(stdout).toMatch(/^ databases\/\S+ +\| unreadable /m);
  expect(stdout).toMatch(/\/link.* symbolic link/);
  expect(stderr).toContain('1 of 2 logs are unreadable.');
});

it('[cli 7.7] a log without its first segment says what to do', async () => {
  const segment = segmentOf(log());
  const name = path.basename(segment).replace(/^commit-0{7}1-/, 'commit-00000002-');
  expect(name).not.toBe(path.basename(segment));
  renameSync(segment, path.join(path.dirname(segment), name));
  const { stdout } = await sandbox.run(['verify']);
  expect(stdout).toMatch(/segment 1 is missing .*Restore it from a backup/);
});

it('[history 3.20] the extent of each history is shown, and files that were set aside', async () => {
  const aside = `${path.basename(segmentOf(log()))}.torn-1`;
  writeFileSync(path.join(data, log(), aside), 'cut off');
  const shown = await sandbox.ok(['verify', '--deep']);
  expect(shown).toMatch(/^ LOG +\| STATE +\| COMMITS \| HISTORY +\| SNAPSHOTS \| DETAIL +\n/);
  expect(shown).toMatch(/^ databases\/\S+\/log-1 +\| intact +\| 12 +\| 1-12 +\| 0 +\| +$/m);
  expect(shown).toMatch(/^ databases\/\S+\.torn-1 +\| set aside +\| /m);
});

describe('a registry that lacks its end', () => {
  it('[P10] stops the start, and the loss can be accepted', async () => {
    expect(await (await sandbox.start()).stop()).toBe(0);
    const segment = segmentOf('registry');
    const bytes = readFileSync(segment);
    // More than the record of the stop, and less than all that this start has added.
    writeFileSync(segment, bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) - 60));
    expect((await sandbox.run(['verify'])).stdout).toMatch(/^ registry +\| damaged /m);
    const refused = await sandbox.run(['start', '--listen-addr', '127.0.0.1:0']);
    expect(refused.code).toBe(1);
    const line = refused.stderr.slice(refused.stderr.indexOf('Error: '));
    const advice = /--accept-loss-after (0{63}1:\d+)/.exec(line)?.[1] ?? '';
    expect(line).toMatch(/it ends at offset \d+, but \d+ was durable: 1 commit is missing; /);
    const flags = ['--accept-loss-after', advice];
    const service = await sandbox.startAt(sandbox.port, flags);
    expect(await sandbox.ok(['sql', 'counted', 'SELECT * FROM entry'])).toContain(' 3 ');
    expect(service.output).toContain('The registry: the loss of what followed offset');
    expect(await service.stop()).toBe(0);
    const kept = readdirSync(path.join(data, 'registry')).filter((name) => name.includes('.torn-'));
    expect(kept).toHaveLength(1);
    expect(await sandbox.ok(['verify'])).not.toMatch(/damaged|missing/);
    const again = await sandbox.run(['start', '--listen-addr', '127.0.0.1:0', ...flags]);
    expect(again).toMatchObject({ code: 1 });
    expect(again.stderr).toContain('is complete');
  });
});

describe('verify, against the registry', () => {
  /** What `verify` prints, which fails. */
  async function fault(summary: string): Promise<string> {
    const { code, stdout, stderr } = await sandbox.run(['verify']);
    expect([code, stderr]).toEqual([1, `Error: ${summary}\n`]);
    return stdout;
  }

  it.each([
    [
      'folder',
      () => rmSync(path.join(data, log()), { recursive: true }),
      'its folder is not there',
    ],
    [
      'folder of a database',
      () => rmSync(path.join(data, path.dirname(log())), { recursive: true }),
      'its folder is not there',
    ],
    [
      'folder of all databases',
      () => rmSync(path.join(data, 'databases'), { recursive: true }),
      'its folder is not there',
    ],
    ['log', () => rmSync(segmentOf(log())), 'its files are not there'],
  ])('[durability 5] a missing %s is an error', async (_what, spoil, detail) => {
    const folder = log();
    spoil();
    const found = await fault('1 of 2 logs are missing.');
    expect(found).toMatch(/^ registry +\| intact /m);
    expect(found).toContain(` ${folder} | missing `);
    expect(found).toContain(`the registry names this log, but ${detail}; restore it from a backup`);
  });

  it.each([
    [0, 'its files are not there'],
    [128, 'it holds no commit'],
  ])('[durability 5] an empty log, of %i bytes, is an error', async (length, detail) => {
    const segment = segmentOf(log());
    writeFileSync(segment, readFileSync(segment).subarray(0, length));
    expect(await fault('1 of 2 logs are missing.')).toContain(detail);
  });

  it('[durability 5] a missing registry is an error, also when its folder is left', async () => {
    const registry = path.join(data, 'registry');
    rmSync(segmentOf('registry'));
    for (const isThere of [true, false]) {
      if (!isThere) rmSync(registry, { recursive: true });
      const found = await fault('1 of 2 logs are missing.');
      expect(found).toMatch(/^ registry +\| missing .* the list of databases is missing/m);
      expect(found).toMatch(/^ databases\/\S+ +\| intact /m);
      const started = await sandbox.run(['start', '--listen-addr', '127.0.0.1:0']);
      expect(started).toMatchObject({ code: 1 });
      expect(started.stderr).toContain('holds databases but no registry of them');
    }
  });

  it('[durability 5] what the registry does not name is checked, and may be empty', async () => {
    const left = path.join(data, path.dirname(log()), 'log-2');
    cpSync(path.join(data, log()), left, { recursive: true });
    expect(await sandbox.ok(['verify'])).toMatch(/log-2 +\| intact/);
    for (const name of readdirSync(left)) rmSync(path.join(left, name));
    expect(await sandbox.ok(['verify'])).toMatch(/log-2 +\| absent/);
  });
});
