import { existsSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { withDataFolder } from '../host/offline/shown-command.ts';
import { UnreadableError, type VerifiedLog, verifyData } from '../host/offline/verify-data.ts';
import { type VerifiedStatic, verifyStatic } from '../host/offline/verify-static.ts';
import { MachineClock } from '../node/clock.ts';
import { type DirectoryLock, DirectoryLockedError, lockDirectory } from '../node/directory-lock.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { refuseLink, tightenEntry, tightenFolder } from '../node/private-files.ts';
import { linesIn } from '../node/synced-lines.ts';
import { claimWriter, type WriterPlace } from '../node/writer-mark.ts';
import { ConfigurationError } from './configuration.ts';

/** The finding for one log, one file beside it, or the static files of a database, in words. */
export interface Finding {
  /** Relative to the data folder. */
  readonly log: string;
  readonly state: VerifiedLog['report']['kind'] | VerifiedStatic['state'] | 'set aside';
  readonly commits: string;
  /** The offsets whose state can be read: `‹floor›-‹end›`. */
  readonly history: string;
  /** The number of snapshots. */
  readonly snapshots: string;
  readonly detail: string;
}

/**
 * Checks all logs and snapshots of a data folder, that every log in the registry exists, and all
 * static files, while no service uses the folder. Rejects with `ConfigurationError` if one does, if
 * there are no logs, and if one is unreadable. Printed commands end in `folderFlag`, which names
 * the folder. `isDeep`: logs are replayed, too, and compared with their snapshots.
 */
export async function checkDataFolder(
  folder: string,
  folderFlag = '',
  isDeep = false,
): Promise<Finding[]> {
  requireData(folder);
  const lock = takeLock(folder);
  try {
    const machine = { clock: new MachineClock(), entropy: new MachineEntropy(), isDeep };
    const real = realFolder(folder);
    const logs = await verifyData(real, machine);
    const files = verifyStatic(real).map(({ folder: log, state, detail }) => {
      return { ...noFigures, log, state, detail };
    });
    return [...logs.flatMap(findingsOf), ...files].map((found) => {
      return { ...found, detail: withDataFolder(found.detail, folderFlag) };
    });
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    throw new ConfigurationError(error.message, { cause: error });
  } finally {
    lock.release();
  }
}

/**
 * The data of a host. Keys, the audit log and ledgers are not part of it: tokens, and the record of
 * their use, outlive the data.
 */
const dataParts = ['registry', 'databases'] as const;

/**
 * Makes the folder and its contents unreadable for other users, and rejects links in place of its
 * parts. Links further down are rejected on opening and stop only their database. Throws
 * `ConfigurationError`.
 */
export function securePermissions(
  folder: string,
  report: (level: 'info' | 'warn', message: string) => void,
): void {
  const complain = (problem: string) => report('warn', problem);
  let count = 0;
  for (const part of [...dataParts, 'audit', 'ledger', 'low-signed-since', 'signing-key']) {
    const place = path.join(folder, part);
    try {
      refuseLink(place);
    } catch (cause) {
      throw new ConfigurationError((cause as Error).message, { cause });
    }
    count += tightenFolder(place, complain);
  }
  count += tightenEntry(folder, complain);
  if (count === 0) return;
  const entries = count === 1 ? '1 entry' : `${count} entries`;
  report('info', `Other users could read ${entries} of ${folder}; they no longer can`);
}

/**
 * Resolves the real path of a data folder. The folder and its parents can be links that the
 * operator made; only its contents must not be.
 */
export function realFolder(folder: string): string {
  return realpathSync(folder);
}

/** Whether a service has stored databases in the folder. */
export function hasData(folder: string): boolean {
  return dataParts.some((part) => existsSync(path.join(folder, part)));
}

/** Throws `ConfigurationError` unless a service has stored databases in the folder. */
export function requireData(folder: string): void {
  if (!hasData(folder)) {
    throw new ConfigurationError(
      `There is no data in ${folder}. Name the data folder with --data-dir.`,
    );
  }
}

/**
 * Deletes all databases of a data folder, and nothing else, while no service uses it. Throws
 * `ConfigurationError` if one does. The registry goes first: without it, no service starts on the
 * rest of an interrupted deletion, and a second call completes it.
 */
export async function clearData(folder: string): Promise<void> {
  const claim = await takeToWrite(folder);
  try {
    for (const part of dataParts) rmSync(path.join(folder, part), { recursive: true, force: true });
  } finally {
    claim.release();
  }
}

/**
 * Returns the last lines of a folder's audit log, oldest first. A service may be using the folder,
 * or its databases may be gone. Throws `ConfigurationError` if the folder does not exist.
 */
export function auditLines(folder: string, count: number): readonly string[] {
  if (!existsSync(folder)) throw new ConfigurationError(`There is no folder ${folder}.`);
  const directory = path.join(folder, 'audit');
  const all = existsSync(directory) ? [...linesIn(directory)] : [];
  return count === 0 ? [] : all.slice(-count);
}

/** Locks a folder. Throws `ConfigurationError` if a service uses it. */
export function takeLock(folder: string): DirectoryLock {
  try {
    return lockDirectory(folder);
  } catch (error) {
    throw mendable(error);
  }
}

function mendable(error: unknown): unknown {
  if (!(error instanceof DirectoryLockedError)) return error;
  return new ConfigurationError(`${error.message}. Stop the service first.`, { cause: error });
}

/** A data folder to which only this process writes. */
export interface FolderClaim {
  /** Checked by databases before they write. */
  readonly writer: WriterPlace;
  release(): void;
}

/**
 * Locks and claims a folder for writing to its databases while no service uses it. Rejects with
 * `ConfigurationError` if one does.
 */
export async function takeToWrite(folder: string): Promise<FolderClaim> {
  try {
    return await claimFolder(lockDirectory(folder));
  } catch (error) {
    throw mendable(error);
  }
}

/** Marks a folder, whose lock the caller holds, as written by this process. */
export async function claimFolder(lock: DirectoryLock): Promise<FolderClaim> {
  try {
    const { place, release } = await claimWriter(lock);
    return {
      writer: place,
      release() {
        try {
          release();
        } finally {
          lock.release();
        }
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

const noFigures = { commits: '', history: '', snapshots: '' } as const;

function findingsOf(log: VerifiedLog): Finding[] {
  const snapshots = log.snapshots.map(({ name, kind: state, offset, detail }) => {
    const place = path.join(log.folder, name);
    return { ...noFigures, log: place, state, commits: String(offset), detail };
  });
  const files = log.files.map(({ name, kind, detail }): Finding => {
    const state = kind === 'aside' ? 'set aside' : kind;
    return { ...noFigures, log: path.join(log.folder, name), state, detail };
  });
  return [finding(log), ...snapshots, ...files];
}

function finding(log: VerifiedLog): Finding {
  const { folder, history, report } = log;
  const found = wordsFor(log);
  const isLog = report.kind === 'intact' || report.kind === 'torn';
  if (history === undefined || !isLog) return { ...noFigures, log: folder, ...found };
  const { floorOffset, snapshots } = history;
  const { offset } = report.contents;
  const extent = `${Math.min(floorOffset, offset)}-${offset}`;
  return { log: folder, ...found, history: extent, snapshots: String(snapshots) };
}

function wordsFor({ report }: VerifiedLog): Pick<Finding, 'state' | 'commits' | 'detail'> {
  const state = report.kind;
  switch (report.kind) {
    case 'absent':
      return { state, commits: '', detail: 'no log' };
    case 'missing':
    case 'unreadable':
      return { state, commits: '', detail: report.detail };
    case 'intact': {
      const { offset, isMarkHalf } = report.contents;
      const detail = isMarkHalf ? 'half of `durable` is not valid; the next start repairs it' : '';
      return { state, commits: String(offset), detail };
    }
    case 'torn': {
      const detail =
        'the end was being written when the service ended; ' +
        'the next start cuts it off, and keeps it beside the log';
      return { state, commits: String(report.contents.offset), detail };
    }
    case 'damaged':
    case 'forked':
      return { state, commits: '', detail: report.error.message };
  }
}
