import fs from 'node:fs';
import path from 'node:path';
import { BackupError, noSpaceError, notEmptyError } from '../../backup/backup-error.ts';
import { fetchFiles, fetchRestore } from '../../backup/fetch.ts';
import { backupHolding, findBackup } from '../../backup/holdings.ts';
import type { DatabaseEntry, Manifest } from '../../backup/manifest.ts';
import { ObjectFault, type Repository } from '../../backup/repository.ts';
import { explained } from '../../backup/restore-fault.ts';
import {
  foreignText,
  type PassedOver,
  planFrom,
  type RestorePlan,
} from '../../backup/restore-plan.ts';
import { verifyStart } from '../../log/verify.ts';
import { MachineClock } from '../../node/clock.ts';
import { MachineDisk } from '../../node/disk.ts';
import { MachineEntropy } from '../../node/entropy.ts';
import { FolderSpace } from '../../node/folder-space.ts';
import { privateFolderMode } from '../../node/private-files.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import type { JobProgress } from '../databases/jobs.ts';
import { DatabaseFiles } from '../registry/database-files.ts';
import { KnownSchedules } from '../registry/known-schedules.ts';
import { openRegistry } from '../registry/open-registry.ts';
import { registryHex } from './backed-up.ts';

export interface HostRestore {
  /** Id of a backup, or `latest`. */
  readonly backup: string;
  /** A folder that is empty, or does not exist. */
  readonly directory: string;
  /** Refused: a whole host is restored as it was backed up. */
  readonly at?: string | undefined;
  readonly show: (progress: JobProgress) => void;
  /** False: schedules of all databases are paused until they are resumed. */
  readonly runsSchedules: boolean;
  readonly signal?: AbortSignal;
}

/** What a backup of a whole host would make of a folder. */
export interface HostPlan {
  readonly manifest: Manifest;
  readonly plans: readonly { readonly plan: RestorePlan; readonly directory: string }[];
  /** Databases of which nothing can be restored. */
  readonly leftOut: readonly LeftOut[];
  /** Newer backups that cannot be read; they may be of the whole host. */
  readonly passedOver: readonly PassedOver[];
  readonly bytes: number;
  readonly freeBytes: number | undefined;
}

/** A database that a restore of a host does not have, and why. */
export interface LeftOut {
  readonly identity: string;
  readonly names: readonly string[];
  readonly reason: string;
}

/** Plans the restore of a whole host; throws `BackupError` for what cannot be done. */
export async function planHost(
  repository: Repository,
  { backup, directory, at }: Pick<HostRestore, 'backup' | 'directory' | 'at'>,
): Promise<HostPlan> {
  if (at !== undefined) {
    const text = 'a whole host is restored as it was when it was backed up, without --at';
    const advice = 'restore single databases to a place with --database, --in-place and --at then';
    throw new BackupError('backup.place', `${text}; ${advice}`);
  }
  const isThere = fs.existsSync(directory);
  if (isThere && fs.readdirSync(directory).length > 0) throw notEmptyError(directory);
  const passedOver: PassedOver[] = [];
  const manifest = await wholeBackup(repository, backup, passedOver);
  const leftOut: LeftOut[] = [];
  const plans = manifest.databases.flatMap((entry) => {
    const { identity, record, fault } = entry;
    const holding = backupHolding(manifest, entry);
    const plan = planFrom(holding, { kind: 'end' });
    if (plan !== undefined) return [{ plan, directory: folderOf(directory, entry) }];
    if (identity === registryHex) {
      const text = `backup ${manifest.id} holds nothing of the registry, which knows the databases`;
      throw new BackupError('backup.unknown', text);
    }
    const nothing = 'the objects that the backup names lead to no state';
    const reason = foreignText(holding) ?? (fault === '' ? nothing : fault);
    leftOut.push({ identity, names: record.names, reason });
    return [];
  });
  const ofHost = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const bytes = plans.reduce((sum, { plan }) => sum + plan.bytes, ofHost);
  const parent = isThere ? directory : path.dirname(path.resolve(directory));
  return {
    manifest,
    plans,
    leftOut,
    passedOver,
    bytes,
    freeBytes: new FolderSpace(parent).freeBytes(),
  };
}

/** The newest backup of a whole host, or the one that is named. */
async function wholeBackup(
  repository: Repository,
  id: string,
  passedOver: PassedOver[],
): Promise<Manifest> {
  if (id !== 'latest') {
    const manifest = await repository.manifest(await findBackup(repository, id));
    if (manifest.isWhole) return manifest;
    throw new BackupError('backup.unknown', `backup ${id} is not of a whole host`);
  }
  let unreadable: ObjectFault | undefined;
  for (const name of await repository.manifests()) {
    try {
      const manifest = await repository.manifest(name);
      if (manifest.isWhole) return manifest;
    } catch (error) {
      if (!(error instanceof ObjectFault)) throw error;
      unreadable ??= error;
      passedOver.push({ id: name.id, fault: error.message });
    }
  }
  if (unreadable !== undefined) throw new BackupError('backup.damaged', unreadable.message);
  const text = `${repository.store.place} holds no backup of a whole host`;
  throw new BackupError('backup.unknown', text);
}

/** The registry counts the folders of a database. */
function folderOf(directory: string, { identity, record }: DatabaseEntry): string {
  if (identity === registryHex) return path.join(directory, 'registry');
  const { generation } = record.more;
  if (typeof generation === 'number' && Number.isSafeInteger(generation) && generation > 0) {
    return path.join(directory, 'databases', identity, `log-${generation}`);
  }
  throw new BackupError('backup.damaged', `the backup does not say which log ${identity} has`);
}

/**
 * Restores a host into an empty folder. The registry comes last: without it no service starts on
 * what an interruption leaves. On a fault of an object nothing is left. Returns the databases that
 * are not there: those of the plan, and those whose log no start would take.
 */
export async function restoreHost(
  repository: Repository,
  { manifest, plans, leftOut: unplanned, bytes, freeBytes }: HostPlan,
  { directory, show, signal, runsSchedules }: HostRestore,
): Promise<LeftOut[]> {
  if (freeBytes !== undefined && freeBytes < bytes) throw noSpaceError(directory, bytes, freeBytes);
  const wasThere = fs.existsSync(directory);
  fs.mkdirSync(directory, { recursive: true, mode: privateFolderMode });
  const leftOut = [...unplanned];
  try {
    const isOfRegistry = ({ plan }: HostPlan['plans'][number]) => plan.identity === registryHex;
    let done = 0;
    for (const each of [...plans].sort((one, other) => +isOfRegistry(one) - +isOfRegistry(other))) {
      const before = done;
      const onProgress = (progress: { readonly bytesDone: number }): void => {
        show({ phase: 'fetching', done: before + progress.bytesDone, total: bytes });
      };
      const reason = await restoreOne(repository, each, { onProgress, signal });
      if (reason !== undefined) leftOut.push(leftOutOf(each, reason));
      done += each.plan.bytes;
    }
    const source = { kind: 'backup', id: manifest.id, timeMicros: manifest.timeMicros } as const;
    await fetchFiles(repository, { source, files: manifest.files }, directory, { signal });
    if (!runsSchedules) await pauseAll(directory);
    return leftOut;
  } catch (error) {
    for (const name of fs.readdirSync(directory)) {
      fs.rmSync(path.join(directory, name), { recursive: true, force: true });
    }
    if (!wasThere) fs.rmdirSync(directory);
    if (!(error instanceof BackupError && error.cause instanceof ObjectFault)) throw error;
    // Another backup has to be of the whole host as well.
    const { id, timeMicros } = manifest;
    const source = { kind: 'backup', id, timeMicros } as const;
    throw await explained(repository, { source, isWhole: true }, error.cause);
  }
}

/** The registry is needed for all others. */
function leftOutOf({ plan, directory }: HostPlan['plans'][number], reason: string): LeftOut {
  const { identity, record } = plan;
  const text = `${record.names[0] ?? identity} would not open: ${reason}`;
  if (identity === registryHex) throw new BackupError('backup.damaged', `the registry, ${text}`);
  fs.rmSync(path.dirname(directory), { recursive: true, force: true });
  return { identity, names: record.names, reason: text };
}

/** Returns why the restored log would not open; `undefined`: it would. */
async function restoreOne(
  repository: Repository,
  { plan, directory }: HostPlan['plans'][number],
  options: Parameters<typeof fetchRestore>[3],
): Promise<string | undefined> {
  const folder = path.dirname(directory);
  fs.mkdirSync(folder, { recursive: true, mode: privateFolderMode });
  await fetchRestore(repository, plan, directory, options);
  await fetchFiles(repository, plan, folder, options);
  const report = verifyStart(
    new MachineDisk(directory),
    databaseIdentity(BigInt(`0x${plan.identity}`)),
  );
  if (report.kind === 'intact') return undefined;
  return 'error' in report ? report.error.message : report.kind;
}

/** The host that was backed up may still serve: everything would be done twice. */
async function pauseAll(directory: string): Promise<void> {
  const options = {
    clock: new MachineClock(),
    entropy: new MachineEntropy(),
    report: () => undefined,
  };
  const registry = await openRegistry(options, new DatabaseFiles(directory));
  try {
    const known = new KnownSchedules(registry);
    for (const { identity } of registry.databases) await known.setPaused(identity, true);
  } finally {
    await registry.close();
  }
}
