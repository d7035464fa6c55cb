import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { type Disk, DiskError, type DiskFile } from '../../log/disk.ts';
import { type DurableEnd, durableMarkName, readDurableMark } from '../../log/durable-mark.ts';
import { floorName } from '../../log/floor.ts';
import { PackedFile } from '../../log/packed-segment.ts';
import {
  isPacked,
  packedName,
  readSegmentHeader,
  segmentHeaderBytes,
  segmentSequence,
} from '../../log/segment.ts';
import { SegmentReader, segmentNames } from '../../log/segment-reader.ts';

interface FrozenDisk extends Disk {
  /** True if a file went since then, or is another one: a pass over the history was there. */
  hasChanged(): boolean;
}

/**
 * The directory of a log as it is now, to be read while the log grows: what comes later is not
 * there. The mark of the durable end and the floor are written over, so they are copied, the mark
 * first: it never says more than the segments hold. The segment that is being written ends with
 * its last whole record, unless that is before `durableOffset` or the mark: then it is damaged. Of
 * a segment that was packed meanwhile its packed form is read. `read` is called with the bytes of
 * each reading, and may wait.
 */
function frozenDisk(disk: Disk, durableOffset: number, read: (bytes: number) => void): FrozenDisk {
  const copies = copiesOf(disk, [durableMarkName, floorName]);
  const mark = readDurableMark(disk);
  const durable = {
    offset: durableOffset,
    position: mark.kind === 'valid' ? mark.end.position : 0,
  };
  const sizes = sizesOf(disk);
  const active = activeEnd(disk, sizes, durable, read);
  const refuse = (): never => assert(false, 'it is only read') as never;
  return {
    isLasting: disk.isLasting,
    codec: disk.codec,
    list: () => [...sizes.keys()],
    open: (name) => {
      const size = sizes.get(name);
      if (size === undefined) throw new DiskError('open', name, new Error('no such file'));
      const copied = copies.get(name);
      if (copied !== undefined) return copyOf(name, copied);
      return reading(openKept(disk, name), name === active?.name ? active.end : size, read);
    },
    hasChanged: () => {
      const now = sizesOf(disk);
      const isOther = (name: string, size: number) => {
        if (copies.has(name)) return false;
        return name === active?.name ? !now.has(name) : now.get(name) !== size;
      };
      return [...sizes].some(([name, size]) => isOther(name, size));
    },
    remove: refuse,
    rename: refuse,
    link: refuse,
    space: () => disk.space(),
    syncDirectory: () => Promise.resolve(),
  };
}

/**
 * What `work` reads of a log that serves. A pass over the history can remove and replace files
 * meanwhile: what was read then is read again, unless it `stands`. Throws if that never ends.
 */
export function readFrozen<Answer>(
  disk: Disk,
  { durableOffset, read }: FrozenReading,
  work: (frozen: Disk) => Answer,
  stands: (answer: Answer) => boolean = () => false,
): Answer {
  for (let triesLeft = limits.verifyTriesMax; triesLeft > 0; triesLeft--) {
    const frozen = frozenDisk(disk, durableOffset, read);
    try {
      const answer = work(frozen);
      if (stands(answer) || !frozen.hasChanged()) return answer;
    } catch (error) {
      if (!(error instanceof DiskError) || !frozen.hasChanged()) throw error;
    }
  }
  throw new Error('The history was shortened or packed each time it was read; try again');
}

export interface FrozenReading {
  /** What was durable when it was asked for. */
  readonly durableOffset: number;
  /** Called with the bytes of each reading; may wait. */
  readonly read: (bytes: number) => void;
}

/**
 * The segment that is written now, and where its whole records end. What lies behind is written
 * while others read it, so two readings of it can contradict each other. `undefined`: there is
 * none, or its records end before what is durable.
 */
function activeEnd(
  disk: Disk,
  sizes: ReadonlyMap<string, number>,
  durable: DurableEnd,
  read: (bytes: number) => void,
): { readonly name: string; readonly end: number } | undefined {
  const name = segmentNames({ list: () => [...sizes.keys()] }).at(-1);
  if (name === undefined || isPacked(name)) return undefined;
  const file = disk.open(name, 'read');
  try {
    const reader = new SegmentReader(reading(file, sizes.get(name) ?? 0, read));
    const start = readSegmentHeader(reader.header());
    if (start.kind !== 'valid') return undefined;
    const { salt, position, firstOffset } = start.header;
    let end = segmentHeaderBytes;
    let offset = firstOffset - 1;
    while (reader.read(end, salt) === 'record') {
      end += reader.length;
      offset = reader.offset;
    }
    const logPosition = position + end - segmentHeaderBytes;
    const isBehind = offset < durable.offset || logPosition < durable.position;
    return isBehind ? undefined : { name, end };
  } finally {
    file.close();
  }
}

/** A file, or what a segment was replaced by. */
function openKept(disk: Disk, name: string): ReadFile {
  try {
    return disk.open(name, 'read');
  } catch (error) {
    const packed = packedName(name);
    if (segmentSequence(name) === undefined || !disk.list().includes(packed)) throw error;
    const file = disk.open(packed, 'read');
    const unpacked = new PackedFile(file, disk.codec);
    return {
      name,
      size: () => unpacked.size(),
      read: (into, position) => unpacked.read(into, position),
      isInPlace: () => file.isInPlace(),
      close: () => file.close(),
    };
  }
}

type ReadFile = Pick<DiskFile, 'name' | 'size' | 'read' | 'isInPlace' | 'close'>;

function copiesOf(disk: Disk, names: readonly string[]): Map<string, Uint8Array> {
  const copies = new Map<string, Uint8Array>();
  for (const name of names) {
    if (disk.list().includes(name)) copies.set(name, contentOf(disk, name));
  }
  return copies;
}

/** Of the files that are not removed while this looks at them. */
function sizesOf(disk: Disk): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const name of disk.list()) {
    try {
      sizes.set(name, sizeOf(disk, name));
    } catch (error) {
      if (!(error instanceof DiskError) || disk.list().includes(name)) throw error;
    }
  }
  return sizes;
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
function reading(file: ReadFile, size: number, read: (bytes: number) => void): DiskFile {
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

function copyOf(name: string, bytes: Uint8Array): DiskFile {
  const read = (into: Uint8Array, position: number): number => {
    const part = bytes.subarray(position, position + into.length);
    into.set(part);
    return part.length;
  };
  const size = () => bytes.length;
  const file = { name, size, read, isInPlace: () => true, close: () => undefined };
  return reading(file, bytes.length, () => undefined);
}
