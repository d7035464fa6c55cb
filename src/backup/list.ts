import { limits } from '../limits.ts';
import { listArchives, objectsOfArchive, readArchiveState } from './archive-state.ts';
import { BackupError } from './backup-error.ts';
import { type HeldWindow, windowsOf } from './coverage.ts';
import { type LogPoint, type Manifest, objectsOf } from './manifest.ts';
import { type ManifestName, parseVerifiedName, verifiedFolder } from './object-names.ts';
import { ObjectFault, type Repository } from './repository.ts';

export interface ListedBackup {
  readonly id: string;
  readonly timeMicros: number;
  readonly isWhole: boolean;
  readonly databases: readonly {
    readonly identity: string;
    readonly names: readonly string[];
    readonly end: LogPoint;
    readonly fault: string;
  }[];
  /** Bytes as they are stored: of all objects, and of those that no earlier backup has. */
  readonly totalBytes: number;
  readonly newBytes: number;
  /** The last checks that passed, by depth. */
  readonly readMicros: number | undefined;
  readonly testedMicros: number | undefined;
  /** Why the manifest cannot be read; it then has neither databases nor bytes. */
  readonly fault: string;
}

export interface ListedArchive {
  readonly name: string;
  readonly identity: string;
  readonly names: readonly string[];
  readonly epoch: string;
  readonly line: number;
  /** The states that can be restored, the oldest first; between two of them is a gap. */
  readonly windows: readonly Pick<HeldWindow, 'from' | 'to' | 'untilMicros'>[];
  readonly totalBytes: number;
  readonly fault: string;
}

/** The backups of a repository, the newest first. */
export async function listBackups(repository: Repository): Promise<ListedBackup[]> {
  const checks = await readChecks(repository);
  const names = (await repository.manifests()).slice(0, limits.backupsListedMax);
  const seen = new Set<string>();
  const listed: ListedBackup[] = [];
  for (const name of names.reverse()) {
    listed.push(await listedBackup(repository, name, seen, checks.get(stemOf(name))));
  }
  return listed.reverse();
}

/** The archives of a repository, in the order of their names. */
export async function listedArchives(repository: Repository): Promise<ListedArchive[]> {
  const listed: ListedArchive[] = [];
  for (const found of await listArchives(repository)) {
    const { name, identity, epoch, line } = found;
    const base = { name, identity, epoch, line };
    const state = await faultOr(() => readArchiveState(repository, found));
    if (state === undefined) continue;
    if (typeof state === 'string') {
      listed.push({ ...base, names: [], windows: [], totalBytes: 0, fault: state });
      continue;
    }
    const { record, snapshots, segments, tails, confirmedMicros } = state;
    const held = { snapshots, segments: [...segments, ...tails], confirmedMicros };
    listed.push({
      ...base,
      names: record.names,
      windows: windowsOf(held).map(({ from, to, untilMicros }) => ({ from, to, untilMicros })),
      totalBytes: objectsOfArchive(state).reduce((sum, { storedBytes }) => sum + storedBytes, 0),
      fault: '',
    });
  }
  return listed;
}

async function listedBackup(
  repository: Repository,
  name: ManifestName,
  seen: Set<string>,
  checks: Checks | undefined,
): Promise<ListedBackup> {
  const { id, timeMicros } = name;
  const rest = { readMicros: checks?.readMicros, testedMicros: checks?.testedMicros };
  const manifest = await faultOr(() => repository.manifest(name));
  if (typeof manifest === 'string') {
    const empty = { isWhole: false, databases: [], totalBytes: 0, newBytes: 0 };
    return { id, timeMicros, ...empty, ...rest, fault: manifest };
  }
  const { totalBytes, newBytes } = sizesOf(manifest, seen);
  const { isWhole, databases } = manifest;
  const shown = databases.map(({ identity, record, end, fault }) => {
    return { identity, names: record.names, end, fault };
  });
  const sizes = { totalBytes, newBytes };
  return {
    id,
    timeMicros: manifest.timeMicros,
    isWhole,
    databases: shown,
    ...sizes,
    ...rest,
    fault: '',
  };
}

function sizesOf(manifest: Manifest, seen: Set<string>): { totalBytes: number; newBytes: number } {
  let totalBytes = 0;
  let newBytes = 0;
  const own = new Set<string>();
  for (const { name, storedBytes } of objectsOf(manifest)) {
    if (own.has(name)) continue;
    own.add(name);
    totalBytes += storedBytes;
    if (!seen.has(name)) newBytes += storedBytes;
    seen.add(name);
  }
  return { totalBytes, newBytes };
}

interface Checks {
  readonly readMicros: number | undefined;
  readonly testedMicros: number | undefined;
}

/** The last check of each backup, by the stem of its name. */
async function readChecks(repository: Repository): Promise<Map<string, Checks>> {
  const checks = new Map<string, Checks>();
  for await (const { name } of repository.store.list(verifiedFolder)) {
    const found = parseVerifiedName(name);
    if (found === undefined) continue;
    const { stem, depth, timeMicros: micros } = found;
    const before = checks.get(stem);
    const readMicros = Math.max(micros, before?.readMicros ?? 0);
    // A deep check reads everything as well.
    const testedMicros =
      depth === 'deep' ? Math.max(micros, before?.testedMicros ?? 0) : before?.testedMicros;
    checks.set(stem, { readMicros, testedMicros });
  }
  return checks;
}

/** Forgets what checks of a backup have said. */
export async function removeMarks({ store }: Repository, backup: ManifestName): Promise<void> {
  const marks: string[] = [];
  for await (const { name } of store.list(`${verifiedFolder}${stemOf(backup)}/`)) marks.push(name);
  for (const mark of marks) await store.delete(mark);
}

function stemOf({ name }: ManifestName): string {
  return name.slice(name.indexOf('/') + 1, -'.json'.length);
}

/** What was read, or why it could not be; a store that cannot be reached is an error. */
async function faultOr<T>(read: () => Promise<T>): Promise<T | string> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ObjectFault || error instanceof BackupError) return error.message;
    throw error;
  }
}
