import fs from 'node:fs';
import path from 'node:path';
import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import { epoch } from '../log/epoch.ts';
import { chainFromHex, chainToHex } from '../log/history-point.ts';
import { type OriginPlace, writeOrigin } from '../log/origin.ts';
import { segmentHeaderBytes, segmentName } from '../log/segment.ts';
import { snapshotName } from '../log/snapshot.ts';
import { MachineDisk, syncDirectory } from '../node/disk.ts';
import { FolderSpace } from '../node/folder-space.ts';
import { privateFolderMode } from '../node/private-files.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { checkSignal, noSpaceError } from './backup-error.ts';
import { type CommitPlace, checkSegment, checkSnapshot } from './content-check.ts';
import { codeOf, MachineFolderFiles, type WritableFile } from './folder-files.ts';
import { FrameError } from './frame-check.ts';
import { planAgain } from './holdings.ts';
import type { LineagePoint, LogPoint, ObjectEntry, SegmentEntry } from './manifest.ts';
import { ObjectFault, type Repository } from './repository.ts';
import { explained } from './restore-fault.ts';
import { outsideError, type RestorePlan } from './restore-plan.ts';

export interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: FetchProgress) => void) | undefined;
  /** Bytes that are free where the directory will be; absent: not looked at. */
  readonly freeBytes?: number | undefined;
}

export interface FetchProgress {
  readonly objectsDone: number;
  readonly objectsTotal: number;
  /** Bytes of content, written and in all. */
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

/** What was fetched: the state that a database opens with that has the directory as its log. */
export interface FetchedLog {
  /** What was fetched in the end; an archive can have gone on since the plan was made. */
  readonly plan: RestorePlan;
  /** The place at which it goes on, in an epoch of its own. */
  readonly at: LineagePoint;
  readonly lineage: readonly LineagePoint[];
}

/**
 * Fetches what a plan names into a new directory: the files of a log, and `origin`, which says
 * where they end for the database that goes on behind them. Each object is compared with its
 * SHA-256, and its records with their checksums and their chain. An archive that is fed meanwhile
 * replaces objects by others, and deletes them: what is missing is then planned again. All of it is
 * durable when this resolves; on an error nothing is left. Files beside the log are fetched by
 * `fetchFiles`.
 */
export async function fetchRestore(
  repository: Repository,
  plan: RestorePlan,
  directory: string,
  options: FetchOptions = {},
): Promise<FetchedLog> {
  const { freeBytes } = options;
  const parent = path.dirname(path.resolve(directory));
  if (freeBytes !== undefined && freeBytes < plan.bytes) {
    throw noSpaceError(parent, plan.bytes, freeBytes);
  }
  await fs.promises.mkdir(directory, { mode: privateFolderMode });
  try {
    const fetched = await fetchNewest(repository, plan, directory, options);
    await syncDirectory(parent);
    return fetched;
  } catch (error) {
    await fs.promises.rm(directory, { recursive: true, force: true });
    if (isFull(error)) throw noSpaceError(parent, plan.bytes, new FolderSpace(parent).freeBytes());
    throw await explained(repository, plan, error);
  }
}

async function fetchNewest(
  repository: Repository,
  first: RestorePlan,
  directory: string,
  options: FetchOptions,
): Promise<FetchedLog> {
  const fetch = new Fetch(repository, first, directory, options);
  let plan = first;
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetch.run(plan);
    } catch (error) {
      const isGone = error instanceof ObjectFault && error.kind === 'missing';
      if (!isGone || attempt >= limits.restorePlansMax) throw error;
      const next = await planAgain(repository, plan);
      if (next === undefined || isRead(next, error.object)) throw error;
      plan = next;
    }
  }
}

function isRead({ base, segments }: RestorePlan, name: string): boolean {
  return base?.name === name || segments.some((one) => one.name === name);
}

/** Fetches the files that a database, or a host, keeps beside logs, below `directory`. */
export async function fetchFiles(
  repository: Repository,
  plan: Pick<RestorePlan, 'source' | 'files'> & Partial<Pick<RestorePlan, 'identity'>>,
  directory: string,
  options: FetchOptions = {},
): Promise<void> {
  const files = new MachineFolderFiles(directory);
  try {
    for (const entry of plan.files) {
      const folders = entry.path.split('/').slice(0, -1);
      for (let length = 1; length <= folders.length; length++) {
        const folder = folders.slice(0, length).join('/');
        if (await files.makeFolder(folder)) await files.syncFolder(parentOf(folder));
      }
      checkSignal(options.signal);
      await writeFile(files, entry.path, repository.read(entry, options));
      await files.syncFolder(parentOf(entry.path));
    }
  } catch (error) {
    if (isFull(error)) {
      const needed = plan.files.reduce((sum, { bytes }) => sum + bytes, 0);
      throw noSpaceError(directory, needed, new FolderSpace(directory).freeBytes());
    }
    throw await explained(repository, plan, error);
  }
}

function isFull(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

function parentOf(place: string): string {
  return place.slice(0, Math.max(place.lastIndexOf('/'), 0));
}

/** Fetches a plan, or another one of the same target once more: what was written is kept. */
class Fetch {
  readonly #repository: Repository;
  #plan: RestorePlan;
  readonly #directory: string;
  readonly #files: MachineFolderFiles;
  readonly #options: FetchOptions;
  #objectsDone = 0;
  #bytesDone = 0;
  /** The first commit that was read, and the last one that the target includes. */
  #first: CommitPlace | undefined;
  #last: CommitPlace | undefined;
  /** By file, the objects that it was written from. */
  readonly #written = new Map<string, readonly ObjectEntry[]>();

  constructor(repository: Repository, plan: RestorePlan, directory: string, options: FetchOptions) {
    this.#repository = repository;
    this.#plan = plan;
    this.#directory = directory;
    this.#files = new MachineFolderFiles(directory);
    this.#options = options;
  }

  async run(plan: RestorePlan): Promise<FetchedLog> {
    this.#plan = plan;
    const { base, segments } = plan;
    this.#objectsDone = 0;
    this.#bytesDone = 0;
    const parts = new Map(partsOf(segments).map((part) => [fileOf(part), part]));
    const baseName = base && snapshotName(commitOffset(base.at.offset));
    for (const name of this.#written.keys()) {
      if (name !== baseName && !parts.has(name)) await this.#forget(name);
    }
    if (base !== undefined && baseName !== undefined) {
      await this.#write(baseName, [base], () => checkSnapshot(this.#content(base), base));
    }
    let before: LogPoint | undefined;
    for (const [name, part] of parts) {
      const [first] = part;
      if (before !== undefined && before.chain !== first?.from.chain) {
        throw brokenChain(present(first, 'a segment has a first part'));
      }
      await this.#write(name, part, (entry) => {
        const content = this.#segmentContent(entry);
        return entry === first ? content : skipped(content, segmentHeaderBytes);
      });
      before = part.at(-1)?.to;
    }
    const at = this.#end();
    // The target can lie before the first commit of the last segment.
    for (const { sequence, from } of segments) {
      if (sequence > at.sequence) await this.#files.remove(segmentName(sequence, from.offset + 1));
    }
    const lineage = [...this.#plan.lineage.filter(({ position }) => position < at.position), at];
    await writeOrigin(new MachineDisk(this.#directory), { lineage: lineage.map(originPlace) });
    await this.#files.syncFolder('');
    return { plan, at, lineage };
  }

  #segmentContent(entry: SegmentEntry): AsyncIterable<Uint8Array> {
    const { target } = this.#plan;
    const content = this.#content(entry);
    if (target.kind === 'end') return checkSegment(content, entry).content;
    return checkSegment(content, entry, (commit) => {
      this.#first ??= commit;
      const place = target.kind === 'offset' ? commit.offset : commit.micros;
      const last = target.kind === 'offset' ? target.offset : target.micros;
      if (place <= last) this.#last = commit;
    }).content;
  }

  /** Writes a file from a whole object, or from parts, unless it has been. */
  async #write<Entry extends ObjectEntry>(
    name: string,
    entries: readonly Entry[],
    content: (entry: Entry) => AsyncIterable<Uint8Array>,
  ): Promise<void> {
    if (areSame(this.#written.get(name), entries)) {
      for (const { bytes } of entries) this.#bytesDone += bytes;
      this.#objectsDone += entries.length;
      this.#report();
      return;
    }
    if (this.#written.has(name)) await this.#forget(name);
    // One that could not be finished is removed as well before it is written again.
    this.#written.set(name, []);
    const file = await this.#files.create(name);
    try {
      for (const entry of entries) await this.#copy(entry, content(entry), file);
      await file.sync();
    } finally {
      await file.close();
    }
    this.#written.set(name, entries);
  }

  async #forget(name: string): Promise<void> {
    await this.#files.remove(name);
    this.#written.delete(name);
  }

  async #copy(
    entry: ObjectEntry,
    content: AsyncIterable<Uint8Array>,
    file: WritableFile,
  ): Promise<void> {
    try {
      for await (const piece of content) {
        checkSignal(this.#options.signal);
        await file.write(piece);
        this.#bytesDone += piece.length;
        this.#report();
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      throw await this.#repository.contentFault(entry, error, this.#options);
    }
    this.#objectsDone++;
    this.#report();
  }

  #content(entry: ObjectEntry): AsyncIterable<Uint8Array> {
    return this.#repository.read(entry, { signal: this.#options.signal });
  }

  /** The place of the target, now that the records up to it were read. */
  #end(): LineagePoint {
    const { target, base, segments, to, from, source, identity, record } = this.#plan;
    const last = segments.at(-1);
    const whole = last === undefined ? base : last;
    const stage = present(whole, 'a restore reads a snapshot or a segment');
    if (target.kind === 'end' || (target.kind === 'offset' && to.offset === target.offset)) {
      return { ...to, identity: stage.identity, sequence: stage.sequence };
    }
    const found = this.#last;
    if (found === undefined || found.offset <= from.offset) {
      // Before its first commit a database has no program.
      const isThere = from.offset > 0 && (target.kind === 'time' || from.offset === target.offset);
      const first = base ?? segments[0];
      if (isThere && first !== undefined) {
        return { ...from, identity: first.identity, sequence: first.sequence };
      }
      const held = segments.map((one, at) => (at === 0 ? this.#fromFirstCommit(one) : one));
      const holding = { ...this.#plan, source, identity, record, snapshots: [], segments: held };
      throw outsideError(identity, target, [{ ...holding, confirmedMicros: to.micros }]);
    }
    const { offset, position, micros } = found;
    const part = segments.findLast((one) => one.from.position < position) ?? stage;
    const epochText = 'at' in part ? part.at.epoch : part.from.epoch;
    const chain = chainToHex(found);
    const { identity: owner, sequence } = part;
    return { epoch: epochText, offset, position, chain, micros, identity: owner, sequence };
  }

  /** What is held begins with a commit, for people who read it. */
  #fromFirstCommit(segment: SegmentEntry): SegmentEntry {
    const { from } = segment;
    if (from.offset > 0 || this.#first === undefined) return segment;
    const { offset, micros } = this.#first;
    return { ...segment, from: { ...from, offset, micros } };
  }

  #report(): void {
    const { bytes, base, segments } = this.#plan;
    this.#options.onProgress?.({
      objectsDone: this.#objectsDone,
      objectsTotal: segments.length + (base === undefined ? 0 : 1),
      bytesDone: this.#bytesDone,
      bytesTotal: bytes,
    });
  }
}

/** The objects of each segment: one, or the tails that it was put in. */
function partsOf(segments: readonly SegmentEntry[]): SegmentEntry[][] {
  const parts: SegmentEntry[][] = [];
  for (const segment of segments) {
    const before = parts.at(-1);
    if (before?.at(-1)?.sequence === segment.sequence) before.push(segment);
    else parts.push([segment]);
  }
  return parts;
}

function fileOf([first]: readonly SegmentEntry[]): string {
  const { sequence, from } = present(first, 'a segment has a first part');
  return segmentName(sequence, from.offset + 1);
}

function areSame(
  some: readonly ObjectEntry[] | undefined,
  others: readonly ObjectEntry[],
): boolean {
  if (some?.length !== others.length) return false;
  return some.every(({ name, hash }, at) => name === others[at]?.name && hash === others[at]?.hash);
}

async function* skipped(
  content: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncIterable<Uint8Array> {
  let left = bytes;
  for await (const piece of content) {
    const rest = piece.subarray(Math.min(left, piece.length));
    left -= piece.length - rest.length;
    if (rest.length > 0) yield rest;
  }
}

async function writeFile(
  files: MachineFolderFiles,
  name: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const file = await files.create(name);
  let isWritten = false;
  try {
    for await (const piece of content) await file.write(piece);
    await file.sync();
    isWritten = true;
  } finally {
    await file.close();
    if (!isWritten) await files.remove(name);
  }
}

function brokenChain({ name, from }: SegmentEntry): ObjectFault {
  const text = `object ${name} does not continue the one before it at offset ${from.offset}`;
  return new ObjectFault('damaged', name, text);
}

function originPlace(point: LineagePoint): OriginPlace {
  return {
    databaseIdentity: databaseIdentity(BigInt(`0x${point.identity}`)),
    epoch: epoch(BigInt(`0x${point.epoch}`)),
    sequence: point.sequence,
    offset: commitOffset(point.offset),
    position: point.position,
    ...present(chainFromHex(point.chain), 'a chain hash'),
    micros: BigInt(point.micros),
  };
}
