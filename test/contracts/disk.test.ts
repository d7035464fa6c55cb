import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DiskError } from '../../src/log/disk.ts';
import { MachineDisk } from '../../src/node/disk.ts';
import { MemoryDisk } from '../../src/node/memory-disk.ts';
import { Random } from '../../src/testing/random.ts';
import { PowerCut, SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { diskContract } from './disk.contract.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-disk-'));
afterAll(() => fs.rmSync(root, { recursive: true }));

const newDirectory = () => new MachineDisk(fs.mkdtempSync(path.join(root, 'disk-')));
diskContract('a directory', () => [newDirectory(), newDirectory()]);
diskContract('memory', () => [new MemoryDisk(), new MemoryDisk()]);
diskContract('simulated', () => {
  const disk = new SimulatedDisk();
  return [disk, disk.directory('other')];
});

describe('a directory as a disk', () => {
  it('names operation, file and cause when the machine refuses', () => {
    const disk = new MachineDisk(path.join(root, 'absent'));
    expect(() => disk.open('a', 'create')).toThrow(/^disk: create of a failed: Error: ENOENT/);
    expect(() => disk.list()).toThrow(DiskError);
  });

  it('rejects a sync of a directory that is gone', async () => {
    const disk = new MachineDisk(path.join(root, 'absent'));
    await expect(disk.syncDirectory()).rejects.toThrow(DiskError);
  });
});

describe('a simulated disk', () => {
  it('[durability W7] keeps a synced file only if the directory was synced too', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const disk = new SimulatedDisk();
      const file = disk.open('a', 'create');
      file.write(Uint8Array.of(1), 0);
      await file.sync();
      outcomes.add(disk.crash(new Random(seed)).list().join());
    }
    expect([...outcomes].sort()).toEqual(['', 'a']);
  });

  it('keeps what was synced and loses the rest in any mixture of sectors', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 200; seed++) {
      const disk = new SimulatedDisk();
      const file = disk.open('a', 'create');
      file.write(new Uint8Array(1024).fill(1), 0);
      await file.sync();
      await disk.syncDirectory();
      file.write(new Uint8Array(1536).fill(2), 0);
      const found = disk.crash(new Random(seed)).contentOf('a');
      outcomes.add([0, 511, 512, 1023, 1024, 1535].map((at) => found[at] ?? '-').join(''));
    }
    expect([...outcomes].sort()).toEqual(
      ['1111--', '111122', '1122--', '112222', '2211--', '221122', '2222--', '222222'].sort(),
    );
  });

  it('covers with a sync only what was written before it', async () => {
    const disk = new SimulatedDisk([['a', new Uint8Array(1)]]);
    const file = disk.open('a', 'existing');
    file.write(Uint8Array.of(1), 0);
    const sync = file.sync();
    file.write(Uint8Array.of(2), 0);
    await sync;
    const outcomes = Array.from({ length: 40 }, (_, seed) => new Random(seed)).map(
      (random) => disk.crash(random).contentOf('a')[0],
    );
    expect([...new Set(outcomes)].sort()).toEqual([1, 2]);
  });

  it('forgets or keeps a rename, and never shows both names or none', () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const disk = new SimulatedDisk([['a', Uint8Array.of(1)]]);
      disk.rename('a', 'b');
      outcomes.add(disk.crash(new Random(seed)).list().join());
    }
    expect([...outcomes].sort()).toEqual(['a', 'b']);
  });

  it('keeps everything when only the process dies, and can forget it in a later power cut', () => {
    const outcomes = new Set<number>();
    for (let seed = 0; seed < 40; seed++) {
      const disk = new SimulatedDisk([['a', new Uint8Array(1)]]);
      disk.open('a', 'existing').write(Uint8Array.of(9), 0);
      const after = disk.afterKill();
      expect(after.contentOf('a')).toEqual(Uint8Array.of(9));
      outcomes.add(after.crash(new Random(seed)).contentOf('a')[0] ?? -1);
    }
    expect([...outcomes].sort()).toEqual([0, 9]);
  });

  it('keeps a second name, and what was written, only if each was synced', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 60; seed++) {
      const disk = new SimulatedDisk([['a', Uint8Array.of(1)]]);
      const other = disk.directory('other');
      disk.open('a', 'existing').write(Uint8Array.of(2), 0);
      disk.link('a', other, 'b');
      if (seed % 2 === 0) await other.syncDirectory();
      const after = disk.crash(new Random(seed));
      const names = after.directory('other').list();
      const bytes = [after.contentOf('a')[0], ...names.map((name) => contentOf(after, name))];
      outcomes.add(`${seed % 2} ${bytes.join()}`);
    }
    // The two names stand for one file, whatever is found of it.
    expect([...outcomes].sort()).toEqual(['0 1,1', '0 2,2', '1 1', '1 1,1', '1 2', '1 2,2']);
  });

  it('counts the operations of all its directories, and stops with them', () => {
    const disk = new SimulatedDisk();
    disk.stopAt(3);
    disk.open('a', 'create').close();
    const other = disk.directory('other');
    disk.link('a', other, 'b');
    expect(disk.operationCount).toBe(2);
    expect(() => other.remove('b')).toThrow(PowerCut);
    expect(() => disk.list()).toThrow(PowerCut);
    const after = disk.copy();
    expect(after.directory('other').list()).toEqual(['b']);
  });

  it('has the space it is given', () => {
    const disk = new SimulatedDisk([['a', new Uint8Array(30)]]);
    disk.totalBytes = 100;
    disk.link('a', disk.directory('other'), 'b');
    expect(disk.space()).toEqual({ freeBytes: 70, totalBytes: 100 });
    disk.isFull = true;
    expect(disk.directory('other').space()).toEqual({ freeBytes: 0, totalBytes: 100 });
  });

  it('stops at the operation it is told to, and stays stopped', () => {
    const disk = new SimulatedDisk();
    disk.stopAt(2);
    const file = disk.open('a', 'create');
    expect(() => file.write(Uint8Array.of(1), 0)).toThrow(PowerCut);
    expect(() => file.size()).toThrow(PowerCut);
    expect(() => disk.list()).toThrow(PowerCut);
  });

  it('fails the operation it is told to, a write half-way', () => {
    const disk = new SimulatedDisk();
    disk.failAt('write', 2, 'ENOSPC');
    const file = disk.open('a', 'create');
    file.write(Uint8Array.of(1, 2), 0);
    expect(() => file.write(Uint8Array.of(3, 4), 2)).toThrow('write of a failed: Error: ENOSPC');
    expect(disk.contentOf('a')).toEqual(Uint8Array.of(1, 2, 3));
    file.write(Uint8Array.of(5), 3);
    expect(disk.contentOf('a')).toEqual(Uint8Array.of(1, 2, 3, 5));
  });
});

function contentOf(disk: SimulatedDisk, name: string): number | undefined {
  return disk.directory('other').contentOf(name)[0];
}
