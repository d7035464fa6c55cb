import fs from 'node:fs';
import path from 'node:path';
import { noFollow } from './private-files.ts';

/**
 * The content of a file that this process would run: `undefined` unless the file and its folder
 * belong to its own user or to root, and nobody else can write to them. A link is not followed, and
 * more than `bytesMax` is not read. Where the system does not say who can write, nothing is
 * trusted.
 */
export async function readTrusted(file: string, bytesMax: number): Promise<Buffer | undefined> {
  if (!(await isTrustedFolder(path.dirname(file)))) return undefined;
  let handle: fs.promises.FileHandle | undefined;
  try {
    handle = await fs.promises.open(file, fs.constants.O_RDONLY | noFollow);
    const found = await handle.stat();
    if (!found.isFile() || !isTrusted(found) || found.size > bytesMax) return undefined;
    return await handle.readFile();
  } catch {
    return undefined;
  } finally {
    await handle?.close();
  }
}

/** Whether a file in this folder can be trusted. */
export async function isTrustedFolder(folder: string): Promise<boolean> {
  try {
    const found = await fs.promises.lstat(folder);
    return found.isDirectory() && isTrusted(found);
  } catch {
    return false;
  }
}

function isTrusted({ uid, mode }: fs.Stats): boolean {
  const own = process.geteuid?.();
  return own !== undefined && (uid === own || uid === 0) && (mode & othersWrite) === 0;
}

const othersWrite = 0o022;
