import { type Disk, type DiskFile, tryToRemove } from '../log/disk.ts';
import { LogDamageError } from '../log/log-error.ts';
import { PackedFile, packedPieceBytes, packMember } from '../log/packed-segment.ts';
import { packedName } from '../log/segment.ts';
import { equalBytes } from '../store/copy-bytes.ts';
import type { Pause } from './pause.ts';

/**
 * Replaces a sealed segment that no start needs by its packed form: written beside it, synced,
 * unpacked again and compared, renamed, the directory synced, and only then the segment is removed.
 * The caller syncs the directory after that. Returns false if the two were not the same, and
 * leaves the segment. On an error of the disk nothing is left of an unfinished one.
 */
export async function packSegment(disk: Disk, name: string, pause: Pause): Promise<boolean> {
  const part = partOf(packedName(name));
  if (disk.list().includes(part)) disk.remove(part);
  try {
    await writePacked(disk, name, part, pause);
    if (!(await isSame(disk, name, part, pause))) {
      disk.remove(part);
      return false;
    }
    disk.checkWriter?.(true);
    disk.rename(part, packedName(name));
  } catch (error) {
    tryToRemove(disk, part);
    throw error;
  }
  await disk.syncDirectory();
  disk.checkWriter?.(true);
  disk.remove(name);
  return true;
}

/** Names of packed segments that are not finished. */
export const packedParts = /^commit-\d{8}-\d{16}\.log\.gz\.part$/;

function partOf(name: string): string {
  return `${name}.part`;
}

async function writePacked(disk: Disk, name: string, part: string, pause: Pause): Promise<void> {
  const from = disk.open(name, 'read');
  try {
    const to = disk.open(part, 'create');
    try {
      let end = 0;
      for (const piece of piecesOf(from)) {
        const member = packMember(disk.codec, piece);
        disk.checkWriter?.(false);
        to.write(member, end);
        end += member.length;
        await pause(member.length);
      }
      await to.sync();
    } finally {
      to.close();
    }
  } finally {
    from.close();
  }
}

async function isSame(disk: Disk, name: string, part: string, pause: Pause): Promise<boolean> {
  const one = disk.open(name, 'read');
  try {
    const file = disk.open(part, 'read');
    try {
      const other = new PackedFile(file, disk.codec);
      if (one.size() !== other.size()) return false;
      let at = 0;
      for (const piece of piecesOf(one)) {
        const found = new Uint8Array(piece.length);
        other.read(found, at);
        if (!equalBytes(piece, 0, found, 0, piece.length)) return false;
        at += piece.length;
        await pause(0);
      }
      return true;
    } catch (error) {
      if (error instanceof LogDamageError) return false;
      throw error;
    } finally {
      file.close();
    }
  } finally {
    one.close();
  }
}

function* piecesOf(file: DiskFile): Generator<Uint8Array> {
  const piece = new Uint8Array(packedPieceBytes);
  const size = file.size();
  for (let at = 0; at < size; ) {
    const count = file.read(piece.subarray(0, Math.min(piece.length, size - at)), at);
    yield piece.subarray(0, count);
    at += count;
  }
}
