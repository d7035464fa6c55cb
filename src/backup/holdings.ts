import { type ArchiveState, listArchives, readArchiveState } from './archive-state.ts';
import { BackupError } from './backup-error.ts';
import { type CommitPlace, checkSegment } from './content-check.ts';
import { FrameError } from './frame-check.ts';
import type { DatabaseEntry, DatabaseRecord, Manifest, SegmentEntry } from './manifest.ts';
import type { ManifestName } from './object-names.ts';
import { ObjectFault, type Repository } from './repository.ts';
import { explained } from './restore-fault.ts';
import {
  foreignText,
  type Holding,
  outsideError,
  type PassedOver,
  planFrom,
  type RestorePlan,
  type RestoreTarget,
} from './restore-plan.ts';

export interface RestoreRequest {
  /** A name that the database had, or its identity. */
  readonly database: string;
  /** `latest`: whatever has the newest state, backups and archives. */
  readonly backup: string;
  readonly at?: RestoreTarget | undefined;
}

/**
 * Plans the restore of a database. A target other than the end is looked for in the named backup;
 * for `latest`, in all that the repository holds, the newest first. `latest` passes over backups
 * that are not all of the database, unless there is no other. Throws `BackupError`.
 */
export async function planRestore(
  repository: Repository,
  { database, backup, at = { kind: 'end' } }: RestoreRequest,
): Promise<RestorePlan> {
  const holdings: Holding[] = [];
  let faulty: RestorePlan | undefined;
  const passedOver: PassedOver[] = [];
  const unreadable = new Unreadable(passedOver);
  for await (const found of holdingsOf(repository, database, backup, unreadable)) {
    const foreign = foreignText(found);
    if (foreign !== undefined) {
      if (backup !== 'latest') throw new BackupError('backup.damaged', foreign);
      passedOver.push(passedOverOf({ ...found, fault: foreign }));
      continue;
    }
    const holding = at.kind === 'time' ? await withFirstCommit(repository, found) : found;
    holdings.push(holding);
    const plan = planFrom(holding, at);
    if (plan === undefined) {
      if (at.kind === 'end') passedOver.push(passedOverOf(holding));
      continue;
    }
    // The end of what is not all there is not the end of the database.
    if (plan.fault === '' || backup !== 'latest' || at.kind !== 'end') {
      return { ...plan, passedOver };
    }
    faulty ??= { ...plan, passedOver: [...passedOver] };
    passedOver.push(passedOverOf(plan));
  }
  if (faulty !== undefined) return faulty;
  if (holdings.length > 0) throw outsideError(database, at, holdings);
  if (unreadable.first !== undefined) throw unreadable.first;
  const what = backup === 'latest' ? repository.store.place : `backup ${backup}`;
  throw new BackupError('backup.unknown', `${what} holds no database ${database}`);
}

function passedOverOf({ source, fault }: Pick<Holding, 'source' | 'fault'>): PassedOver {
  const why = fault === '' ? 'nothing of it can be restored' : fault;
  return { id: source.kind === 'backup' ? source.id : source.name, fault: why };
}

/** What cannot be read is passed over: it may be of any database, and is the error at last. */
class Unreadable {
  first: BackupError | undefined;
  readonly #passedOver: PassedOver[];

  constructor(passedOver: PassedOver[]) {
    this.#passedOver = passedOver;
  }

  note(id: string, error: unknown): void {
    if (!(error instanceof BackupError || error instanceof ObjectFault)) throw error;
    const { message } = error;
    const isMissing = error instanceof ObjectFault && error.kind === 'missing';
    const code = isMissing ? 'backup.missing' : 'backup.damaged';
    this.first ??= error instanceof BackupError ? error : new BackupError(code, message, error);
    this.#passedOver.push({ id, fault: message });
  }
}

/**
 * The same, with the time of its first commit if it has that: before it there is no state. Reads
 * the beginning of one object; what cannot be read is a fault of the restore, not of the plan.
 */
async function withFirstCommit(repository: Repository, holding: Holding): Promise<Holding> {
  const first = holding.segments.find(({ from }) => from.position === 0);
  if (first === undefined || first.from.micros !== 0 || !repository.canRead) return holding;
  const commit = await firstCommit(repository, first);
  if (commit === undefined) return holding;
  const from = { ...first.from, micros: commit.micros };
  const segments = holding.segments.map((one) => (one === first ? { ...one, from } : one));
  return { ...holding, segments };
}

async function firstCommit(
  repository: Repository,
  segment: SegmentEntry,
): Promise<CommitPlace | undefined> {
  let found: CommitPlace | undefined;
  try {
    const check = checkSegment(repository.read(segment), segment, (commit) => {
      found ??= commit;
    });
    for await (const _ of check.content) if (found !== undefined) return found;
  } catch (error) {
    if (!(error instanceof ObjectFault || error instanceof FrameError)) throw error;
  }
  return found;
}

/** The manifest whose id begins so and no other does; with `latest`, the newest. */
export async function findBackup(repository: Repository, id: string): Promise<ManifestName> {
  const names = await repository.manifests();
  const fitting = names.filter((name) => id !== '' && name.id.startsWith(id));
  const found = id === 'latest' ? names[0] : fitting[0];
  if (found !== undefined && fitting.length < 2) return found;
  if (fitting.length > 1) {
    const ids = fitting.slice(0, 3).map((name) => name.id);
    const which = `${ids.join(', ')}${fitting.length > 3 ? ', …' : ''}`;
    throw new BackupError('backup.unknown', `several backups begin with ${id}: ${which}`);
  }
  const text = `${repository.store.place} holds no backup ${id}; see reducerdb backup list`;
  throw new BackupError('backup.unknown', id === 'latest' ? noBackupText(repository) : text);
}

function noBackupText(repository: Repository): string {
  return `${repository.store.place} holds no backup`;
}

/** What is held of a database, the newest state first. */
async function* holdingsOf(
  repository: Repository,
  database: string,
  backup: string,
  unreadable: Unreadable,
): AsyncIterable<Holding> {
  if (backup !== 'latest') {
    const name = await findBackup(repository, backup);
    yield* holdingsIn(await manifestOf(repository, name), database);
    return;
  }
  const archives = await archivesOf(repository, database, unreadable);
  for (const name of await repository.manifests()) {
    // An archive says how far it reaches; a backup is as old as its name.
    while (archives[0] !== undefined && archives[0].confirmedMicros >= name.timeMicros) {
      yield archives.shift() as Holding;
    }
    try {
      yield* holdingsIn(await repository.manifest(name), database);
    } catch (error) {
      unreadable.note(name.id, error);
    }
  }
  yield* archives;
}

/** Reads the manifest of a backup that is to be restored. */
async function manifestOf(repository: Repository, name: ManifestName): Promise<Manifest> {
  try {
    return await repository.manifest(name);
  } catch (error) {
    const { id, timeMicros } = name;
    throw await explained(repository, { source: { kind: 'backup', id, timeMicros } }, error);
  }
}

function holdingsIn(manifest: Manifest, database: string): Holding[] {
  return manifest.databases
    .filter((entry) => isCalled(entry, database))
    .map((entry) => backupHolding(manifest, entry));
}

/** What a backup holds of one database. */
export function backupHolding({ id, timeMicros }: Manifest, entry: DatabaseEntry): Holding {
  const { identity, record, lineage, snapshots, segments, files, fault } = entry;
  return {
    source: { kind: 'backup', id, timeMicros },
    identity,
    record,
    lineage,
    snapshots,
    segments,
    files,
    confirmedMicros: timeMicros,
    fault,
  };
}

/** The archives of a database, the newest state first. */
async function archivesOf(
  repository: Repository,
  database: string,
  unreadable: Unreadable,
): Promise<Holding[]> {
  const holdings: Holding[] = [];
  const isIdentity = /^[0-9a-f]{64}$/.test(database);
  for (const name of await listArchives(repository, isIdentity ? database : undefined)) {
    try {
      const state = await readArchiveState(repository, name);
      if (state === undefined || !isCalled(state, database)) continue;
      holdings.push(archiveHolding(name.name, state));
    } catch (error) {
      unreadable.note(name.name, error);
    }
  }
  return holdings.sort((one, other) => other.confirmedMicros - one.confirmedMicros);
}

function archiveHolding(name: string, state: ArchiveState): Holding {
  const { identity, record, lineage, snapshots, segments, tails, files, confirmedMicros } = state;
  return {
    source: { kind: 'archive', name, timeMicros: confirmedMicros },
    identity,
    record,
    lineage,
    snapshots,
    segments: [...segments, ...tails],
    files,
    confirmedMicros,
    fault: '',
  };
}

/** The same plan from the archive as it is now; `undefined`: it is of a backup, or out of reach. */
export async function planAgain(
  repository: Repository,
  { source, target }: RestorePlan,
): Promise<RestorePlan | undefined> {
  if (source.kind !== 'archive') return undefined;
  const state = await readArchiveState(repository, source);
  return state === undefined ? undefined : planFrom(archiveHolding(source.name, state), target);
}

function isCalled(
  entry: { readonly identity: string; readonly record: DatabaseRecord },
  database: string,
): boolean {
  return entry.identity === database || entry.record.names.includes(database);
}
