import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { systemCommand } from './command-wrappers.ts';
import { MemoryCeiling } from './memory-ceiling.ts';
import { runCommand } from './run-command.ts';

const mebibyte = 1024 * 1024;
let folder: string | undefined;
afterEach(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

/** Files where the system keeps control groups; a new group gets the files that it must have. */
function groupsOf(own: string) {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-groups-'));
  const parent = path.join(folder, 'service');
  mkdirSync(path.join(parent, 'gateway'), { recursive: true });
  const ownGroupFile = path.join(folder, 'own');
  writeFileSync(ownGroupFile, `4:memory:/old\n0::${own}\n`);
  return { groupsFolder: folder, ownGroupFile, parent };
}

describe.skipIf(systemCommand('prlimit') === undefined)('the memory ceiling', () => {
  it('[living 6.2] is a limit on data that the system keeps, and rises with the rows', async () => {
    const ceiling = new MemoryCeiling(300 * mebibyte, runCommand);
    const [command = '', ...words] = [...ceiling.command, 'sleep', '60'];
    const child = spawn(command, words, { stdio: 'ignore' });
    await once(child, 'spawn');
    const limitOf = () => {
      const text = readFileSync(`/proc/${child.pid}/limits`, 'latin1');
      return {
        data: Number(/^Max data size\s+(\d+)/m.exec(text)?.[1]),
        core: /^Max core file size\s+(\S+)/m.exec(text)?.[1],
      };
    };
    const first = 300 * mebibyte + limits.ceilingStepBytes;
    await expect.poll(limitOf).toEqual({ data: first, core: '0' });
    ceiling.watch(child.pid ?? 0);
    ceiling.hold(100 * mebibyte);
    // Many at once: the highest remains.
    for (const held of [1_100, 2_200, 3_300]) ceiling.hold(held * mebibyte);
    const raised = 3_600 * mebibyte + limits.ceilingStepBytes;
    await expect.poll(limitOf).toEqual({ data: raised, core: '0' });
    // The process can report anything.
    for (const far of [2 ** 50, 2 ** 52, 2 ** 53]) ceiling.hold(far);
    const highest = 300 * mebibyte + totalmem() + limits.ceilingStepBytes;
    await expect.poll(limitOf).toEqual({ data: highest, core: '0' });
    ceiling.end();
    child.kill();
  });

  it('[living 6.2] ends what asks for more', () => {
    const ceiling = new MemoryCeiling(300 * mebibyte, runCommand);
    const hog = 'const kept = []; for (;;) kept.push(new Uint8Array(64 * 2 ** 20).fill(1));';
    const [command = '', ...words] = [...ceiling.command, process.execPath, '-e', hog];
    expect(() => execFileSync(command, words, { stdio: 'ignore' })).toThrow();
  });
});

describe('a control group', () => {
  it('is tried beside the own one and in it, and left alone where it may not be made', () => {
    const { parent, ...places } = groupsOf('/service/gateway');
    const ceiling = new MemoryCeiling(300 * mebibyte, runCommand, places);
    ceiling.watch(1_234);
    ceiling.hold(9_000 * mebibyte);
    ceiling.end();
    expect(readdirSync(parent)).toEqual(['gateway']);
    writeFileSync(path.join(parent, 'cgroup.subtree_control'), '');
    // Without the files of the memory controller, the new folder is not a group and is removed.
    ceiling.watch(1_234);
    expect(readFileSync(path.join(parent, 'cgroup.subtree_control'), 'latin1')).toBe('+memory');
    expect(existsSync(path.join(parent, 'reducerdb-1234'))).toBe(false);
  });
});
