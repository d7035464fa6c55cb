import { limits } from '../limits.ts';
import type { Disk } from '../log/disk.ts';
import {
  type ArchiveState,
  listArchives,
  objectsOfArchive,
  readArchiveState,
  writeArchiveState,
} from './archive-state.ts';
import { BackupError, checkSignal } from './backup-error.ts';
import { segmentBehind } from './coverage.ts';
import { KnownObjects } from './known-objects.ts';
import {
  chainAt,
  type LogObject,
  objectsOfLog,
  readLogObject,
  readTail,
  type SegmentObject,
  type SnapshotObject,
} from './log-source.ts';
import type {
  DatabaseRecord,
  FileEntry,
  LineagePoint,
  LogPoint,
  SegmentEntry,
  SnapshotEntry,
} from './manifest.ts';
import { archiveLine, archiveName, objectFolder, tailObject } from './object-names.ts';
import type { Repository } from './repository.ts';
import { rfc3339 } from './restore-plan.ts';
import { Shipping, type SourceFile } from './ship.ts';

/** A database as it is at the time of a pass; all up to `end` is durable. */
export interface ArchiveSource {
  readonly identity: string;
  readonly record: DatabaseRecord;
  readonly lineage: readonly LineagePoint[];
  readonly disk: Disk;
  readonly end: LogPoint;
  /** Files that the database keeps beside its log; the same list as long as nothing changes. */
  readonly files: readonly SourceFile[];
  readFile(file: SourceFile): AsyncIterable<Uint8Array>;
}

export interface ArchiveReport {
  /** Where the archive ends now, and the bytes of log that it does not have yet. */
  readonly end: LogPoint | undefined;
  readonly lagBytes: number;
  readonly sentBytes: number;
  readonly line: number;
  /** True if this pass began a new line, since the log does not continue the last one. */
  readonly isNewLine: boolean;
  /** Offsets of the last commit before a gap and of the first state behind it, if one was made. */
  readonly gap: { readonly after: number; readonly until: number } | undefined;
  /** True if the archive waits for a snapshot newer than those that there are. */
  readonly needsSnapshot: boolean;
}

export interface ArchiveOptions {
  readonly nowMicros: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The archive of one database, as the service that feeds it sees it. Passes run one after another;
 * one that fails changed nothing that the next does not find out.
 *
 * ```
 *  unknown ──pass: #begin──▶ known ──pass──▶ known
 *  known ──another program has changed it──▶ unknown
 *  any ──another service is further──▶ BackupError `backup.otherHost`; the caller stops
 * ```
 */
export class DatabaseArchive {
  #repository: Repository;
  readonly #host: string;
  /** What the archive says of itself; without objects if there is none yet. */
  #state: ArchiveState | undefined;
  #needsSnapshot = false;
  /** The list of the last pass. */
  #files: readonly SourceFile[] | undefined;

  /** `host`: 32 hexadecimal digits that name this service. */
  constructor(repository: Repository, host: string) {
    this.#repository = repository;
    this.#host = host;
  }

  /** The same place, opened again for the passes that follow. */
  use(repository: Repository): void {
    this.#repository = repository;
  }

  /**
   * The first offset that the archive still needs, so that it is not deleted; `undefined`: nothing
   * has to be kept, since nothing is archived yet, or too much would have to be.
   */
  holdFrom(end: LogPoint, lagBytesMax: number = limits.archiveLagBytesMax): number | undefined {
    const state = this.#state;
    if (state === undefined || isEmpty(state) || state.epoch !== end.epoch) return undefined;
    const lagBytes = end.position - state.end.position;
    return lagBytes > lagBytesMax ? undefined : state.end.offset + 1;
  }

  /** Puts what is new. Throws `StoreError` if the place cannot be reached. */
  async pass(source: ArchiveSource, options: ArchiveOptions): Promise<ArchiveReport> {
    const idle = this.#idleReport(source, options);
    if (idle !== undefined) return idle;
    const objects = objectsOfLog(source.disk, source.end);
    const before = await this.#known(source, objects, options);
    const pass = new Pass(this.#repository, source, options, before.state);
    await pass.run(objects);
    this.#state = pass.state;
    const { end } = pass.state;
    const isBegun = !isEmpty(pass.state);
    this.#files = source.files;
    this.#needsSnapshot = pass.needsSnapshot;
    return {
      end: isBegun ? end : undefined,
      lagBytes: source.end.position - (isBegun ? end.position : 0),
      sentBytes: pass.sentBytes,
      line: pass.state.line,
      isNewLine: before.isNewLine,
      gap: pass.gap,
      needsSnapshot: pass.needsSnapshot,
    };
  }

  /** The report if nothing has happened since the last pass: then nobody is asked anything. */
  #idleReport(source: ArchiveSource, options: ArchiveOptions): ArchiveReport | undefined {
    const state = this.#state;
    const { end, files } = source;
    const isSame =
      state?.epoch === end.epoch &&
      state.end.position === end.position &&
      state.end.chain === end.chain &&
      files === this.#files;
    if (!isSame || this.#needsSnapshot) return undefined;
    if (options.nowMicros - state.confirmedMicros >= limits.archiveConfirmMillis * 1000) {
      return undefined;
    }
    const rest = { isNewLine: false, gap: undefined, needsSnapshot: false };
    return { end: state.end, lagBytes: 0, sentBytes: 0, line: state.line, ...rest };
  }

  /**
   * The state to go on from, as it is in the repository now: that of the last pass, if nobody has
   * changed it, or the line that the log continues.
   */
  async #known(
    source: ArchiveSource,
    objects: readonly LogObject[],
    options: ArchiveOptions,
  ): Promise<{ state: ArchiveState; isNewLine: boolean }> {
    const { identity, end } = source;
    const known = this.#state;
    if (known?.epoch === end.epoch && known.end.position <= end.position) {
      const name = archiveName(identity, end.epoch, known.line);
      const own = await readArchiveState(this.#repository, { name });
      const isUnchanged =
        own?.host === this.#host &&
        own.confirmedMicros === known.confirmedMicros &&
        own.end.position === known.end.position;
      if (own !== undefined && isUnchanged) return { state: own, isNewLine: false };
    }
    const states: ArchiveState[] = [];
    for (const name of await listArchives(this.#repository, identity)) {
      const state = await readArchiveState(this.#repository, name);
      if (state !== undefined) states.push(state);
    }
    const lines = states.filter(({ epoch }) => epoch === end.epoch);
    if (lines.length === 0) this.#requireSuccession(source, states, options);
    return this.#begin(source, objects, lines);
  }

  /**
   * A log that was restored elsewhere follows an archive only up to its end, and only if nobody
   * feeds that any more: else one archive would hold two histories of a database.
   */
  #requireSuccession(
    { identity, lineage }: ArchiveSource,
    states: readonly ArchiveState[],
    { nowMicros }: ArchiveOptions,
  ): void {
    const aliveMicros = 2 * limits.archiveConfirmMillis * 1000;
    for (const state of states) {
      if (state.host === this.#host) continue;
      const left = lineage.find(({ epoch }) => epoch === state.epoch);
      const isFurther = left === undefined || state.end.position > left.position;
      const isAlive = nowMicros - state.confirmedMicros < aliveMicros;
      if (isFurther || isAlive) throw otherHostError(identity, state);
    }
  }

  #begin(
    source: ArchiveSource,
    objects: readonly LogObject[],
    lines: readonly ArchiveState[],
  ): { state: ArchiveState; isNewLine: boolean } {
    const { identity, end, record, lineage } = source;
    const continued = lines
      .filter((state) => continues(source, objects, state.end))
      .sort((one, other) => other.end.position - one.end.position)[0];
    if (continued !== undefined) {
      return { state: { ...continued, host: this.#host }, isNewLine: false };
    }
    const other = lines.find(({ host }) => host !== this.#host);
    if (other !== undefined) throw otherHostError(identity, other);
    const line = Math.max(0, ...lines.map((state) => state.line)) + 1;
    if (line > limits.archiveLinesMax) {
      const text = `the archive of database ${identity} has ${line - 1} lines, which is the limit`;
      throw new BackupError('backup.otherHistory', text);
    }
    const state: ArchiveState = {
      host: this.#host,
      identity,
      epoch: end.epoch,
      line,
      record,
      lineage,
      snapshots: [],
      segments: [],
      tails: [],
      files: [],
      end: { ...end, offset: 0, position: 0, chain: '0'.repeat(16), micros: 0 },
      confirmedMicros: 0,
    };
    return { state, isNewLine: line > 1 };
  }
}

/** One pass: what is put, and what the archive says afterwards. */
class Pass {
  sentBytes = 0;
  gap: ArchiveReport['gap'];
  needsSnapshot = false;
  state: ArchiveState;
  readonly #repository: Repository;
  readonly #source: ArchiveSource;
  readonly #options: ArchiveOptions;
  readonly #known: KnownObjects;

  constructor(
    repository: Repository,
    source: ArchiveSource,
    options: ArchiveOptions,
    state: ArchiveState,
  ) {
    this.state = state;
    this.#repository = repository;
    this.#source = source;
    this.#options = options;
    this.#known = new KnownObjects(repository);
  }

  async run(objects: readonly LogObject[]): Promise<void> {
    const snapshots = objects.filter((object) => object.kind === 'snapshot');
    const segments = objects.filter((object) => object.kind === 'segment');
    const isContinued = await this.#putBase(snapshots, segments);
    if (!isContinued) return;
    for (const segment of segments) {
      if (segment.isSealed && this.#isNew(segment, segments)) await this.#putSegment(segment);
    }
    await this.#putFiles();
    await this.#putTail(segments.at(-1), segments);
    await this.#confirm();
  }

  /**
   * Puts the snapshot that the archive begins with, or goes on with; false if it can do neither,
   * since there is none.
   */
  async #putBase(
    snapshots: readonly SnapshotObject[],
    segments: readonly SegmentObject[],
  ): Promise<boolean> {
    const newest = snapshots.findLast((one) => segmentBehind(one, segments) !== undefined);
    if (isEmpty(this.state)) {
      if (newest !== undefined) await this.#start(newest);
      const isFromFirst = segments[0]?.from.position === 0;
      this.needsSnapshot = newest === undefined && !isFromFirst;
      return newest !== undefined || isFromFirst;
    }
    const { end } = this.state;
    const isThere = segments.some(({ from, to }) => {
      return from.position <= end.position && end.position <= to.position;
    });
    if (!isThere) return this.#bridge(newest);
    if (!this.#isBaseDue()) return true;
    const last = this.state.snapshots.at(-1)?.at.position ?? 0;
    if (newest !== undefined && newest.at.position > last) await this.#addSnapshot(newest);
    this.needsSnapshot = newest === undefined || newest.at.position <= last;
    return true;
  }

  /** Goes on behind records that the log does not have any more. */
  async #bridge(newest: SnapshotObject | undefined): Promise<boolean> {
    const { end } = this.state;
    if (newest === undefined || newest.at.position <= end.position) {
      this.needsSnapshot = true;
      return false;
    }
    this.gap = { after: end.offset, until: newest.at.offset };
    await this.#start(newest);
    return true;
  }

  /** From here on segments are put that come behind a snapshot. */
  async #start(snapshot: SnapshotObject): Promise<void> {
    await this.#addSnapshot(snapshot);
    const tails = this.state.tails;
    this.state = { ...this.state, end: snapshot.at, segments: [...this.state.segments, ...tails] };
    this.state = { ...this.state, tails: [] };
  }

  async #addSnapshot(snapshot: SnapshotObject): Promise<void> {
    const entry = (await this.#put(snapshot)) as SnapshotEntry;
    this.state = { ...this.state, snapshots: [...this.state.snapshots, entry] };
  }

  #isBaseDue(): boolean {
    const base = this.state.snapshots.at(-1);
    const { end } = this.#source;
    const size = base?.bytes ?? 0;
    const logBytes = end.position - (base?.at.position ?? 0);
    const times = limits.archiveBaseLogTimesMin;
    if (logBytes > Math.max(limits.archiveBaseLogBytesMin, times * size)) return true;
    const oldest = base?.at.micros ?? this.state.segments[0]?.to.micros ?? end.micros;
    // Time without commits adds nothing to replay.
    return end.micros - oldest > limits.archiveBaseMillisMax * 1000;
  }

  /** Whether a sealed segment has to be put as a whole. */
  #isNew(segment: SegmentObject, all: readonly SegmentObject[]): boolean {
    const { sequence, from, to } = segment;
    const { end, snapshots, segments, tails } = this.state;
    if (to.position > end.position) return true;
    if (tails.some((tail) => tail.sequence === sequence)) return true;
    // The archive may have begun with a snapshot at the end of it.
    const base = snapshots.at(-1);
    const isBegin = base !== undefined && segmentBehind(base, all) === segment;
    return isBegin && !segments.some((entry) => entry.from.position === from.position);
  }

  /** Files beside the log; what they are called is their content. */
  async #putFiles(): Promise<void> {
    const { files, identity, readFile } = this.#source;
    const known = new Map(this.state.files.map((entry) => [`${entry.hash} ${entry.path}`, entry]));
    const isSame =
      files.length === known.size && files.every(({ hash, path }) => known.has(`${hash} ${path}`));
    if (isSame) return;
    const entries: FileEntry[] = [];
    for (const file of files) {
      const shipping = this.#shipping();
      const { hash, path } = file;
      const entry = known.get(`${hash} ${path}`);
      entries.push(entry ?? (await shipping.file(file, identity, readFile(file))));
      this.sentBytes += shipping.newBytes;
    }
    await this.#say({ files: entries });
  }

  async #putSegment(segment: SegmentObject): Promise<void> {
    const entry = (await this.#put(segment)) as SegmentEntry;
    const gone = this.state.tails.filter(({ sequence }) => sequence <= entry.sequence);
    const tails = this.state.tails.filter(({ sequence }) => sequence > entry.sequence);
    const segments = [...this.state.segments, entry];
    await this.#say({ segments, tails, end: { ...entry.to, epoch: this.#source.end.epoch } });
    await this.#drop(gone);
  }

  /** The durable records of the segment that is written to, from where the archive ends. */
  async #putTail(segment: SegmentObject | undefined, all: readonly SegmentObject[]): Promise<void> {
    const { end, disk } = this.#source;
    if (segment === undefined || segment.isSealed) return;
    const { sequence, to } = segment;
    const old = this.state.tails.filter((tail) => tail.sequence === sequence);
    // A snapshot at its beginning needs the segment, although it has no records yet.
    const isNeeded = this.state.snapshots.some((one) => segmentBehind(one, all) === segment);
    const isEmptyTail = to.position === segment.from.position && !isNeeded;
    const isOld = old.length > 0 && end.position <= this.state.end.position;
    if (isEmptyTail || isOld) return;
    const isWhole = old.length === 0 || old.length >= limits.archiveTailsMax;
    const from = isWhole ? segment.from : { ...this.state.end, epoch: segment.from.epoch };
    const folder = this.#folderOf(segment);
    const base = tailObject(folder, { sequence, from: from.position, to: to.position });
    const shipping = this.#shipping();
    const entry = (await shipping.object(
      { ...segment, base, from, to, bytes: 0 },
      { read: () => readTail(disk, segment, from, to) },
    )) as SegmentEntry;
    this.sentBytes += shipping.newBytes;
    await this.#say({ tails: isWhole ? [entry] : [...old, entry], end });
    if (isWhole) await this.#drop(old.filter(({ name }) => name !== entry.name));
  }

  /** Says now and then that nothing is missing, although nothing came. */
  async #confirm(): Promise<void> {
    const { nowMicros } = this.#options;
    const isOld = nowMicros - this.state.confirmedMicros >= limits.archiveConfirmMillis * 1000;
    const isDone = this.state.end.position >= this.#source.end.position;
    if (isDone && isOld) await this.#say({});
  }

  async #say(change: Partial<ArchiveState>): Promise<void> {
    const { record, lineage, end } = this.#source;
    const state = { ...this.state, ...change, record, lineage };
    const isAtEnd = state.end.position >= end.position;
    const confirmedMicros = isAtEnd ? this.#options.nowMicros : state.end.micros;
    this.state = {
      ...state,
      confirmedMicros: Math.max(confirmedMicros, this.state.confirmedMicros),
    };
    await writeArchiveState(this.#repository, this.state);
  }

  /** What is not named any more; what remains after a failure is removed by `prune`. */
  async #drop(entries: readonly SegmentEntry[]): Promise<void> {
    for (const { name } of entries) await this.#repository.store.delete(name);
  }

  async #put(object: LogObject): Promise<SnapshotEntry | SegmentEntry> {
    const { disk } = this.#source;
    const base = object.base.split('/').at(-1);
    const placed = { ...object, base: `${this.#folderOf(object)}/${base}` };
    const shipping = this.#shipping();
    const entry = await shipping.object(placed, { read: () => readLogObject(disk, object) });
    this.sentBytes += shipping.newBytes;
    return entry;
  }

  /** Files of earlier epochs are the same in each line. */
  #folderOf(object: LogObject): string {
    const { epoch } = object.kind === 'snapshot' ? object.at : object.from;
    const isOwn = epoch === this.state.epoch;
    return objectFolder(object.identity, isOwn ? archiveLine(epoch, this.state.line) : epoch);
  }

  #shipping(): Shipping {
    const { signal } = this.#options;
    checkSignal(signal);
    return new Shipping(this.#repository, { known: this.#known, signal });
  }
}

function isEmpty(state: ArchiveState): boolean {
  return objectsOfArchive(state).length === 0;
}

/** Whether the log has the place at which an archive ends, or has had it before it was deleted. */
function continues(
  { disk, end: durable }: ArchiveSource,
  objects: readonly LogObject[],
  end: LogPoint,
): boolean {
  if (end.position > durable.position) return false;
  const segments = objects.filter((object) => object.kind === 'segment');
  const first = segments[0];
  if (first !== undefined && end.position < first.from.position) return true;
  const holder = segments.find(({ from, to }) => {
    return from.position <= end.position && end.position <= to.position;
  });
  if (holder === undefined) return end.position === durable.position && end.chain === durable.chain;
  return chainAt(disk, holder, end.position) === end.chain;
}

function otherHostError(
  identity: string,
  { host, end, confirmedMicros }: ArchiveState,
): BackupError {
  const text = `another service, ${host}, has archived database ${identity} up to offset`;
  const seen = confirmedMicros === 0 ? '' : `, last at ${rfc3339(confirmedMicros)}`;
  const advice = 'this service does not archive it; name another repository under [archive] here';
  return new BackupError('backup.otherHost', `${text} ${end.offset}${seen}; ${advice}`);
}
