import fs from 'node:fs';
import path from 'node:path';
import { privateFileMode } from './private-files.ts';

/** Another process works in the directory. */
export class DirectoryLockedError extends Error {
  override readonly name = 'DirectoryLockedError';

  constructor(file: string, pid: number | string) {
    super(`cannot take lock on database; ${file} already exists (owned by pid ${pid})`);
  }
}

export interface DirectoryLock {
  /** Gives the directory free; does nothing when called again. */
  release(): void;
}

const lockName = 'reducerdb.pid';
/** A takeover is a handful of system calls; one that is older than this was interrupted. */
const takeoverMillisMax = 10_000;
const heldHere = new Set<string>();

/**
 * Takes `directory` for this process by the file `reducerdb.pid`, which names the process. Throws
 * `DirectoryLockedError` when another live process, or another part of this one, has it.
 *
 * The lock of a dead process is taken over. A process is told from a later one with the same number
 * by its start time and the boot of the machine, where the system gives them (Linux).
 */
export function lockDirectory(directory: string): DirectoryLock {
  const file = path.join(fs.realpathSync(directory), lockName);
  if (heldHere.has(file)) throw new DirectoryLockedError(file, process.pid);
  const content = JSON.stringify(describeProcess(process.pid));
  if (!createWith(file, content)) takeOver(file, content);
  heldHere.add(file);
  return {
    release() {
      if (!heldHere.delete(file)) return;
      if (readText(file) === content) fs.unlinkSync(file);
    },
  };
}

/**
 * Replaces the lock of a dead process. A second file, the guard, lets one process at a time try: it
 * looks again, now that nobody else can have replaced the lock in between.
 */
function takeOver(file: string, content: string): void {
  refuseIfAlive(file);
  const guard = `${file}.takeover`;
  removeIfOld(guard);
  if (!createWith(guard, content)) refuse(file);
  try {
    refuseIfAlive(file);
    fs.rmSync(file, { force: true });
    if (!createWith(file, content)) refuse(file);
  } finally {
    fs.rmSync(guard, { force: true });
  }
}

function refuseIfAlive(file: string): void {
  if (isAlive(parseOwner(readText(file)))) refuse(file);
}

function refuse(file: string): never {
  throw new DirectoryLockedError(file, parseOwner(readText(file))?.pid ?? 'unknown');
}

interface Owner {
  readonly pid: number;
  /** When the process was started, in ticks since boot; empty where the system does not say. */
  readonly start: string;
  readonly boot: string;
}

/** True if the owner may still run. An unreadable lock is one whose writer died while writing. */
function isAlive(owner: Owner | undefined): boolean {
  if (owner === undefined || owner.pid === process.pid) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it is there and belongs to somebody else.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  const now = describeProcess(owner.pid);
  return owner.start === now.start && owner.boot === now.boot;
}

function describeProcess(pid: number): Owner {
  // The name in field 2 may hold spaces and parentheses; the start time is field 22.
  const status = readText(`/proc/${pid}/stat`) ?? '';
  const start = status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  const boot = readText('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return { pid, start, boot };
}

function parseOwner(text: string | undefined): Owner | undefined {
  if (text === undefined) return undefined;
  try {
    const { pid, start, boot } = JSON.parse(text);
    const isOwner = Number.isSafeInteger(pid) && pid > 0;
    return isOwner ? { pid, start: String(start), boot: String(boot) } : undefined;
  } catch {
    return undefined;
  }
}

/** Creates `file` with all of `content` at once; false if it exists. */
function createWith(file: string, content: string): boolean {
  const own = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(own, content, { mode: privateFileMode });
  try {
    // A link appears whole: nobody can read a lock that is not written yet.
    fs.linkSync(own, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    fs.unlinkSync(own);
  }
}

function removeIfOld(file: string): void {
  const made = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (made !== undefined && Date.now() - made > takeoverMillisMax) fs.rmSync(file, { force: true });
}

function readText(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
