import fs from 'node:fs';
import path from 'node:path';
import { syncDirectory } from './disk.ts';
import { privateFileMode, privateFolderMode } from './private-files.ts';

let written = 0;

/**
 * Replaces the file at `target`, or creates it: after a crash it has the old content or the new,
 * whole. When this resolves the new one is durable. The directory must exist. `mode` is for a new
 * file and for a replaced one alike.
 */
export async function writeFileAtomically(
  target: string,
  content: Uint8Array | string,
  mode = privateFileMode,
): Promise<void> {
  const directory = path.dirname(target);
  written++;
  const temporary = path.join(directory, `.${path.basename(target)}.${process.pid}-${written}.tmp`);
  try {
    await writeDurably(temporary, content, mode);
    await fs.promises.rename(temporary, target);
  } catch (error) {
    await fs.promises.rm(temporary, { force: true });
    // The system names the temporary file, or no file.
    throw Object.assign(error as Error, { path: target });
  }
  await syncDirectory(directory);
}

/** The content of a file, `undefined` if it does not exist. */
export async function readFileIfPresent(file: string): Promise<Buffer | undefined> {
  try {
    return await fs.promises.readFile(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Removes a file, if it exists; durable when this resolves. */
export async function removeFileDurably(file: string): Promise<void> {
  await fs.promises.rm(file, { force: true });
  await syncDirectory(path.dirname(file));
}

/** Creates a directory and its parents, for this user alone; durable when this resolves. */
export async function makeDirectoryDurably(directory: string): Promise<void> {
  const full = path.resolve(directory);
  const first = await fs.promises.mkdir(full, { recursive: true, mode: privateFolderMode });
  if (first === undefined) return;
  for (let made = full; made.length >= first.length; made = path.dirname(made)) {
    await syncDirectory(path.dirname(made));
  }
}

async function writeDurably(
  file: string,
  content: Uint8Array | string,
  mode: number,
): Promise<void> {
  const handle = await fs.promises.open(file, 'wx', mode);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
