import { assert } from '../../assert.ts';
import { type Disk, DiskError, type DiskFile } from '../../log/disk.ts';
import { durableMarkName } from '../../log/durable-mark.ts';

/**
 * The directory of a log as it is now, to be read while the log grows: what comes later is not
 * there. The mark of the durable end is written over, so it is copied, and first: it never says
 * more than the segments hold. `read` is called with the bytes of each reading, and may wait.
 */
export function frozenDisk(disk: Disk, read: (bytes: number) => void): Disk {
  const hasMark = disk.list().includes(durableMarkName);
  const mark = hasMark ? contentOf(disk, durableMarkName) : undefined;
  const sizes = new Map(disk.list().map((name) => [name, sizeOf(disk, name)]));
  const refuse = (): never => assert(false, 'it is only read') as never;
  return {
    isLasting: disk.isLasting,
    codec: disk.codec,
    list: () => [...sizes.keys()],
    open: (name) => {
      const size = sizes.get(name);
      if (size === undefined) throw new DiskError('open', name, new Error('no such file'));
      const file = disk.open(name, 'read');
      return name === durableMarkName && mark !== undefined
        ? {
            ...reading(file, mark.length, read),
            read: (into, position) => copy(mark, into, position),
          }
        : reading(file, size, read);
    },
    remove: refuse,
    rename: refuse,
    link: refuse,
    space: () => disk.space(),
    syncDirectory: () => Promise.resolve(),
  };
}

function contentOf(disk: Disk, name: string): Uint8Array {
  const file = disk.open(name, 'read');
  try {
    const bytes = new Uint8Array(file.size());
    return bytes.subarray(0, file.read(bytes, 0));
  } finally {
    file.close();
  }
}

function sizeOf(disk: Disk, name: string): number {
  const file = disk.open(name, 'read');
  try {
    return file.size();
  } finally {
    file.close();
  }
}

/** The first bytes of a file. A segment that is completed meanwhile loses what it had reserved. */
function reading(file: DiskFile, size: number, read: (bytes: number) => void): DiskFile {
  const refuse = (): never => assert(false, 'it is only read') as never;
  return {
    name: file.name,
    size: () => Math.min(size, file.size()),
    read: (into, position) => {
      const length = Math.max(0, Math.min(into.length, size - position));
      read(length);
      return file.read(into.subarray(0, length), position);
    },
    isInPlace: () => file.isInPlace(),
    close: () => file.close(),
    write: refuse,
    truncate: refuse,
    allocate: refuse,
    sync: refuse,
    syncAtOnce: refuse,
  };
}

function copy(from: Uint8Array, into: Uint8Array, position: number): number {
  const part = from.subarray(position, position + into.length);
  into.set(part);
  return part.length;
}
