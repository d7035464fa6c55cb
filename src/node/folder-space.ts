import fs from 'node:fs';
import path from 'node:path';
import { isNoSpace } from '../log/disk.ts';
import { noFollow, privateFileMode } from './private-files.ts';

/** Written as a test: more than a file system keeps beside the name of a file. */
const probe = new Uint8Array(64 * 1024);

/** The space of the disk that a folder is on. */
export class FolderSpace {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Bytes that an unprivileged user can still write; `undefined`: the system does not say. */
  freeBytes(): number | undefined {
    return this.space()?.freeBytes;
  }

  /** The same, and the bytes of the whole file system. */
  space(): { readonly freeBytes: number; readonly totalBytes: number } | undefined {
    try {
      const { bavail, bsize, blocks } = fs.statfsSync(this.folder);
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
    } catch {
      return undefined;
    }
  }

  /** True when `bytes` are free and something can be written, which a quota may forbid. */
  has(bytes: number): boolean {
    const free = this.freeBytes();
    return (free === undefined || free >= bytes) && this.#takesProbe();
  }

  #takesProbe(): boolean {
    const file = path.join(this.folder, `.space-${process.pid}.tmp`);
    const { O_CREAT, O_TRUNC, O_WRONLY } = fs.constants;
    try {
      const flags = O_CREAT | O_TRUNC | O_WRONLY | noFollow;
      const descriptor = fs.openSync(file, flags, privateFileMode);
      try {
        return fs.writeSync(descriptor, probe) === probe.length;
      } finally {
        fs.closeSync(descriptor);
        fs.unlinkSync(file);
      }
    } catch {
      return false;
    }
  }
}

/** Bytes of the files in a folder; one that goes meanwhile takes nothing. */
export function folderBytes(folder: string): number {
  return fs
    .readdirSync(folder)
    .map((name) => fs.lstatSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0);
}

/** Describes a lack of space to callers, who can be strangers: without a path. */
export function noSpaceTextForCallers(isOfQuota: boolean): string {
  const disk = 'the disk of the service';
  return isOfQuota ? `the quota on ${disk} is used up` : `${disk} is full`;
}

/**
 * Describes an error, or its cause, as a lack of space, and where; `undefined`: it was another
 * error. `place` is named where the system does not name a file.
 */
export function noSpaceText(error: unknown, place: string): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (!isNoSpace(at)) continue;
    const { code, path: named = place } = at as NodeJS.ErrnoException;
    const what = code === 'EDQUOT' ? 'the quota of this user is used up' : 'the disk is full';
    return `${named} cannot be written: ${what} (${code})`;
  }
  return undefined;
}
