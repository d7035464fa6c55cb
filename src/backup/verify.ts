import { checkSegment, checkSnapshot } from './content-check.ts';
import { FrameError } from './frame-check.ts';
import { backupHolding, findBackup } from './holdings.ts';
import { removeMarks } from './list.ts';
import {
  type DatabaseEntry,
  type Manifest,
  type ObjectEntry,
  objectsOf,
  type SegmentEntry,
} from './manifest.ts';
import { type ManifestName, verifiedName } from './object-names.ts';
import { absenceText, absentObjects } from './presence.ts';
import { ObjectFault, type Repository } from './repository.ts';
import { foreignText, planFrom, type RestorePlan } from './restore-plan.ts';
import { wholeBackupBefore } from './whole-backup.ts';

/** `deep` checks all that `read` does, and that all that `present` does. */
export type VerifyDepth = 'present' | 'read' | 'deep';

export interface VerifyOptions {
  readonly depth: VerifyDepth;
  readonly nowMicros: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined;
  /**
   * Restores the state that a plan leads to and replays it, for `deep`; throws if it cannot. The
   * caller has the place for it, and the program that opens databases.
   */
  readonly replay?: ((plan: RestorePlan) => Promise<void>) | undefined;
}

export interface VerifyProgress {
  readonly phase: 'presence' | 'read' | 'replay';
  readonly objectsDone: number;
  readonly objectsTotal: number;
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

export interface VerifyReport {
  readonly id: string;
  readonly depth: VerifyDepth;
  readonly objects: number;
  readonly storedBytes: number;
  /** What is missing or damaged, as sentences that name the object; none: it passed. */
  readonly faults: readonly string[];
  /** Id of the newest backup before it that is all there, if this one is not. */
  readonly wholeBefore: string | undefined;
}

/**
 * Checks a backup, whose faults are in the report. One that passed a check of its contents gets a
 * marker with the time; one that did not loses those that it has. Throws if there is no such
 * backup, or the store cannot be read.
 */
export async function verifyBackup(
  repository: Repository,
  id: string,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const name = await findBackup(repository, id);
  let manifest: Manifest;
  try {
    manifest = await repository.manifest(name);
  } catch (error) {
    if (!(error instanceof ObjectFault)) throw error;
    const { depth } = options;
    const faults = [error.message];
    const wholeBefore = await failed(repository, name, {});
    return { id: name.id, depth, objects: 0, storedBytes: 0, faults, wholeBefore };
  }
  const check = new BackupCheck(repository, manifest, options);
  await check.run();
  let wholeBefore: string | undefined;
  if (check.faults.length === 0) await markVerified(repository, name, options);
  else wholeBefore = await failed(repository, name, manifest);
  return {
    id: name.id,
    depth: options.depth,
    objects: check.objects.length,
    storedBytes: check.objects.reduce((sum, { storedBytes }) => sum + storedBytes, 0),
    faults: check.faults,
    wholeBefore,
  };
}

/** Takes back what earlier checks said; returns the id of a backup that can be used instead. */
async function failed(
  repository: Repository,
  name: ManifestName,
  { isWhole, databases = [] }: Partial<Pick<Manifest, 'isWhole' | 'databases'>>,
): Promise<string | undefined> {
  await removeMarks(repository, name);
  const identity = isWhole === true ? undefined : databases[0]?.identity;
  const whole = await wholeBackupBefore(repository, name.timeMicros, { identity, isWhole });
  return whole?.id;
}

async function markVerified(
  { store }: Repository,
  name: ManifestName,
  { depth, nowMicros }: VerifyOptions,
): Promise<void> {
  if (depth === 'present') return;
  await store.put(verifiedName(name, depth, nowMicros), new Uint8Array(0));
}

class BackupCheck {
  readonly faults: string[] = [];
  readonly objects: readonly ObjectEntry[];
  readonly #repository: Repository;
  readonly #manifest: Manifest;
  readonly #options: VerifyOptions;
  #phase: VerifyProgress['phase'] = 'presence';
  #objectsDone = 0;
  #bytesDone = 0;

  constructor(repository: Repository, manifest: Manifest, options: VerifyOptions) {
    this.#repository = repository;
    this.#manifest = manifest;
    this.#options = options;
    const byName = new Map(objectsOf(manifest).map((entry) => [entry.name, entry]));
    this.objects = [...byName.values()];
  }

  async run(): Promise<void> {
    const absent = await absentObjects(this.#repository.store, this.objects);
    this.faults.push(...absent.map(absenceText));
    for (const { identity, end, fault } of this.#manifest.databases) {
      if (fault === '') continue;
      this.faults.push(`database ${identity} is there up to offset ${end.offset} only: ${fault}`);
    }
    for (const database of this.#manifest.databases) this.#requirePlan(database);
    this.#report();
    if (this.#options.depth === 'present') return;
    this.#phase = 'read';
    const gone = new Set(absent.map(({ entry }) => entry.name));
    for (const database of this.#manifest.databases) await this.#readDatabase(database, gone);
    for (const file of this.#manifest.files) await this.#readPlain(file, gone);
    if (this.#options.depth === 'deep' && this.faults.length === 0) await this.#replayAll();
  }

  /** What is named has to lead to the end, whatever the objects hold. */
  #requirePlan(database: DatabaseEntry): void {
    const { identity, end, fault } = database;
    const holding = backupHolding(this.#manifest, database);
    const foreign = foreignText(holding);
    if (foreign !== undefined) {
      this.faults.push(foreign);
      return;
    }
    const plan = planFrom(holding, { kind: 'end' });
    const isEnd = plan?.to.position === end.position && plan.to.chain === end.chain;
    if (isEnd || (plan === undefined && fault !== '')) return;
    const reached = plan === undefined ? 'no state' : `offset ${plan.to.offset} only`;
    const text = `database ${identity} cannot be restored up to offset ${end.offset}`;
    this.faults.push(`${text}: the objects that the backup names lead to ${reached}`);
  }

  async #readDatabase(database: DatabaseEntry, gone: ReadonlySet<string>): Promise<void> {
    const { snapshots, segments, files } = database;
    for (const entry of snapshots) {
      await this.#read(entry, gone, (content) => checkSnapshot(content, entry));
    }
    let before: SegmentEntry | undefined;
    for (const entry of segments) {
      await this.#read(entry, gone, (content) => checkSegment(content, entry).content);
      const isBroken = before !== undefined && before.to.chain !== entry.from.chain;
      if (isBroken) {
        const place = `offset ${entry.from.offset}`;
        this.faults.push(`object ${entry.name} does not continue the one before it at ${place}`);
      }
      before = entry;
    }
    for (const file of files) await this.#readPlain(file, gone);
  }

  #readPlain(entry: ObjectEntry, gone: ReadonlySet<string>): Promise<void> {
    return this.#read(entry, gone, (content) => content);
  }

  async #read(
    entry: ObjectEntry,
    gone: ReadonlySet<string>,
    check: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
  ): Promise<void> {
    if (!gone.has(entry.name)) await this.#readContent(entry, check);
    this.#objectsDone++;
    this.#report();
  }

  async #readContent(
    entry: ObjectEntry,
    check: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const { signal } = this.#options;
    try {
      for await (const piece of check(this.#repository.read(entry, { signal }))) {
        this.#bytesDone += piece.length;
        this.#report();
      }
    } catch (error) {
      const isContent = error instanceof FrameError;
      const fault = isContent
        ? await this.#repository.contentFault(entry, error, { signal })
        : error;
      if (!(fault instanceof ObjectFault)) throw fault;
      this.faults.push(fault.message);
    }
  }

  async #replayAll(): Promise<void> {
    this.#phase = 'replay';
    for (const database of this.#manifest.databases) {
      const plan = planFrom(backupHolding(this.#manifest, database), { kind: 'end' });
      if (plan === undefined) continue;
      try {
        await this.#options.replay?.(plan);
      } catch (error) {
        if (this.#options.signal?.aborted === true) throw error;
        const why = error instanceof Error ? error.message : String(error);
        this.faults.push(`database ${database.identity} cannot be replayed: ${why}`);
      }
      this.#report();
    }
  }

  #report(): void {
    this.#options.onProgress?.({
      phase: this.#phase,
      objectsDone: this.#objectsDone,
      objectsTotal: this.objects.length,
      bytesDone: this.#bytesDone,
      bytesTotal: this.objects.reduce((sum, { bytes }) => sum + bytes, 0),
    });
  }
}
