import { beforeEach, describe, expect, it } from 'vitest';
import { type Disk, DiskError } from '../../src/log/disk.ts';

/**
 * What every disk does, whatever it is made of. `make` gives an empty one, and another directory of
 * the same kind.
 */
export function diskContract(name: string, make: () => readonly [Disk, Disk]): void {
  describe(`a disk: ${name}`, () => {
    let disk: Disk;
    let other: Disk;

    beforeEach(() => {
      [disk, other] = make();
    });

    it('is empty at first', () => {
      expect(disk.list()).toEqual([]);
    });

    it('lists its files by name', () => {
      for (const file of ['b', 'c', 'a', '10', '9']) disk.open(file, 'create').close();
      expect(disk.list()).toEqual(['10', '9', 'a', 'b', 'c']);
    });

    it('creates a file only once and opens only what exists', () => {
      disk.open('a', 'create').close();
      expect(() => disk.open('a', 'create')).toThrow(DiskError);
      expect(() => disk.open('b', 'existing')).toThrow(DiskError);
      const file = disk.open('a', 'existing');
      expect([file.name, file.size()]).toEqual(['a', 0]);
      file.close();
    });

    it('reads what was written, also through another opening, also before a sync', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1, 2, 3, 4), 0);
      file.write(bytes(9), 2);
      const again = disk.open('a', 'existing');
      expect(read(again, 0, 4)).toEqual([1, 2, 9, 4]);
      again.close();
      file.close();
    });

    it('reads less at the end, and nothing behind it', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1, 2, 3), 0);
      expect(read(file, 1, 10)).toEqual([2, 3]);
      expect(read(file, 3, 10)).toEqual([]);
      expect(read(file, 30, 10)).toEqual([]);
      file.close();
    });

    it('keeps the bytes given, not the array', () => {
      const file = disk.open('a', 'create');
      const given = bytes(1, 2);
      file.write(given, 0);
      given[0] = 7;
      expect(read(file, 0, 2)).toEqual([1, 2]);
      file.close();
    });

    it('fills a gap before a write with zeros', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(5), 3);
      expect(read(file, 0, 9)).toEqual([0, 0, 0, 5]);
      file.close();
    });

    it('shortens and lengthens a file, forgetting what it cut off', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1, 2, 3, 4), 0);
      file.truncate(2);
      expect([file.size(), ...read(file, 0, 9)]).toEqual([2, 1, 2]);
      file.truncate(4);
      expect(read(file, 0, 9)).toEqual([1, 2, 0, 0]);
      file.close();
    });

    it('reserves space as zeros and leaves what is there', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1, 2), 0);
      file.allocate(700_000);
      expect(file.size()).toBe(700_000);
      expect(read(file, 0, 4)).toEqual([1, 2, 0, 0]);
      expect(read(file, 699_998, 4)).toEqual([0, 0]);
      file.allocate(10);
      expect(file.size()).toBe(700_000);
      file.close();
    });

    it('syncs files and the directory', async () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1), 0);
      await file.sync();
      expect(typeof file.syncAtOnce()).toBe('boolean');
      await disk.syncDirectory();
      file.close();
      file.close();
    });

    it('renames, over another file too, and an open file follows', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1), 0);
      const other = disk.open('b', 'create');
      other.write(bytes(2), 0);
      other.close();
      disk.rename('a', 'b');
      file.write(bytes(3), 1);
      file.close();
      expect(disk.list()).toEqual(['b']);
      const found = disk.open('b', 'existing');
      expect(read(found, 0, 9)).toEqual([1, 3]);
      found.close();
      expect(() => disk.rename('a', 'c')).toThrow(DiskError);
    });

    it('knows whether a file is still in its place', () => {
      const file = disk.open('a', 'create');
      expect(file.isInPlace()).toBe(true);
      disk.rename('a', 'b');
      const isByName = file.name === 'a';
      if (isByName) expect(file.isInPlace()).toBe(false);
      const next = disk.open('a', 'create');
      expect(next.isInPlace()).toBe(true);
      disk.remove('a');
      if (isByName) expect(next.isInPlace()).toBe(false);
      file.close();
      next.close();
    });

    it('opens a file for reading alone', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1, 2), 0);
      file.close();
      const opened = disk.open('a', 'read');
      expect([opened.name, opened.size(), ...read(opened, 0, 9)]).toEqual(['a', 2, 1, 2]);
      expect(() => opened.write(bytes(3), 0)).toThrow(DiskError);
      expect(() => opened.truncate(0)).toThrow(DiskError);
      expect(() => opened.allocate(9)).toThrow(DiskError);
      expect(read(opened, 0, 9)).toEqual([1, 2]);
      opened.close();
      expect(() => disk.open('b', 'read')).toThrow(DiskError);
    });

    it('gives a file a name in another directory, which each can remove', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1, 2), 0);
      disk.link('a', other, 'b');
      file.write(bytes(3), 2);
      file.close();
      expect([disk.list(), other.list()]).toEqual([['a'], ['b']]);
      expect(() => disk.link('a', other, 'b')).toThrow(DiskError);
      expect(() => disk.link('c', other, 'd')).toThrow(DiskError);
      disk.remove('a');
      const found = other.open('b', 'read');
      expect(read(found, 0, 9)).toEqual([1, 2, 3]);
      found.close();
      const next = disk.open('a', 'create');
      expect(next.size()).toBe(0);
      next.close();
    });

    it('says how much space there is, if it knows', () => {
      const space = disk.space();
      if (space === undefined) return;
      expect(space.freeBytes).toBeGreaterThanOrEqual(0);
      expect(space.totalBytes).toBeGreaterThan(space.freeBytes - 1);
    });

    it('removes, and makes anew with nothing of the old content', () => {
      const file = disk.open('a', 'create');
      file.write(bytes(1, 2, 3), 0);
      file.close();
      disk.remove('a');
      expect(disk.list()).toEqual([]);
      expect(() => disk.remove('a')).toThrow(DiskError);
      const next = disk.open('a', 'create');
      expect(next.size()).toBe(0);
      next.close();
    });
  });
}

function bytes(...values: number[]): Uint8Array {
  return Uint8Array.from(values);
}

function read(
  file: { read(into: Uint8Array, position: number): number },
  position: number,
  length: number,
): number[] {
  const into = new Uint8Array(length);
  const count = file.read(into, position);
  return [...into.subarray(0, count)];
}
