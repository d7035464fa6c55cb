import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { ArchiveSource } from '../../src/backup/archive.ts';
import { finishBackup } from '../../src/backup/finish-backup.ts';
import { diskSource, type LocalFile } from '../../src/backup/local-source.ts';
import type { DatabaseRecord, LogPoint, Manifest } from '../../src/backup/manifest.ts';
import type { ObjectStore } from '../../src/backup/object-store.ts';
import { initRepository, openRepository, type Repository } from '../../src/backup/repository.ts';
import {
  type DatabaseSource,
  type ShipOptions,
  type SourceFile,
  shipDatabase,
} from '../../src/backup/ship.ts';
import type { CommitLog } from '../../src/log/commit-log.ts';
import type { Disk } from '../../src/log/disk.ts';
import { epoch } from '../../src/log/epoch.ts';
import { chainToHex } from '../../src/log/history-point.ts';
import { segmentSequence } from '../../src/log/segment.ts';
import { MachineDisk } from '../../src/node/disk.ts';
import { Random } from '../../src/testing/random.ts';
import { SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { bigintToHex } from '../../src/values/hex.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';
import { appendTo, randomRecord, textOf } from '../simulation/log-records.ts';
import { openWithSnapshots, snapshotOf } from '../simulation/snapshot-fixture.ts';

export const storyIdentity = bigintToHex(77n, 64);

export const storyRecord: DatabaseRecord = {
  names: ['story'],
  owner: bigintToHex(5n, 64),
  roles: [],
  lock: null,
  settings: {},
  program: '00'.repeat(32),
  more: {},
};

/** A log with its records as text, which is the model of what a restore must give. */
export class BackupStory {
  readonly disk: SimulatedDisk;
  readonly log: CommitLog;
  readonly records: string[] = [];
  /** How many records there were after each commit. */
  readonly counts = new Map<number, number>([[0, 0]]);
  /** T of each commit. */
  readonly times = new Map<number, number>([[0, 0]]);
  /** Added to the times of commits from now on. */
  laterMicros = 0;
  #micros = 1_700_000_000_000_000;
  #seed: number;

  static async begin(seed: number, segmentBytes = 1500): Promise<BackupStory> {
    const disk = new SimulatedDisk();
    const { log } = await openWithSnapshots(disk, { segmentBytes });
    return new BackupStory(disk, log, seed);
  }

  private constructor(disk: SimulatedDisk, log: CommitLog, seed: number) {
    this.disk = disk;
    this.log = log;
    this.#seed = seed;
  }

  /** Commits in so many turns of three records, all durable. */
  async work(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      this.append(3);
      await this.log.sync();
    }
  }

  /** Appends records, a second after another; some are accepted before the one before them. */
  append(count: number): void {
    for (let left = count; left > 0; left--) {
      const random = new Random(this.#seed++);
      const record = randomRecord(random, this.log.offset + 1);
      this.#micros += 1_000_000;
      const accepted = this.#micros + this.laterMicros - random.pick([0, 0, 0, 5_000_000]);
      const timed = { ...record, inputs: { ...record.inputs, timestampMicros: BigInt(accepted) } };
      appendTo(this.log, timed);
      this.records.push(textOf(timed));
      const { offset } = this.log;
      if (timed.kind === 'marks') continue;
      this.counts.set(offset, this.records.length);
      this.times.set(offset, Math.max(accepted, this.times.get(offset - 1) ?? 0));
    }
  }

  segmentNames(): string[] {
    return this.disk.list().filter((name) => segmentSequence(name) !== undefined);
  }

  /** Another log with the same durable content, which then goes its own way. */
  async copy(seed: number): Promise<BackupStory> {
    const files = this.disk.list().map((name) => [name, this.disk.contentOf(name)] as const);
    const disk = new SimulatedDisk(files);
    const { log } = await openWithSnapshots(disk, { segmentBytes: 1500, create: false });
    const copy = new BackupStory(disk, log, seed);
    copy.records.push(...this.records);
    for (const [offset, count] of this.counts) copy.counts.set(offset, count);
    for (const [offset, micros] of this.times) copy.times.set(offset, micros);
    copy.#micros = this.#micros + 1;
    return copy;
  }

  snapshot(): Promise<unknown> {
    return snapshotOf(this.disk, this.log, this.records, this.#seed++);
  }

  /** The durable end. */
  get end(): LogPoint {
    const place = this.log.snapshotPlace(0n);
    return {
      epoch: bigintToHex(place.epoch, 16),
      offset: place.offset,
      position: place.position,
      chain: chainToHex(place),
      micros: Number(place.lastMicros),
    };
  }

  source(files: readonly LocalFile[] = []): Promise<DatabaseSource> {
    const { disk, end } = this;
    const database = { identity: storyIdentity, record: storyRecord, end, lineage: [], files };
    return diskSource(disk, database);
  }

  /** Backs it up; its manifest. */
  async backup(
    repository: Repository,
    nowMicros: number,
    options: ShipOptions = {},
  ): Promise<Manifest> {
    const { entry } = await shipDatabase(repository, await this.source(), options);
    const parts = { databases: [entry], files: [], isWhole: false, program: 'test', nowMicros };
    return finishBackup(repository, parts);
  }

  /** The records up to a commit, without those of sequences, which belong to no commit. */
  commitsUpTo(offset: number): readonly string[] {
    return commitsOf(this.records.slice(0, this.counts.get(offset)));
  }
}

const noFiles: readonly SourceFile[] = [];

/** A story as it is archived, up to its end or an earlier durable one. */
export function archiveSource(story: BackupStory, end: LogPoint = story.end): ArchiveSource {
  const { disk } = story;
  return {
    identity: storyIdentity,
    record: storyRecord,
    lineage: [],
    disk,
    end,
    files: noFiles,
    readFile: () => {
      throw new Error('there are no files');
    },
  };
}

export async function storyRepository(
  store: ObjectStore,
  options: { recipients?: string[]; identities?: string[] } = {},
): Promise<Repository> {
  await initRepository(store, { recipients: options.recipients, nowMicros: 1_000_000 });
  return openRepository(store, { identities: options.identities });
}

export function commitsOf(records: readonly string[]): readonly string[] {
  return records.filter((record) => !record.startsWith('marks'));
}

/** The records in a restored directory, opened as the log of a new database. */
export async function restoredRecords(directory: string | Disk): Promise<readonly string[]> {
  const disk = typeof directory === 'string' ? new MachineDisk(directory) : directory;
  const { log, found, warnings } = await openWithSnapshots(disk, {
    databaseIdentity: databaseIdentity(88n),
    create: false,
    salt: 1234,
    epoch: epoch(6n),
  });
  await log.close();
  if (warnings.length > 0) throw new Error(warnings.join('\n'));
  return found;
}

/** A folder for the time of `use`. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'reducerdb-backup-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
