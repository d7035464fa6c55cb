import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { HistoryReport } from '../../history/keep.ts';
import {
  deepFindings,
  type FileFinding,
  filesSetAside,
  historyExtent,
  verifyFloor,
  verifyIndexes,
} from '../../history/verify-history.ts';
import { DiskError } from '../../log/disk.ts';
import {
  type LogReport,
  type SnapshotReport,
  verifyLog,
  verifySnapshots,
  withSnapshots,
  withStart,
} from '../../log/verify.ts';
import { MachineDisk } from '../../node/disk.ts';
import { identityFromHex } from '../../values/identity.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import { DatabaseFiles, RegistryError } from '../registry/database-files.ts';
import { openRegistryCopy, type RegistryOptions } from '../registry/open-registry.ts';
import { registryIdentity } from '../registry/registry.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';

/** One log of a data folder, and the result of checking it. */
export interface VerifiedLog {
  /** Relative to the data folder. */
  readonly folder: string;
  readonly report: LogReport | MissingLog | UnreadableLog;
  /** The snapshots beside it. */
  readonly snapshots: readonly SnapshotReport[];
  /** What is kept of its past; `undefined`: nothing, or that is not known. */
  readonly history: HistoryReport | undefined;
  /** Indexes of segments that are damaged, and files that were set aside. */
  readonly files: readonly FileFinding[];
}

/** A log that should exist: the registry's, or one that it names. `detail`: what is missing. */
export interface MissingLog {
  readonly kind: 'missing';
  readonly detail: string;
}

/** A log that cannot be read because of the machine, or a link in its folder; `detail`: why. */
export interface UnreadableLog {
  readonly kind: 'unreadable';
  readonly detail: string;
}

export interface VerifyOptions extends Pick<RegistryOptions, 'clock' | 'entropy'> {
  /** True: each log is replayed, too, and compared with its snapshots. */
  readonly isDeep?: boolean;
}

/** The machine cannot read the folder; the text gives the reason. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/**
 * Reads every log below a data folder, the registry's first, and checks all that a start would
 * check, without changing anything; then checks that every database that the registry names has a
 * log. Rejects with `UnreadableError`. The caller holds the folder's lock, so that nothing is
 * written meanwhile.
 */
export async function verifyData(root: string, options: VerifyOptions): Promise<VerifiedLog[]> {
  const isDeep = options.isDeep === true;
  const registry = reportOn(root, 'registry', registryIdentity, isDeep);
  const found = logsIn(root).map(({ folder, identity }) => {
    return reportOn(root, folder, identity, isDeep);
  });
  const { kind } = registry.report;
  if (kind !== 'intact' && kind !== 'torn') {
    const detail = 'the list of databases is missing; restore it from a backup';
    const report = { kind: 'missing', detail } as const;
    return [kind === 'absent' ? { ...registry, report } : registry, ...found];
  }
  const named = await namedLogs(root, options);
  const unseen = named.filter((folder) => !found.some((log) => log.folder === folder));
  return [
    registry,
    ...found.map((log) => (named.includes(log.folder) ? orMissing(log) : log)),
    ...unseen.map((folder) => {
      return { ...nothingBeside, folder, report: missing('its folder is not there') };
    }),
  ];
}

/** The logs of databases, including those that a creation, or a crash, left behind. */
function logsIn(root: string): { folder: string; identity: DatabaseIdentity }[] {
  const logs: { folder: string; identity: DatabaseIdentity }[] = [];
  for (const name of entries(path.join(root, 'databases'))) {
    // Other programs leave files of their own in every folder.
    const identity = identityFromHex(name);
    if (identity === undefined) continue;
    for (const log of entries(path.join(root, 'databases', name))) {
      if (!log.startsWith('log-')) continue;
      const folder = path.join('databases', name, log);
      logs.push({ folder, identity: databaseIdentity(identity) });
    }
  }
  return logs;
}

/** Requires at least a program in a log that the registry names. */
function orMissing(log: VerifiedLog): VerifiedLog {
  const { report } = log;
  if (report.kind === 'absent') return { ...log, report: missing('its files are not there') };
  const isEmpty = report.kind === 'intact' || report.kind === 'torn';
  if (!isEmpty || report.contents.offset > 0) return log;
  return { ...log, report: missing('it holds no commit') };
}

function missing(what: string): MissingLog {
  const detail = `the registry names this log, but ${what}; restore it from a backup`;
  return { kind: 'missing', detail };
}

/** Folders of the logs that the registry names. */
async function namedLogs(
  root: string,
  options: Pick<RegistryOptions, 'clock' | 'entropy'>,
): Promise<string[]> {
  const files = new DatabaseFiles(root);
  try {
    const registry = await openRegistryCopy(options, files);
    const named = [...registry.databases].map((database) => folderOf(files, root, database));
    await registry.close();
    return named;
  } catch (cause) {
    if (!(cause instanceof RegistryError)) throw cause;
    throw new UnreadableError(cause.message, { cause });
  }
}

function folderOf(
  files: DatabaseFiles,
  root: string,
  { identity, generation }: Pick<RegisteredDatabase, 'identity' | 'generation'>,
): string {
  return path.relative(root, files.logDirectory(identity, generation) ?? root);
}

function reportOn(
  root: string,
  folder: string,
  identity: DatabaseIdentity,
  isDeep: boolean,
): VerifiedLog {
  const directory = path.join(root, folder);
  if (!existsSync(directory)) return { ...nothingBeside, folder, report: { kind: 'absent' } };
  try {
    const disk = new MachineDisk(directory);
    const snapshots = verifySnapshots(disk, identity);
    const log = withStart(verifyLog(disk, identity), disk, identity);
    const report = withSnapshots(log, disk, identity, snapshots);
    const isWhole = report.kind === 'intact' || report.kind === 'torn';
    const deep = isDeep && isWhole ? deepFindings(disk, identity) : [];
    const files = [...verifyFloor(disk), ...verifyIndexes(disk), ...deep, ...filesSetAside(disk)];
    return { folder, report, snapshots, history: historyExtent(disk, identity), files };
  } catch (cause) {
    if (!(cause instanceof DiskError)) throw cause;
    return { ...nothingBeside, folder, report: { kind: 'unreadable', detail: cause.message } };
  }
}

const nothingBeside = { snapshots: [], history: undefined, files: [] } as const;

function entries(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}
