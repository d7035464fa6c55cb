import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemCommand } from './command-wrappers.ts';
import { DirectoryLockedError, lockDirectory } from './directory-lock.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-lock-'));
const script = path.join(root, 'lock.mjs');
let directory = '';
let file = '';

beforeAll(async () => {
  const source = fileURLToPath(new URL('./directory-lock.ts', import.meta.url));
  await build({
    stdin: {
      contents: `import { lockDirectory } from ${JSON.stringify(source)};
        try { lockDirectory(process.argv[2]); console.log('locked'); setInterval(() => {}, 1000); }
        catch (error) { console.log(error.message); }`,
      resolveDir: root,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile: script,
  });
});
afterAll(() => fs.rmSync(root, { recursive: true }));
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(root, 'data-'));
  file = path.join(fs.realpathSync(directory), 'reducerdb.pid');
});

/** Starts a process that tries to lock; resolves with its first line. */
async function contender(): Promise<{ line: string; pid: number; end: () => Promise<void> }> {
  const child = spawn(process.execPath, [script, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  const end = async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { line: String(chunk).trim(), pid: child.pid ?? 0, end };
}

describe('the lock of a directory', () => {
  it('is refused while this process has it, and free again after', () => {
    const lock = lockDirectory(directory);
    expect(() => lockDirectory(directory)).toThrow(
      `cannot take lock on database; ${file} already exists (owned by pid ${process.pid})`,
    );
    lock.release();
    lock.release();
    expect(fs.readdirSync(directory)).toEqual([]);
    lockDirectory(directory).release();
  });

  it('is refused while another process lives, and taken over once it was killed', async () => {
    const other = await contender();
    expect(other.line).toBe('locked');
    expect(() => lockDirectory(directory)).toThrow(DirectoryLockedError);
    expect(() => lockDirectory(directory)).toThrow(
      `cannot take lock on database; ${file} already exists (owned by pid ${other.pid})`,
    );
    await other.end();
    const lock = lockDirectory(directory);
    const second = await contender();
    expect(second.line).toContain(`(owned by pid ${process.pid})`);
    lock.release();
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  it('of a dead process goes to one only of several that want it', async () => {
    const dead = spawnSync(process.execPath, ['-e', '0']);
    fs.writeFileSync(file, JSON.stringify({ pid: dead.pid, start: '1', boot: 'x' }));
    const contenders = await Promise.all(Array.from({ length: 4 }, contender));
    const lines = contenders.map((each) => each.line);
    expect(lines.filter((line) => line === 'locked')).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('cannot take lock'))).toHaveLength(3);
    await Promise.all(contenders.map((each) => each.end()));
  });

  it('is taken over when it is unreadable, or names this process from an earlier life', () => {
    for (const text of [
      '',
      'garbage',
      JSON.stringify({ pid: process.pid, start: '1', boot: '' }),
    ]) {
      fs.writeFileSync(file, text);
      lockDirectory(directory).release();
    }
  });

  it.runIf(process.platform === 'linux')(
    'is taken over when its number went to another process',
    () => {
      fs.writeFileSync(file, JSON.stringify({ pid: process.ppid, start: '1', boot: 'old' }));
      lockDirectory(directory).release();
    },
  );

  it('is refused while a takeover is under way, not after it was abandoned', () => {
    fs.writeFileSync(file, '');
    const guard = `${file}.takeover`;
    fs.writeFileSync(guard, '');
    expect(() => lockDirectory(directory)).toThrow(DirectoryLockedError);
    const past = new Date(Date.now() - 60_000);
    fs.utimesSync(guard, past, past);
    lockDirectory(directory).release();
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  const hasFlock = systemCommand('flock') !== undefined;
  it.runIf(hasFlock)('holds while its process lives, although the file was deleted', async () => {
    const other = await contender();
    expect(other.line).toBe('locked');
    fs.rmSync(file);
    expect(() => lockDirectory(directory)).toThrow(
      `cannot take lock on database; another process holds ${path.dirname(file)}, and ` +
        'reducerdb.pid is gone',
    );
    await other.end();
    const lock = lockDirectory(directory);
    expect(lock.kind).toBe('flock');
    lock.release();
  });

  it('names a process of another pid namespace with its host', () => {
    const elsewhere = { pid: 1, start: '1', boot: 'x', space: 'pid:[1]', host: 'box-7' };
    fs.writeFileSync(file, JSON.stringify(elsewhere));
    expect(() => lockDirectory(directory, () => ({ kind: 'held' }))).toThrow(
      `${file} already exists (owned by pid 1 in another pid namespace, host box-7)`,
    );
  });

  it.runIf(process.platform === 'linux')('knows whose end it would have seen', () => {
    const { space, boot } = ownLine();
    const dead = spawnSync(process.execPath, ['-e', '0']).pid;
    const base = { pid: dead, start: '1', boot, space, host: 'box-7' };
    for (const [former, isGone] of [
      [base, true],
      [{ ...base, boot: 'before the last start of the machine' }, true],
      [{ ...base, space: 'pid:[1]' }, false],
      [{ pid: dead, start: '1', boot }, false],
      [undefined, false],
    ] as const) {
      if (former !== undefined) fs.writeFileSync(file, JSON.stringify(former));
      const lock = lockDirectory(directory, () => ({ kind: 'impossible' }));
      expect([lock.kind, lock.isFormerOwnerGone]).toEqual(['file', isGone]);
      lock.release();
    }
  });

  /** The content of a lock of this process. */
  function ownLine(): { space: string; boot: string } {
    const lock = lockDirectory(directory);
    const line = JSON.parse(fs.readFileSync(file, 'utf8'));
    lock.release();
    return line;
  }

  it('names the directory that does not exist', () => {
    expect(() => lockDirectory(path.join(directory, 'absent'))).toThrow('ENOENT');
  });

  it('gives the kernel its lock back also where its file cannot be removed', () => {
    let isReleased = false;
    const release = () => {
      isReleased = true;
    };
    const lock = lockDirectory(directory, () => ({ kind: 'taken', release }));
    fs.rmSync(file);
    fs.mkdirSync(file);
    expect(() => lock.release()).toThrow();
    expect(isReleased).toBe(true);
  });
});
