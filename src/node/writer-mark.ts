import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { DiskError } from '../log/disk.ts';
import { WriterError } from '../log/log-error.ts';
import { type DirectoryLock, DirectoryLockedError, type LockKind } from './directory-lock.ts';
import { privateFileMode } from './private-files.ts';

/** The file with the mark of a data folder, and its content while its service may write there. */
export interface WriterPlace {
  readonly file: string;
  readonly content: string;
}

/** The mark of a folder that this service writes to. */
export interface WriterClaim {
  readonly place: WriterPlace;
  /** Removes the mark, if it is still this one. */
  release(): void;
}

const markName = 'reducerdb.writer';

/**
 * Marks a folder, whose lock the caller holds, as one that this service writes to. The previous
 * writer checks the mark at least once in `limits.writerCheckMillis` while it writes, and stops.
 * Where nothing proves that it has ended, resolves when it must have checked; rejects with
 * `DirectoryLockedError` if yet another service has marked the folder by then.
 */
export async function claimWriter(
  lock: DirectoryLock,
  waitMillis: number = limits.writerWaitMillis,
): Promise<WriterClaim> {
  const file = path.join(lock.directory, markName);
  const content = `${JSON.stringify({ service: randomUUID(), lock: lock.kind })}\n`;
  const former = replaceMark(file, content);
  if (former !== undefined && !hasEnded(former, lock)) {
    await sleep(waitMillis);
    if (readMark(file) !== content) throw new DirectoryLockedError(file, 'a later start');
  }
  return {
    place: { file, content },
    release() {
      if (readMark(file) === content) fs.rmSync(file, { force: true });
    },
  };
}

/** Writes the whole mark and returns the one before; empty where it was removed meanwhile. */
function replaceMark(file: string, content: string): string | undefined {
  const temporary = `${file}.${randomUUID()}.tmp`;
  fs.writeFileSync(temporary, content, { mode: privateFileMode, flag: 'wx' });
  try {
    if (linkTo(temporary, file)) return undefined;
    const former = readMark(file) ?? '';
    fs.renameSync(temporary, file);
    return former;
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** False: it exists already. */
function linkTo(temporary: string, file: string): boolean {
  try {
    fs.linkSync(temporary, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Two services that both use the kernel's lock exclude each other. */
function hasEnded(former: string, lock: DirectoryLock): boolean {
  return lock.isFormerOwnerGone || (lock.kind === 'flock' && lockOf(former) === 'flock');
}

function lockOf(mark: string): LockKind | undefined {
  try {
    const { lock }: { readonly lock?: unknown } = JSON.parse(mark);
    return lock === 'flock' || lock === 'file' ? lock : undefined;
  } catch {
    return undefined;
  }
}

function readMark(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Checks whether a folder still has the mark of this service. */
export class WriterCheck {
  readonly #place: WriterPlace;
  readonly #nowMillis: () => number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The file that was read last: each mark is a file of its own. */
  #seen: { readonly ino: bigint; readonly mtimeNs: bigint } | undefined;

  constructor(place: WriterPlace, nowMillis: () => number = () => performance.now()) {
    this.#place = place;
    this.#nowMillis = nowMillis;
  }

  /** Throws `WriterError` if it does not, `DiskError` if that cannot be determined. */
  check(always: boolean): void {
    const now = this.#nowMillis();
    if (!always && now - this.#lookedAt < limits.writerCheckMillis) return;
    const fault = this.#fault();
    if (fault !== undefined) throw new WriterError(fault);
    this.#lookedAt = now;
  }

  /** Reads a file only if it has not read it before, so that a check needs no descriptor. */
  #fault(): string | undefined {
    const { file, content } = this.#place;
    try {
      const found = fs.statSync(file, { bigint: true, throwIfNoEntry: false });
      if (found === undefined) return goneFault;
      const { ino, mtimeNs } = found;
      if (this.#seen?.ino === ino && this.#seen.mtimeNs === mtimeNs) return undefined;
      if (readMark(file) !== content) return foreignFault;
      this.#seen = { ino, mtimeNs };
      return undefined;
    } catch (error) {
      throw new DiskError('check', markName, error);
    }
  }
}

const foreignFault =
  `another service has taken over the data folder: \`${markName}\` has its mark. ` +
  'This one writes nothing more there. Stop one of the two, then restart the other';

const goneFault =
  `the mark of this service in its data folder, \`${markName}\`, is gone: another service may ` +
  'have written there. This one writes nothing more. Make sure that no other runs, then restart it';
