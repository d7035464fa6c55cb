import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { laterMicros } from './commit-time.ts';
import { acceptedMicrosOf, decodeRecord } from './decode-record.ts';
import type { Disk } from './disk.ts';
import { type MarkReading, readDurableMark } from './durable-mark.ts';
import { type Epoch, epochOfSalt } from './epoch.ts';
import { type Floor, floorName, readFloor } from './floor.ts';
import { type HistoryPoint, isSamePoint } from './history-point.ts';
import { type Break, judgeBreak, type Reached, type TornTail } from './judge-break.ts';
import { pendingKeepError } from './keep-plan.ts';
import {
  beginningGoneError,
  forkedError,
  LogDamageError,
  noSnapshotError,
  replayError,
} from './log-error.ts';
import { lostEnd } from './lost-end.ts';
import { Lineage, type OriginPlace, originName, readOrigin } from './origin.ts';
import { isCommitKind, isCommitRecord, type LogRecord } from './record.ts';
import {
  beginsAsHeader,
  isPacked,
  plainName,
  readSegmentHeader,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentName,
  segmentSequence,
} from './segment.ts';
import { type SegmentReader, segmentNames, withReader } from './segment-reader.ts';
import type { SnapshotLoading, SnapshotPlace } from './snapshot.ts';
import { type LoadedSnapshot, loadNewest, type RefusedSnapshot } from './snapshot-start.ts';
import { checkUnread } from './unread-segments.ts';

export interface WalkOptions {
  readonly databaseIdentity: DatabaseIdentity;
  /** Called for each record in order; an error it throws is reported as damage, with the place. */
  readonly onRecord: (record: LogRecord) => void;
  /**
   * Receives the newest snapshot that can be used; the log is read from its place on. Absent: it is
   * read from its first record.
   */
  readonly snapshots?: SnapshotLoading;
  /** True if a log that ends too early is accepted; the rest becomes its tail. */
  readonly acceptsLoss?: boolean;
  /** True if records are only checked, so that a log can be read from its floor on. */
  readonly fromFloor?: boolean;
}

export type WalkResult =
  | { readonly kind: 'absent' }
  /** One segment without a whole header: the log was being created, and nothing is in it. */
  | { readonly kind: 'unborn'; readonly name: string }
  | { readonly kind: 'log'; readonly log: WalkedLog };

/** The contents of a log. */
export interface WalkedLog {
  /** The segments that count, in order. Writing continues in the last one, but for `unbegun`. */
  readonly segments: readonly WalkedSegment[];
  /** The place of `origin` that no segment of the log's own follows yet. */
  readonly unbegun: OriginPlace | undefined;
  readonly salt: number;
  readonly epoch: Epoch;
  /** Offset of the last commit. */
  readonly offset: number;
  /** T of that commit. */
  readonly lastMicros: bigint;
  /** Log position after the last record, and the chain hash there. */
  readonly position: number;
  readonly chainLow: number;
  readonly chainHigh: number;
  /** Highest log position that some record says was durable. */
  readonly durablePosition: number;
  /** Records that were read. */
  readonly recordCount: number;
  /** Snapshots that are newer than the one at which reading began. */
  readonly refused: readonly RefusedSnapshot[];
  /** Where records are damaged that the snapshot makes unnecessary, if that was noticed. */
  readonly damage: { readonly file: string; readonly position: number } | undefined;
  readonly tail: TornTail | undefined;
  /** Why the log is not complete; only with `acceptsLoss`. */
  readonly lost: string | undefined;
  /** One half of the mark beside it is not valid; the next start writes it again. */
  readonly isMarkHalf: boolean;
}

export interface WalkedSegment {
  readonly name: string;
  readonly sequence: number;
  /** Position in the file after its last record. */
  readonly end: number;
  /** Log position there. */
  readonly endPosition: number;
}

/**
 * Reads the log in order and changes nothing. Two things can end it before the last file ends:
 *
 * - a **torn tail**: from some place on, bytes are missing or wrong, and nothing after that place
 *   says that it had been durable. A power cut leaves this behind, even with later records intact,
 *   because the sectors of unsynced writes reach the disk in any order;
 * - **damage**: anything else. The proof is the mark beside the log, or a later record or segment
 *   that was created after the place was synced. Throws `LogDamageError`, with `isForked` set if
 *   the rest belongs to another history, even with `acceptsLoss`.
 */
export function walkLog(disk: Disk, options: WalkOptions): WalkResult {
  const files = disk.list();
  const pending = pendingKeepError(files, options.databaseIdentity);
  if (pending !== undefined) throw pending;
  const names = segmentNames(disk);
  const { snapshots, databaseIdentity } = options;
  const lineage = new Lineage(databaseIdentity, readOrigin(disk));
  const first = names[0];
  if (first === undefined) return { kind: 'absent' };
  const isAlone = names.length === 1 && first === segmentName(1, 1);
  if (isAlone && lineage.last === undefined && isUnborn(disk, first)) {
    return { kind: 'unborn', name: first };
  }
  const loaded =
    snapshots === undefined
      ? { start: undefined, refused: [] }
      : loadNewest(disk, names, lineage, snapshots);
  const found = { lineage, loaded, mark: readDurableMark(disk), floor: floorOf(disk, options) };
  return { kind: 'log', log: new Walk(disk, names, options, found).run() };
}

/** The place at which a log may begin that is only checked. */
function floorOf(disk: Disk, { fromFloor }: WalkOptions): Floor | undefined {
  if (fromFloor !== true) return undefined;
  const reading = readFloor(disk);
  if (reading.kind === 'absent') return undefined;
  if (reading.kind === 'valid') return reading.floor;
  throw new LogDamageError(reading.reason, { file: floorName, position: 0, offset: 0 });
}

/** A failed write leaves part of a header; its removal can be undone by a power cut. */
function isUnborn(disk: Disk, name: string): boolean {
  return withReader(disk, name, (reader) => {
    const isShort = reader.size < segmentHeaderBytes && beginsAsHeader(reader.header());
    return isShort || reader.isBlankFrom(0);
  });
}

function isUnfinished(reader: SegmentReader): boolean {
  return reader.size < segmentHeaderBytes || reader.header().every((byte) => byte === 0);
}

/** What was read before the first record. */
interface Found {
  readonly lineage: Lineage;
  readonly loaded: LoadedSnapshot;
  readonly mark: MarkReading;
  readonly floor: Floor | undefined;
}

class Walk {
  readonly #disk: Disk;
  readonly #names: readonly string[];
  readonly #options: WalkOptions;
  readonly #segments: WalkedSegment[] = [];
  #salt = 0;
  #epoch = epochOfSalt(0);
  #offset = 0;
  #lastMicros = 0;
  #position = 0;
  #chainLow = 0;
  #chainHigh = 0;
  #durablePosition = 0;
  #recordCount = 0;
  #hasMark = false;
  /** The segment that comes next. */
  #sequence = 1;
  readonly #found: Found;

  constructor(disk: Disk, names: readonly string[], options: WalkOptions, found: Found) {
    this.#disk = disk;
    this.#names = names;
    this.#options = options;
    this.#found = found;
  }

  run(): WalkedLog {
    const first = this.#first();
    const { lineage } = this.#found;
    checkUnread(this.#disk, this.#names.slice(0, first + 1), lineage);
    let found: Break | undefined;
    for (let index = first; index < this.#names.length && found === undefined; index++) {
      found = this.#segment(index);
    }
    this.#checkOrigin(found);
    this.#checkLast();
    const verdict =
      found === undefined ? undefined : judgeBreak(this.#disk, found, this.#reached());
    const lost = this.#lostEnd(found) ?? verdict?.damage;
    if (lost !== undefined && this.#options.acceptsLoss !== true) throw lost;
    return {
      segments: this.#segments,
      unbegun: this.#unbegun(),
      salt: this.#salt,
      epoch: this.#epoch,
      offset: this.#offset,
      lastMicros: BigInt(this.#lastMicros),
      position: this.#position,
      chainLow: this.#chainLow,
      chainHigh: this.#chainHigh,
      durablePosition: this.#durablePosition,
      recordCount: this.#recordCount,
      refused: this.#found.loaded.refused,
      damage: this.#damageBefore(),
      tail: verdict?.tail,
      lost: lost?.reason,
      isMarkHalf: this.#found.mark.kind === 'valid' && this.#found.mark.isHalf,
    };
  }

  /** Index of the first segment to read. */
  #first(): number {
    const { loaded, floor } = this.#found;
    if (loaded.start !== undefined) {
      this.#sequence = loaded.start.place.segment;
      return loaded.start.index;
    }
    const sequence = segmentSequence(this.#names[0] as string);
    // A log that begins at a snapshot can do so in its first segment.
    const isWhole = sequence === 1 && floor?.sequence !== 1;
    if (sequence === undefined || isWhole || this.#options.fromFloor !== true) return 0;
    if (floor === undefined) {
      // What was copied from the log of another database begins at a snapshot.
      if (this.#found.lineage.last !== undefined) this.#sequence = sequence;
      return 0;
    }
    this.#sequence = floor.sequence;
    // A pass that was interrupted leaves segments below it.
    const index = this.#names.findIndex((name) => (segmentSequence(name) ?? 0) >= floor.sequence);
    if (index === -1) throw this.#damage(`segment ${floor.sequence} is missing`, floorName, 0);
    return index;
  }

  /** Everything up to the place of `origin` was durable before there was an own segment. */
  #checkOrigin(found: Break | undefined): void {
    const { last } = this.#found.lineage;
    if (last === undefined || this.#position >= last.position) return;
    const reason = found?.reason ?? `it ends before the place in \`${originName}\``;
    const end = this.#segments.at(-1);
    throw this.#damage(reason, found?.name ?? end?.name ?? '', found?.position ?? end?.end ?? 0);
  }

  /** A packed segment is not written to, and another one followed it. */
  #checkLast(): void {
    const last = this.#segments.at(-1);
    if (last === undefined || !isPacked(last.name)) return;
    throw this.#damage(`segment ${last.sequence + 1} is missing`, last.name, last.end);
  }

  #unbegun(): OriginPlace | undefined {
    const { last } = this.#found.lineage;
    const isBegun = last === undefined || (this.#segments.at(-1)?.sequence ?? 0) > last.sequence;
    return isBegun ? undefined : last;
  }

  #damageBefore(): WalkedLog['damage'] {
    const { start } = this.#found.loaded;
    if (start?.damagedAt === undefined) return undefined;
    return { file: this.#names[start.index] as string, position: start.damagedAt };
  }

  /** Compares the mark beside the log with the end that was found. */
  #lostEnd(found: Break | undefined): LogDamageError | undefined {
    const last = this.#segments.at(-1);
    return lostEnd({
      mark: this.#found.mark,
      hasMark: this.#hasMark,
      salt: this.#unbegun() === undefined ? this.#salt : undefined,
      birthPosition: this.#found.lineage.last?.position ?? 0,
      position: this.#position,
      offset: this.#offset,
      databaseIdentity: this.#options.databaseIdentity,
      file: found?.name ?? last?.name ?? '',
      filePosition: found?.position ?? last?.end ?? 0,
      breakReason: found?.reason,
    });
  }

  #segment(index: number): Break | undefined {
    const name = this.#names[index] as string;
    const number = segmentSequence(name);
    const isFirst = this.#segments.length === 0;
    if (number === undefined || number < this.#sequence) {
      throw this.#forked(`two segments have the number ${number}`, name, 0);
    }
    if (number > this.#sequence) {
      if (isFirst) throw this.#beginningGone(name);
      return this.#before(index, `segment ${this.#sequence} is missing`);
    }
    return withReader(this.#disk, name, (reader) => {
      const header = this.#header(reader);
      if (header === undefined) {
        // A header is written at once and lies in one sector: a crash leaves all of it or none.
        if (isFirst || !isUnfinished(reader)) {
          throw this.#damage('the header of a segment is not valid', name, 0);
        }
        const later = this.#names.slice(index + 1);
        return { reason: 'a segment has no header', name, position: 0, later };
      }
      const reason = isFirst ? this.#start(header, name) : this.#connect(header, name);
      return reason === undefined ? this.#records(reader, index) : this.#before(index, reason);
    });
  }

  #beginningGone(name: string): LogDamageError {
    const { loaded, floor, lineage } = this.#found;
    const missing = `segment ${this.#sequence} is missing`;
    if (this.#options.fromFloor === true) {
      return floor === undefined ? beginningGoneError(missing) : this.#damage(missing, name, 0);
    }
    const isMeant = readFloor(this.#disk).kind !== 'absent' || lineage.last !== undefined;
    const hasSnapshots = loaded.refused.length > 0;
    if (!isMeant && !hasSnapshots) return beginningGoneError(missing);
    return noSnapshotError(this.#options.databaseIdentity, name);
  }

  /** The header, `undefined` if it is not valid; throws if it is valid but not readable here. */
  #header(reader: SegmentReader): SegmentHeader | undefined {
    const reading = readSegmentHeader(reader.header());
    if (reading.kind === 'later') {
      const reason = `its format has ${reading.what}, this program reads versions 1 and 2`;
      throw this.#damage(reason, reader.name, 8);
    }
    if (reading.kind === 'invalid') return undefined;
    const { header } = reading;
    const stage = this.#found.lineage.stageOf(segmentSequence(reader.name) ?? 0);
    if (header.databaseIdentity !== stage.databaseIdentity) {
      const found = header.databaseIdentity.toString(16).padStart(64, '0');
      throw this.#damage(`it belongs to another database, ${found}`, reader.name, 16);
    }
    if (segmentName(header.sequence, header.firstOffset) !== plainName(reader.name)) {
      throw this.#damage('a segment does not have its original name', reader.name, 48);
    }
    if (stage.epoch !== undefined && header.epoch !== stage.epoch) {
      throw this.#damage('it belongs to another history of this database', reader.name, 88);
    }
    return header;
  }

  #start(header: SegmentHeader, name: string): undefined {
    this.#enter(header);
    const { loaded, floor } = this.#found;
    if (loaded.start !== undefined) {
      this.#continue(loaded.start.place);
      return;
    }
    const isWithin = header.sequence > 1 || floor?.sequence === 1;
    if (isWithin && this.#options.fromFloor === true) {
      this.#startWithin(header, floor, name);
      return;
    }
    if (header.firstOffset !== 1 || header.position !== 0) {
      throw this.#damage('the log does not begin with its first commit', name, 56);
    }
    this.#chainLow = header.chainLow;
    this.#chainHigh = header.chainHigh;
  }

  /** The log does not begin with its first commit. */
  #startWithin(header: SegmentHeader, floor: Floor | undefined, name: string): void {
    const offset = header.firstOffset - 1;
    const start = { ...header, offset };
    this.#continue({ ...start, lastMicros: floor?.micros ?? header.lastMicros });
    if (floor === undefined) return;
    const isSame = isSamePoint(start, { ...floor, offset: floor.firstOffset - 1 });
    if (isSame && header.epoch === floor.epoch) return;
    const reason = `it does not continue the log whose end is in \`${floorName}\``;
    throw this.#damage(reason, name, 56);
  }

  /** The segment is the first one, or the first of its history. */
  #enter(header: SegmentHeader): void {
    this.#salt = header.salt;
    this.#epoch = header.epoch;
    // The mark beside the log is that of its own part.
    const isOwn = this.#found.lineage.stageOf(header.sequence).end === undefined;
    this.#hasMark = isOwn && header.hasMark;
  }

  /** All records before the place of a snapshot were durable when it was completed. */
  #continue(place: Pick<SnapshotPlace, 'position' | 'lastMicros'> & HistoryPoint): void {
    this.#offset = place.offset;
    this.#lastMicros = Number(place.lastMicros);
    this.#position = place.position;
    this.#durablePosition = place.position;
    this.#chainLow = place.chainLow;
    this.#chainHigh = place.chainHigh;
  }

  /** Checks that a segment continues the one before; returns why not if records are missing. */
  #connect(header: SegmentHeader, name: string): string | undefined {
    const isFirstOfStage = this.#found.lineage.isLastOfStage(header.sequence - 1);
    if (isFirstOfStage !== header.isAfterOrigin) {
      throw this.#damage(`\`${originName}\` does not say that another log begins here`, name, 104);
    }
    if (isFirstOfStage) this.#enter(header);
    if (header.salt !== this.#salt || header.epoch !== this.#epoch) {
      throw this.#damage('a segment belongs to another log of this database', name, 12);
    }
    if (header.position > this.#position) {
      return `records are missing before segment ${header.sequence}`;
    }
    if (
      header.position !== this.#position ||
      header.firstOffset !== this.#offset + 1 ||
      header.chainLow !== this.#chainLow ||
      header.chainHigh !== this.#chainHigh
    ) {
      throw this.#forked('a segment does not continue the one before it', name, 56);
    }
    this.#durablePosition = Math.max(this.#durablePosition, header.durablePosition);
    this.#hasMark ||= header.hasMark;
    return undefined;
  }

  #records(reader: SegmentReader, index: number): Break | undefined {
    const { start } = this.#found.loaded;
    const { end } = this.#found.lineage.stageOf(this.#sequence);
    const last = end?.sequence === this.#sequence ? end : undefined;
    let position = start?.index === index ? start.filePosition : segmentHeaderBytes;
    let reason: string | undefined;
    while (position < reader.size && this.#position !== last?.position) {
      const reading = reader.read(position, this.#salt);
      if (reading !== 'record') {
        if (!reader.isBlankFrom(position)) {
          reason = reading === 'blank' ? 'zeros where a record should be' : reader.reason;
        }
        break;
      }
      this.#record(reader, position);
      position += reader.length;
    }
    const { name } = reader;
    // Only what was durable is packed.
    if (reason !== undefined && isPacked(name)) throw this.#damage(reason, name, position);
    if (last !== undefined && reason === undefined) this.#checkPlace(last, name, position);
    const sequence = this.#sequence++;
    this.#segments.push({ name, sequence, end: position, endPosition: this.#position });
    if (reason === undefined) return undefined;
    return { reason, name, position, later: this.#names.slice(index + 1) };
  }

  #checkPlace(place: OriginPlace, name: string, position: number): void {
    this.#durablePosition = Math.max(this.#durablePosition, this.#position);
    if (isSamePoint(this.#end(), place)) return;
    throw this.#damage(`it does not have the place in \`${originName}\``, name, position);
  }

  /** Handles one record with a valid checksum: no crash explains any other fault in it. */
  #record(reader: SegmentReader, position: number): void {
    const { kind, offset, hash } = reader;
    const isCommit = isCommitKind(kind);
    const expected = this.#offset + (isCommit ? 1 : 0);
    if (reader.previousLow !== this.#chainLow || reader.previousHigh !== this.#chainHigh) {
      throw this.#forked('a record follows another one', reader.name, position);
    }
    if (offset !== expected) {
      const reason = `out-of-order commit: expected offset ${expected}, found ${offset}`;
      throw this.#damage(reason, reader.name, position);
    }
    this.#durablePosition = Math.max(this.#durablePosition, reader.durablePosition);
    this.#deliver(reader, position);
    this.#offset = offset;
    this.#position += reader.length;
    this.#chainLow = hash.chainLow;
    this.#chainHigh = hash.chainHigh;
    this.#recordCount++;
  }

  #deliver(reader: SegmentReader, position: number): void {
    const { kind, offset, bytes, payloadStart, payloadEnd } = reader;
    try {
      const record = decodeRecord(kind, offset, bytes, payloadStart, payloadEnd);
      if (record === undefined) return;
      if (isCommitRecord(record)) {
        this.#lastMicros = laterMicros(this.#lastMicros, acceptedMicrosOf(record.inputs));
      }
      this.#options.onRecord(record);
    } catch (error) {
      throw replayError({ file: reader.name, position, offset }, error);
    }
  }

  /** A break at the end of the segment before `index`. */
  #before(index: number, reason: string): Break {
    const previous = this.#segments.at(-1);
    const name = this.#names[index] as string;
    const isFixed =
      previous !== undefined && (previous.sequence <= this.#linkedEnd || isPacked(previous.name));
    if (previous === undefined || isFixed) throw this.#damage(reason, name, 0);
    return { reason, name: previous.name, position: previous.end, later: this.#names.slice(index) };
  }

  #reached(): Reached {
    return {
      salt: this.#salt,
      end: this.#end(),
      durablePosition: this.#durablePosition,
      databaseIdentity: this.#options.databaseIdentity,
      headerOf: (reader) => this.#header(reader),
    };
  }

  /** Number of the last segment that is not the log's own. */
  get #linkedEnd(): number {
    return this.#found.lineage.last?.sequence ?? 0;
  }

  #end(): HistoryPoint {
    return {
      position: this.#position,
      offset: this.#offset,
      chainLow: this.#chainLow,
      chainHigh: this.#chainHigh,
    };
  }

  #forked(reason: string, file: string, position: number): LogDamageError {
    const place = { file, position, offset: this.#offset + 1 };
    return forkedError(reason, place, this.#options.databaseIdentity);
  }

  #damage(reason: string, file: string, position: number): LogDamageError {
    return new LogDamageError(reason, { file, position, offset: this.#offset + 1 });
  }
}
