import { limits } from '../limits.ts';
import { listArchives, objectsOfArchive, readArchiveState } from './archive-state.ts';
import { BackupError } from './backup-error.ts';
import { removeMarks } from './list.ts';
import { type Manifest, objectsOf } from './manifest.ts';
import { type ManifestName, objectsFolder } from './object-names.ts';
import { ObjectFault, type Repository } from './repository.ts';

/** What is kept of the backups of each database. Days, weeks and months are those of UTC. */
export interface PrunePolicy {
  readonly keepLast?: number | undefined;
  readonly keepDaily?: number | undefined;
  readonly keepWeekly?: number | undefined;
  readonly keepMonthly?: number | undefined;
  /** Nothing younger than this is removed. */
  readonly olderThanMicros?: number | undefined;
  /** True if the last backup of a database can be removed as well. */
  readonly isForced?: boolean | undefined;
}

export interface PruneOptions {
  readonly nowMicros: number;
  /** True to find out what would be removed, and remove nothing. */
  readonly isDry: boolean;
}

export interface PruneReport {
  readonly removed: readonly PrunedBackup[];
  readonly kept: readonly PrunedBackup[];
  readonly objectCount: number;
  /** Bytes as they were stored. */
  readonly objectBytes: number;
  readonly uploadCount: number;
  /** Manifests and archives that cannot be read: because of them no object is removed. */
  readonly faults: readonly string[];
}

export interface PrunedBackup {
  readonly id: string;
  readonly timeMicros: number;
}

interface ReadBackup {
  readonly name: ManifestName;
  readonly manifest: Manifest;
}

/** Removes backups, and then what nothing needs any more. */
export async function pruneBackups(
  repository: Repository,
  policy: PrunePolicy,
  options: PruneOptions,
): Promise<PruneReport> {
  checkPolicy(policy);
  const { backups, faults } = await readBackups(repository);
  const gone = backupsToRemove(backups, policy, options.nowMicros);
  if (!options.isDry) for (const { name } of gone) await removeBackup(repository, name);
  const kept = backups.filter((backup) => !gone.includes(backup));
  const needed = new Set(kept.flatMap(({ manifest }) => objectsOf(manifest)).map(nameOf));
  faults.push(...(await addArchives(repository, needed)));
  const objects = faults.length > 0 ? noObjects : await sweep(repository, needed, options);
  const before = beforeMicros(options);
  return {
    removed: gone.map(prunedOf),
    kept: kept.map(prunedOf),
    objectCount: objects.count,
    objectBytes: objects.bytes,
    uploadCount: await repository.store.sweep(before, options.isDry),
    faults,
  };
}

function prunedOf({ manifest: { id, timeMicros } }: ReadBackup): PrunedBackup {
  return { id, timeMicros };
}

function checkPolicy(policy: PrunePolicy): void {
  const counts = [policy.keepLast, policy.keepDaily, policy.keepWeekly, policy.keepMonthly];
  const isGiven = counts.some((count) => count !== undefined);
  if (isGiven || policy.olderThanMicros !== undefined) return;
  const text = 'say what to keep: --keep-last, --keep-daily, --keep-weekly, --keep-monthly';
  throw new BackupError('backup.policy', `${text}, or --older-than`);
}

/** The backups that a policy removes. `backups` are the newest first. */
export function backupsToRemove(
  backups: readonly ReadBackup[],
  policy: PrunePolicy,
  nowMicros: number,
): ReadBackup[] {
  const kept = new Set<ReadBackup>();
  const databases = new Set(backups.flatMap(({ manifest }) => identitiesOf(manifest)));
  for (const identity of databases) {
    const own = backups.filter(({ manifest }) => identitiesOf(manifest).includes(identity));
    for (const backup of keptOf(own, policy)) kept.add(backup);
    // The last whole one: a newer one with less of the database does not take its place.
    const whole = own.find(({ manifest }) => isWhole(manifest, identity)) ?? own[0];
    if (whole !== undefined && policy.isForced !== true) kept.add(whole);
  }
  const youngest = policy.olderThanMicros ?? 0;
  return backups.filter((backup) => {
    return !kept.has(backup) && nowMicros - backup.manifest.timeMicros > youngest;
  });
}

function identitiesOf(manifest: Manifest): string[] {
  return manifest.databases.map(({ identity }) => identity);
}

function isWhole(manifest: Manifest, identity: string): boolean {
  return manifest.databases.some((one) => one.identity === identity && one.fault === '');
}

function keptOf(own: readonly ReadBackup[], policy: PrunePolicy): ReadBackup[] {
  const { keepLast = 0, keepDaily = 0, keepWeekly = 0, keepMonthly = 0 } = policy;
  return [
    ...own.slice(0, keepLast),
    ...newestOfEach(own, keepDaily, dayOf),
    ...newestOfEach(own, keepWeekly, weekOf),
    ...newestOfEach(own, keepMonthly, monthOf),
  ];
}

/** The newest of each of the last `count` periods that have one. */
function newestOfEach(
  own: readonly ReadBackup[],
  count: number,
  periodOf: (micros: number) => number | string,
): ReadBackup[] {
  const newest = new Map<number | string, ReadBackup>();
  for (const backup of own) {
    const period = periodOf(backup.manifest.timeMicros);
    if (!newest.has(period)) newest.set(period, backup);
  }
  return [...newest.values()].slice(0, count);
}

function dayOf(micros: number): number {
  return Math.floor(micros / dayMicros);
}

/** Weeks begin on Monday; 1 January 1970 was a Thursday. */
function weekOf(micros: number): number {
  return Math.floor((dayOf(micros) + 3) / 7);
}

function monthOf(micros: number): string {
  return new Date(micros / 1000).toISOString().slice(0, 7);
}

const dayMicros = 86_400_000_000;

/** The manifests that can be read, the newest first, and why others cannot. */
async function readBackups(
  repository: Repository,
): Promise<{ backups: ReadBackup[]; faults: string[] }> {
  const backups: ReadBackup[] = [];
  const faults: string[] = [];
  for (const name of await repository.manifests()) {
    try {
      backups.push({ name, manifest: await repository.manifest(name) });
    } catch (error) {
      faults.push(faultOf(error));
    }
  }
  return { backups, faults };
}

/** Adds the objects of all archives to those that are needed; returns why some are not known. */
async function addArchives(repository: Repository, needed: Set<string>): Promise<string[]> {
  const faults: string[] = [];
  for (const name of await listArchives(repository)) {
    try {
      const state = await readArchiveState(repository, name);
      if (state === undefined) continue;
      for (const entry of objectsOfArchive(state)) needed.add(entry.name);
    } catch (error) {
      faults.push(faultOf(error));
    }
  }
  return faults;
}

/** A store that cannot be reached ends the work. */
function faultOf(error: unknown): string {
  if (error instanceof ObjectFault || error instanceof BackupError) return error.message;
  throw error;
}

async function removeBackup(repository: Repository, name: ManifestName): Promise<void> {
  await repository.store.delete(name.name);
  await removeMarks(repository, name);
}

const noObjects = { count: 0, bytes: 0 };

/**
 * Removes objects that nothing needs and that are not young: those of a run that is under way are
 * young, since nothing names them yet. A backup that was finished meanwhile is heeded.
 */
async function sweep(
  repository: Repository,
  needed: Set<string>,
  options: PruneOptions,
): Promise<{ count: number; bytes: number }> {
  const old: { name: string; bytes: number }[] = [];
  for await (const { name, bytes, modifiedMicros } of repository.store.list(objectsFolder)) {
    if (!needed.has(name) && modifiedMicros < beforeMicros(options)) old.push({ name, bytes });
  }
  if (!options.isDry) {
    const { backups, faults } = await readBackups(repository);
    faults.push(...(await addArchives(repository, needed)));
    if (faults.length > 0) return noObjects;
    for (const entry of backups.flatMap(({ manifest }) => objectsOf(manifest))) {
      needed.add(entry.name);
    }
  }
  const removed = old.filter(({ name }) => !needed.has(name));
  if (!options.isDry) for (const { name } of removed) await repository.store.delete(name);
  return { count: removed.length, bytes: removed.reduce((sum, { bytes }) => sum + bytes, 0) };
}

function beforeMicros({ nowMicros }: PruneOptions): number {
  return nowMicros - limits.backupUnnamedMillisMin * 1000;
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
