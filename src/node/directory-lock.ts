import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type KernelLock, lockInKernel } from './kernel-lock.ts';
import { privateFileMode } from './private-files.ts';

/** Another process uses the directory. */
export class DirectoryLockedError extends Error {
  override readonly name = 'DirectoryLockedError';

  constructor(file: string, owner: string | undefined) {
    const found =
      owner === undefined
        ? `another process holds ${path.dirname(file)}, and ${path.basename(file)} is gone`
        : `${file} already exists (owned by ${owner})`;
    super(`cannot take lock on database; ${found}`);
  }
}

export interface DirectoryLock {
  /** The real path of the directory. */
  readonly directory: string;
  /** `flock`: held by the kernel. `file`: only `reducerdb.pid` exists. */
  readonly kind: LockKind;
  /** True if the process that `reducerdb.pid` named before is known to have ended. */
  readonly isFormerOwnerGone: boolean;
  /** Releases the directory; does nothing when called again. */
  release(): void;
}

export type LockKind = 'flock' | 'file';

const lockName = 'reducerdb.pid';
/** A takeover is a handful of system calls; one older than this was interrupted. */
const takeoverMillisMax = 10_000;
const heldHere = new Set<string>();

/**
 * Locks `directory` for this process: in the kernel, where that is possible, and with the file
 * `reducerdb.pid`, which names the process. Throws `DirectoryLockedError` when another live
 * process, or another part of this one, holds it.
 *
 * The kernel's lock ends with its process. The file of a dead process is taken over; a process is
 * distinguished from a later one with the same number by its start time and the boot of the
 * machine, where the system gives them (Linux). Where only the file exists, processes in different
 * pid namespaces do not see each other: that is what `claimWriter` is for.
 */
export function lockDirectory(
  directory: string,
  lockKernel: (directory: string) => KernelLock = lockInKernel,
): DirectoryLock {
  const real = fs.realpathSync(directory);
  const file = path.join(real, lockName);
  if (heldHere.has(file)) refuse(file);
  const kernel = lockKernel(real);
  if (kernel.kind === 'held') refuse(file);
  try {
    const former = parseOwner(readText(file));
    const content = JSON.stringify(describeProcess(process.pid));
    if (!createWith(file, content)) takeOver(file, content);
    heldHere.add(file);
    return {
      directory: real,
      kind: kernel.kind === 'taken' ? 'flock' : 'file',
      isFormerOwnerGone: former !== undefined && isVisible(former),
      release() {
        if (!heldHere.delete(file)) return;
        try {
          if (readText(file) === content) fs.unlinkSync(file);
        } finally {
          // Even where the disk has become read-only.
          if (kernel.kind === 'taken') kernel.release();
        }
      },
    };
  } catch (error) {
    if (kernel.kind === 'taken') kernel.release();
    throw error;
  }
}

/** True if this process would see the owner if the owner still existed. */
function isVisible({ boot, space }: Owner): boolean {
  const here = describeProcess(process.pid);
  if (boot !== here.boot) return boot !== '' && here.boot !== '';
  return space === here.space;
}

/**
 * Replaces the lock of a dead process. A second file, the guard, lets one process at a time try: it
 * checks again, now that no other process can have replaced the lock in between.
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
  const text = readText(file);
  throw new DirectoryLockedError(file, text === undefined ? undefined : nameOf(parseOwner(text)));
}

/** Names the owner, which can be a process elsewhere, whose number means nothing here. */
function nameOf(owner: Owner | undefined): string {
  if (owner === undefined) return 'pid unknown';
  const { pid, space, host } = owner;
  const isElsewhere = space !== '' && space !== describeProcess(process.pid).space;
  return isElsewhere ? `pid ${pid} in another pid namespace, host ${host}` : `pid ${pid}`;
}

/** In the order of the file; scripts read the first number. */
interface Owner {
  readonly pid: number;
  /** When the process was started, in ticks since boot; empty where the system does not say. */
  readonly start: string;
  readonly boot: string;
  /** The namespace in which `pid` is a number; empty where only one exists, or it is unknown. */
  readonly space: string;
  /** For people: the name of the host, or of a container. */
  readonly host: string;
}

/** True if the owner may still run. An unreadable lock is one whose writer died while writing. */
function isAlive(owner: Owner | undefined): boolean {
  if (owner === undefined || owner.pid === process.pid) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to another user.
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
  return { pid, start, boot, space: pidNamespace(), host: os.hostname() };
}

/** The pid namespace of this process; a number that the kernel uses once at a time. */
function pidNamespace(): string {
  try {
    return fs.readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function parseOwner(text: string | undefined): Owner | undefined {
  if (text === undefined) return undefined;
  try {
    // Earlier versions wrote neither `space` nor `host`.
    const owner: { readonly [Key in keyof Owner]?: unknown } = JSON.parse(text);
    const { pid, start, boot, space = '', host = '' } = owner;
    if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
    return {
      pid,
      start: String(start),
      boot: String(boot),
      space: String(space),
      host: String(host),
    };
  } catch {
    return undefined;
  }
}

/** Creates `file` with all of `content` at once; false if it exists. */
function createWith(file: string, content: string): boolean {
  // Two containers may both be process 1.
  const own = `${file}.${randomUUID()}.tmp`;
  fs.writeFileSync(own, content, { mode: privateFileMode });
  try {
    // A link appears whole: no process can read a lock that is not written yet.
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
