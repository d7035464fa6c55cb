import path from 'node:path';
import { DatabaseArchive } from '../../src/backup/archive.ts';
import {
  listArchives,
  objectsOfArchive,
  readArchiveState,
} from '../../src/backup/archive-state.ts';
import { fetchRestore } from '../../src/backup/fetch.ts';
import { FolderStore } from '../../src/backup/folder-store.ts';
import { planRestore } from '../../src/backup/holdings.ts';
import type { LogPoint, ObjectEntry } from '../../src/backup/manifest.ts';
import { type ObjectStore, readWhole, StoreError } from '../../src/backup/object-store.ts';
import { absentObjects } from '../../src/backup/presence.ts';
import { initRepository, openRepository, type Repository } from '../../src/backup/repository.ts';
import type { RestoreTarget } from '../../src/backup/restore-plan.ts';
import { verifyBackup } from '../../src/backup/verify.ts';
import { Random } from '../../src/testing/random.ts';
import { PowerCut } from '../../src/testing/simulated-disk.ts';
import {
  archiveSource,
  BackupStory,
  commitsOf,
  restoredRecords,
  storyIdentity,
  withFolder,
} from '../support/backup-story.ts';
import { Killed, MemoryStore } from '../support/memory-store.ts';
import { SimulatedFolder } from '../support/simulated-folder.ts';

export interface BackupCrashOptions {
  readonly seed: number;
  /** Steps of the run that is interrupted: work, snapshots, backups, passes of the archive. */
  readonly steps: number;
  /** Every so many operations are interrupted, from a random one. */
  readonly every: number;
}

export interface BackupCrashReport {
  /** Kills, power cuts and errors: each at one operation of a run. */
  readonly cuts: number;
  readonly manifests: number;
  readonly restores: number;
  /** Restores that were refused since an object was gone or changed. */
  readonly refused: number;
}

/** A place for a repository that can be interrupted. */
interface Place {
  readonly store: ObjectStore;
  stopAt(operation: number): void;
  failAt(operation: number): void;
  readonly operationCount: number;
  /** What is found when the process, or the machine, was stopped now. */
  after(random: Random): Place;
  readonly written: readonly string[];
}

/**
 * Backs up and archives a log into a repository, in memory where the process is killed, and in a
 * folder where the power fails, and interrupts that at its operations. After each interruption
 *
 * - every manifest names only objects that are there, whole, with what they should have;
 * - no archive reaches further than the log was durable, and its objects are there;
 * - what is restored has the records of the log up to its end, or to the commit that was asked for;
 * - without one of its objects, or with one byte of it changed, a restore is refused and names it;
 * - the same work done again ends with all of it, and sends no object that is there.
 *
 * Throws an error that names seed and place.
 */
export async function runBackupCrash(options: BackupCrashOptions): Promise<BackupCrashReport> {
  const counts = { cuts: 0, manifests: 0, restores: 0, refused: 0 };
  for (const [kind, begin] of places) {
    const whole = begin();
    const all = new Run(options.seed, whole);
    await all.steps(options.steps);
    const { operationCount } = whole;
    await checkAll(all, whole, new Random(options.seed), counts);
    const first = 1 + new Random(options.seed * 31).below(options.every);
    for (let at = first; at <= operationCount; at += options.every) {
      for (const how of ['stop', 'error'] as const) {
        try {
          await interrupted(options, begin(), { at, how }, counts);
        } catch (cause) {
          const place = `${how} at operation ${at} of ${operationCount}, ${kind}`;
          throw new Error(`seed ${options.seed}, ${place}: ${String(cause)}`, { cause });
        }
        counts.cuts++;
      }
    }
  }
  return counts;
}

const places: readonly (readonly [string, () => Place])[] = [
  ['in memory', () => memoryPlace(new MemoryStore())],
  ['in a folder', () => folderPlace(new SimulatedFolder())],
];

function memoryPlace(store: MemoryStore): Place {
  return {
    store,
    stopAt: (operation) => store.stopAt(operation),
    failAt: (operation) => store.failAt(operation),
    get operationCount() {
      return store.operationCount;
    },
    after: () => memoryPlace(store.copy()),
    written: store.written,
  };
}

function folderPlace(folder: SimulatedFolder): Place {
  return {
    store: new FolderStore('folder', folder),
    stopAt: (operation) => folder.stopAt(operation),
    failAt: (operation) => folder.failAt(operation, 'EIO'),
    get operationCount() {
      return folder.operationCount;
    },
    after: (random) => folderPlace(folder.afterCut(random)),
    written: folder.linked,
  };
}

type Counts = { -readonly [Name in keyof BackupCrashReport]: BackupCrashReport[Name] };

/** One log, and what is done with it; the same for a seed, whatever becomes of the repository. */
class Run {
  readonly #seed: number;
  readonly #random: Random;
  readonly #place: Place;
  #repository: Repository | undefined;
  #archive: DatabaseArchive | undefined;
  #story: BackupStory | undefined;
  #micros = 1_800_000_000_000_000;
  #undone: (() => Promise<void>) | undefined;
  /** Backups that were reported done: id and end. */
  readonly done = new Map<string, LogPoint>();

  constructor(seed: number, place: Place) {
    this.#seed = seed;
    this.#random = new Random(seed);
    this.#place = place;
  }

  get story(): BackupStory {
    if (this.#story === undefined) throw new Error('the story has not begun');
    return this.#story;
  }

  /** Runs on; with `isTolerant`, errors of the store end a step, and the next one follows. */
  async steps(count: number, isTolerant = false): Promise<void> {
    this.#story = await BackupStory.begin(this.#seed, this.#random.pick([600, 1500, 8000]));
    await this.story.work(1);
    for (let step = 0; step < count; step++) {
      const action = await this.#choose();
      this.#undone = action;
      try {
        await action();
      } catch (error) {
        if (!isTolerant || !(error instanceof StoreError)) throw error;
      }
      this.#undone = undefined;
    }
  }

  /** Does again what was interrupted, in another place. */
  async again(place: Place): Promise<void> {
    this.#repository = undefined;
    this.#archive = undefined;
    this.#open = place.store;
    await this.#undone?.();
  }

  #open: ObjectStore | undefined;

  async #choose(): Promise<() => Promise<void>> {
    const kind = this.#random.below(10);
    if (kind < 4) {
      await this.story.work(1 + this.#random.below(3));
      return async () => undefined;
    }
    if (kind < 5) {
      await this.story.snapshot();
      return async () => undefined;
    }
    const withHistory = this.#random.chance(0.4);
    this.#micros += 1_000_000;
    const nowMicros = this.#micros;
    return kind < 7 ? () => this.#backUp(nowMicros, withHistory) : () => this.#pass(nowMicros);
  }

  async #backUp(nowMicros: number, withHistory: boolean): Promise<void> {
    const repository = await this.repository();
    const { end } = this.story;
    const manifest = await this.story.backup(repository, nowMicros, { withHistory });
    this.done.set(manifest.id, end);
  }

  async #pass(nowMicros: number): Promise<void> {
    const repository = await this.repository();
    this.#archive ??= new DatabaseArchive(repository, 'ab'.repeat(16));
    await this.#archive.pass(archiveSource(this.story), { nowMicros });
  }

  async repository(): Promise<Repository> {
    if (this.#repository !== undefined) return this.#repository;
    const store = this.#open ?? this.#place.store;
    if ((await store.head('reducerdb-repository.json')) === undefined) {
      await initRepository(store, { nowMicros: 1 });
    }
    this.#repository = await openRepository(store);
    return this.#repository;
  }
}

async function interrupted(
  { seed, steps }: BackupCrashOptions,
  place: Place,
  { at, how }: { readonly at: number; readonly how: 'stop' | 'error' },
  counts: Counts,
): Promise<void> {
  const run = new Run(seed, place);
  const random = new Random(seed * 1_000_003 + at);
  if (how === 'stop') place.stopAt(at);
  else place.failAt(at);
  try {
    await run.steps(steps, how === 'error');
  } catch (error) {
    if (!(error instanceof Killed || error instanceof PowerCut)) throw error;
  }
  place.failAt(Number.POSITIVE_INFINITY);
  const after = how === 'stop' ? place.after(random) : place;
  await checkAll(run, after, random, counts);
  if (how === 'error') return;
  const before = new Set(await namesIn(after.store));
  const sent = after.written.length;
  await run.again(after);
  const twice = after.written.slice(sent).filter((name) => before.has(name));
  if (twice.length > 0) throw new Error(`sent again: ${twice.join()}`);
  await checkAll(run, after, random, counts);
}

async function namesIn(store: ObjectStore): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of store.list('objects/')) names.push(name);
  return names;
}

async function checkAll(run: Run, place: Place, random: Random, counts: Counts): Promise<void> {
  if ((await place.store.head('reducerdb-repository.json')) === undefined) {
    if (run.done.size > 0) throw new Error('the repository is gone');
    return;
  }
  const repository = await openRepository(place.store);
  const ids = (await repository.manifests()).map(({ id }) => id);
  for (const id of run.done.keys()) if (!ids.includes(id)) throw new Error(`${id} is gone`);
  for (const id of ids) {
    const { faults } = await verifyBackup(repository, id, { depth: 'present', nowMicros: 1 });
    if (faults.length > 0) throw new Error(faults.join());
    counts.manifests++;
  }
  await checkArchive(run, repository);
  const id = ids.length > 0 ? random.pick(ids) : undefined;
  if (id === undefined) return;
  const read = await verifyBackup(repository, id, { depth: 'read', nowMicros: 1 });
  if (read.faults.length > 0) throw new Error(read.faults.join());
  await checkRestore(run, repository, id, { kind: 'end' }, counts);
  if (random.chance(0.5)) {
    // Before its first commit there is nothing to restore.
    const offset = 1 + random.below(Math.max(1, run.story.end.offset));
    await checkRestore(run, repository, 'latest', { kind: 'offset', offset }, counts);
  }
  await checkDamage(repository, id, random, counts);
}

async function checkArchive(run: Run, repository: Repository): Promise<void> {
  for (const name of await listArchives(repository, storyIdentity)) {
    const state = await readArchiveState(repository, name);
    if (state === undefined) throw new Error('an archive is gone');
    if (state.line !== 1) throw new Error('the archive has a second line');
    if (state.end.position > run.story.end.position) throw new Error('it reaches too far');
    const absent = await absentObjects(repository.store, objectsOfArchive(state));
    if (absent.length > 0) throw new Error(`the archive lacks ${absent[0]?.entry.name}`);
  }
}

/** Restores, and compares with the model. A commit that nothing holds is refused as such. */
async function checkRestore(
  run: Run,
  repository: Repository,
  backup: string,
  at: RestoreTarget,
  counts: Counts,
): Promise<void> {
  const request = { database: 'story', backup, at };
  const plan = await planRestore(repository, request).catch((error: unknown) => {
    if (at.kind === 'end' || !String(error).includes('is outside of')) throw error;
    return undefined;
  });
  if (plan === undefined) return;
  await withFolder(async (folder) => {
    const directory = path.join(folder, 'log');
    const { at: end } = await fetchRestore(repository, plan, directory);
    if (at.kind === 'offset' && end.offset !== at.offset) throw new Error('another offset');
    const found = commitsOf(await restoredRecords(directory)).join('\n');
    const expected = run.story.commitsUpTo(end.offset).join('\n');
    if (found !== expected) throw new Error(`other records at ${end.offset}`);
  });
  counts.restores++;
}

/** A restore without one of its objects, or with a byte of it changed. */
async function checkDamage(
  repository: Repository,
  backup: string,
  random: Random,
  counts: Counts,
): Promise<void> {
  const plan = await planRestore(repository, { database: 'story', backup });
  const objects = [...(plan.base === undefined ? [] : [plan.base]), ...plan.segments];
  const entry: ObjectEntry = random.pick(objects);
  const copy = new MemoryStore();
  for await (const { name } of repository.store.list('')) {
    copy.objects.set(name, await readWhole(repository.store, name, 10_000_000));
  }
  const isGone = random.chance(0.5);
  const bytes = Uint8Array.from(copy.objects.get(entry.name) ?? []);
  const at = random.below(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
  if (isGone) copy.objects.delete(entry.name);
  else copy.objects.set(entry.name, bytes);
  const damaged = await openRepository(copy);
  await withFolder(async (folder) => {
    const error = await fetchRestore(damaged, plan, path.join(folder, 'log')).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const text = `object ${entry.name} is ${isGone ? 'missing' : 'damaged: SHA-256'}`;
    if (!String(error).includes(text)) throw new Error(`not refused: ${String(error)}`);
  });
  counts.refused++;
}
