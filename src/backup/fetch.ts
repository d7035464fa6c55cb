import fs from 'node:fs';
import path from 'node:path';
import { assert, present } from '../assert.ts';
import { epoch } from '../log/epoch.ts';
import { chainFromHex, chainToHex } from '../log/history-point.ts';
import { type OriginPlace, writeOrigin } from '../log/origin.ts';
import { segmentHeaderBytes, segmentName } from '../log/segment.ts';
import { snapshotName } from '../log/snapshot.ts';
import { MachineDisk, syncDirectory } from '../node/disk.ts';
import { privateFolderMode } from '../node/private-files.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { checkSignal, noSpaceError } from './backup-error.ts';
import { type CommitPlace, checkSegment, checkSnapshot } from './content-check.ts';
import { MachineFolderFiles, type WritableFile } from './folder-files.ts';
import { FrameError } from './frame-check.ts';
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
  /** The place at which it goes on, in an epoch of its own. */
  readonly at: LineagePoint;
  readonly lineage: readonly LineagePoint[];
}

/**
 * Fetches what a plan names into a new directory: the files of a log, and `origin`, which says
 * where they end for the database that goes on behind them. Each object is compared with its
 * SHA-256, and its records with their checksums and their chain. All of it is durable when this
 * resolves; on an error nothing is left. Files beside the log are fetched by `fetchFiles`.
 */
export async function fetchRestore(
  repository: Repository,
  plan: RestorePlan,
  directory: string,
  options: FetchOptions = {},
): Promise<FetchedLog> {
  const { freeBytes } = options;
  if (freeBytes !== undefined && freeBytes < plan.bytes) throw noSpaceError(plan.bytes, freeBytes);
  await fs.promises.mkdir(directory, { mode: privateFolderMode });
  try {
    const fetched = await new Fetch(repository, plan, directory, options).run();
    await syncDirectory(path.dirname(path.resolve(directory)));
    return fetched;
  } catch (error) {
    await fs.promises.rm(directory, { recursive: true, force: true });
    throw await explained(repository, plan, error);
  }
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
    throw await explained(repository, plan, error);
  }
}

function parentOf(place: string): string {
  return place.slice(0, Math.max(place.lastIndexOf('/'), 0));
}

class Fetch {
  readonly #repository: Repository;
  readonly #plan: RestorePlan;
  readonly #directory: string;
  readonly #files: MachineFolderFiles;
  readonly #options: FetchOptions;
  #objectsDone = 0;
  #bytesDone = 0;
  /** The first commit that was read, and the last one that the target includes. */
  #first: CommitPlace | undefined;
  #last: CommitPlace | undefined;

  constructor(repository: Repository, plan: RestorePlan, directory: string, options: FetchOptions) {
    this.#repository = repository;
    this.#plan = plan;
    this.#directory = directory;
    this.#files = new MachineFolderFiles(directory);
    this.#options = options;
  }

  async run(): Promise<FetchedLog> {
    const { base, segments } = this.#plan;
    if (base !== undefined) {
      const content = checkSnapshot(this.#content(base), base);
      await this.#write(base, snapshotName(commitOffset(base.at.offset)), content);
    }
    let before: LogPoint | undefined;
    for (const [first, ...others] of partsOf(segments)) {
      assert(first !== undefined, 'a segment has a first part');
      before = await this.#segment(first, others, before);
    }
    const at = this.#end();
    // The target can lie before the first commit of the last segment.
    for (const { sequence, from } of segments) {
      if (sequence > at.sequence) await this.#files.remove(segmentName(sequence, from.offset + 1));
    }
    const lineage = [...this.#plan.lineage.filter(({ position }) => position < at.position), at];
    await writeOrigin(new MachineDisk(this.#directory), { lineage: lineage.map(originPlace) });
    await this.#files.syncFolder('');
    return { at, lineage };
  }

  /** One segment, from a whole object or from parts; returns the place behind it. */
  async #segment(
    first: SegmentEntry,
    others: readonly SegmentEntry[],
    before: LogPoint | undefined,
  ): Promise<LogPoint> {
    if (before !== undefined && before.chain !== first.from.chain) {
      throw brokenChain(first);
    }
    const name = segmentName(first.sequence, first.from.offset + 1);
    const file = await this.#files.create(name);
    try {
      await this.#copy(first, this.#segmentContent(first), file);
      for (const part of others) {
        await this.#copy(part, skipped(this.#segmentContent(part), segmentHeaderBytes), file);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    return others.at(-1)?.to ?? first.to;
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

  async #write(entry: ObjectEntry, name: string, content: AsyncIterable<Uint8Array>) {
    const file = await this.#files.create(name);
    try {
      await this.#copy(entry, content, file);
      await file.sync();
    } finally {
      await file.close();
    }
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
  try {
    for await (const piece of content) await file.write(piece);
    await file.sync();
  } finally {
    await file.close();
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
