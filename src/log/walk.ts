import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { laterMicros } from './commit-time.ts';
import { acceptedMicrosOf, decodeRecord } from './decode-record.ts';
import type { Disk } from './disk.ts';
import { type MarkReading, readDurableMark } from './durable-mark.ts';
import { type Epoch, epochOfSalt } from './epoch.ts';
import { EvidenceSearch } from './evidence-search.ts';
import type { HistoryPoint } from './history-point.ts';
import { pendingKeepError } from './keep-plan.ts';
import {
  beginningGoneError,
  forkedError,
  LogDamageError,
  type LogPlace,
  noSnapshotError,
  repairCommand,
} from './log-error.ts';
import { lostEnd } from './lost-end.ts';
import { type LogRecord, recordKinds } from './record.ts';
import {
  beginsAsHeader,
  readSegmentHeader,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentName,
  segmentSequence,
} from './segment.ts';
import { type SegmentReader, withReader } from './segment-reader.ts';
import type { SnapshotLoading, SnapshotPlace } from './snapshot.ts';
import { type LoadedSnapshot, loadNewest, type RefusedSnapshot } from './snapshot-start.ts';

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
}

export type WalkResult =
  | { readonly kind: 'absent' }
  /** One segment without a whole header: the log was being created, and nothing is in it. */
  | { readonly kind: 'unborn'; readonly name: string }
  | { readonly kind: 'log'; readonly log: WalkedLog };

/** The contents of a log. */
export interface WalkedLog {
  /** The segments that count, in order. Writing continues in the last one. */
  readonly segments: readonly WalkedSegment[];
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

/** The data after the last record that counts; it was never durable, or its loss is accepted. */
export interface TornTail {
  readonly reason: string;
  readonly place: LogPlace;
  /** Files after the break, which are removed whole. */
  readonly files: readonly string[];
  /** Whole records found after the break, and the highest offset of one, or 0. */
  readonly survivorCount: number;
  readonly survivorOffset: number;
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
  const names = files.filter((name) => segmentSequence(name) !== undefined);
  const first = names[0];
  if (first === undefined) return { kind: 'absent' };
  const isAlone = names.length === 1 && first === segmentName(1, 1);
  if (isAlone && isUnborn(disk, first)) return { kind: 'unborn', name: first };
  const { snapshots, databaseIdentity } = options;
  const loaded =
    snapshots === undefined
      ? { start: undefined, refused: [] }
      : loadNewest(disk, names, databaseIdentity, snapshots);
  const walk = new Walk(disk, names, options, loaded, readDurableMark(disk));
  return { kind: 'log', log: walk.run() };
}

/** A failed write leaves part of a header; its removal can be undone by a power cut. */
function isUnborn(disk: Disk, name: string): boolean {
  return withReader(disk, name, (reader) => {
    const isShort = reader.size < segmentHeaderBytes && beginsAsHeader(reader.header());
    return isShort || reader.isBlankFrom(0);
  });
}

/** `undefined`: it cannot be read. */
function readHeader(disk: Disk, name: string): SegmentHeader | undefined {
  const reading = withReader(disk, name, (reader) => readSegmentHeader(reader.header()));
  return reading.kind === 'valid' ? reading.header : undefined;
}

function isUnfinished(reader: SegmentReader): boolean {
  return reader.size < segmentHeaderBytes || reader.header().every((byte) => byte === 0);
}

/** The records of the log end at `position` of segment `name`; `later` are the files after it. */
interface Break {
  readonly reason: string;
  readonly name: string;
  readonly position: number;
  readonly later: readonly string[];
}

/** `damage`: the data after the break proves that the data at it had been durable. */
interface Verdict {
  readonly tail: TornTail;
  readonly damage: LogDamageError | undefined;
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
  readonly #loaded: LoadedSnapshot;
  readonly #mark: MarkReading;

  constructor(
    disk: Disk,
    names: readonly string[],
    options: WalkOptions,
    loaded: LoadedSnapshot,
    mark: MarkReading,
  ) {
    this.#mark = mark;
    this.#disk = disk;
    this.#names = names;
    this.#options = options;
    this.#loaded = loaded;
  }

  run(): WalkedLog {
    const first = this.#loaded.start?.index ?? 0;
    this.#sequence = this.#loaded.start?.place.segment ?? 1;
    this.#checkUnread(first);
    let found: Break | undefined;
    for (let index = first; index < this.#names.length && found === undefined; index++) {
      found = this.#segment(index);
    }
    const verdict = found === undefined ? undefined : this.#judge(found);
    const lost = this.#lostEnd(found) ?? verdict?.damage;
    if (lost !== undefined && this.#options.acceptsLoss !== true) throw lost;
    return {
      segments: this.#segments,
      salt: this.#salt,
      epoch: this.#epoch,
      offset: this.#offset,
      lastMicros: BigInt(this.#lastMicros),
      position: this.#position,
      chainLow: this.#chainLow,
      chainHigh: this.#chainHigh,
      durablePosition: this.#durablePosition,
      recordCount: this.#recordCount,
      refused: this.#loaded.refused,
      damage: this.#damageBefore(),
      tail: verdict?.tail,
      lost: lost?.reason,
      isMarkHalf: this.#mark.kind === 'valid' && this.#mark.isHalf,
    };
  }

  #damageBefore(): WalkedLog['damage'] {
    const { start } = this.#loaded;
    if (start?.damagedAt === undefined) return undefined;
    return { file: this.#names[start.index] as string, position: start.damagedAt };
  }

  /** Compares the mark beside the log with the end that was found. */
  #lostEnd(found: Break | undefined): LogDamageError | undefined {
    const last = this.#segments.at(-1);
    return lostEnd({
      mark: this.#mark,
      hasMark: this.#hasMark,
      salt: this.#salt,
      position: this.#position,
      offset: this.#offset,
      databaseIdentity: this.#options.databaseIdentity,
      file: found?.name ?? last?.name ?? '',
      filePosition: found?.position ?? last?.end ?? 0,
      breakReason: found?.reason,
    });
  }

  /**
   * Looks for signs that two services have written to the segments before `end`, which are not
   * read: two with one number, or records behind the place at which the next one begins.
   */
  #checkUnread(end: number): void {
    for (let index = 0; index < end; index++) {
      const name = this.#names[index] as string;
      const next = this.#names[index + 1] as string;
      if (segmentSequence(name) === segmentSequence(next)) {
        throw this.#forked(`two segments have the number ${segmentSequence(next)}`, next, 0);
      }
      const start = readHeader(this.#disk, name);
      const header = readHeader(this.#disk, next);
      const isNext = start !== undefined && header?.sequence === start.sequence + 1;
      if (isNext) withReader(this.#disk, name, (reader) => this.#checkEnd(reader, start, header));
    }
  }

  #checkEnd(reader: SegmentReader, start: SegmentHeader, next: SegmentHeader): void {
    const base = start.position - segmentHeaderBytes;
    const end = next.position - base;
    if (end >= reader.size || reader.isBlankFrom(end)) return;
    const point = { ...next, offset: next.firstOffset - 1 };
    const place = { file: reader.name, position: end, offset: next.firstOffset };
    const search = new EvidenceSearch(start.salt, point, place);
    search.look(reader, end, base);
    if (search.recordCount === 0) return;
    throw this.#forked('a segment does not continue the one before it', reader.name, end);
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
    if (this.#loaded.refused.length === 0) return beginningGoneError('segment 1 is missing');
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
    if (header.databaseIdentity !== this.#options.databaseIdentity) {
      const found = header.databaseIdentity.toString(16).padStart(64, '0');
      throw this.#damage(`it belongs to another database, ${found}`, reader.name, 16);
    }
    if (segmentName(header.sequence, header.firstOffset) !== reader.name) {
      throw this.#damage('a segment does not have its original name', reader.name, 48);
    }
    return header;
  }

  #start(header: SegmentHeader, name: string): undefined {
    this.#salt = header.salt;
    this.#epoch = header.epoch;
    this.#hasMark = header.hasMark;
    const { start } = this.#loaded;
    if (start !== undefined) {
      this.#continue(start.place);
      return;
    }
    if (header.firstOffset !== 1 || header.position !== 0) {
      throw this.#damage('the log does not begin with its first commit', name, 56);
    }
    this.#chainLow = header.chainLow;
    this.#chainHigh = header.chainHigh;
  }

  /** All records before the place of a snapshot were durable when it was completed. */
  #continue(place: SnapshotPlace): void {
    this.#offset = place.offset;
    this.#lastMicros = Number(place.lastMicros);
    this.#position = place.position;
    this.#durablePosition = place.position;
    this.#chainLow = place.chainLow;
    this.#chainHigh = place.chainHigh;
  }

  /** Checks that a segment continues the one before; returns why not if records are missing. */
  #connect(header: SegmentHeader, name: string): string | undefined {
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
    const { start } = this.#loaded;
    let position = start?.index === index ? start.filePosition : segmentHeaderBytes;
    let reason: string | undefined;
    while (position < reader.size) {
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
    const sequence = this.#sequence++;
    this.#segments.push({ name, sequence, end: position, endPosition: this.#position });
    if (reason === undefined) return undefined;
    return { reason, name, position, later: this.#names.slice(index + 1) };
  }

  /** Handles one record with a valid checksum: no crash explains any other fault in it. */
  #record(reader: SegmentReader, position: number): void {
    const { kind, offset, hash } = reader;
    const isCommit = kind === recordKinds.commit || kind === recordKinds.schema;
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
      if (record.kind !== 'marks') {
        this.#lastMicros = laterMicros(this.#lastMicros, acceptedMicrosOf(record.inputs));
      }
      this.#options.onRecord(record);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const place = { file: reader.name, position, offset };
      throw new LogDamageError(`a record cannot be replayed: ${reason}`, place, { cause: error });
    }
  }

  /** A break at the end of the segment before `index`. */
  #before(index: number, reason: string): Break {
    const previous = this.#segments.at(-1);
    const name = this.#names[index] as string;
    if (previous === undefined) throw this.#damage(reason, name, 0);
    return { reason, name: previous.name, position: previous.end, later: this.#names.slice(index) };
  }

  /** Torn tail or damage? Throws when what follows belongs to another history. */
  #judge(found: Break): Verdict {
    const place = { file: found.name, position: found.position, offset: this.#offset + 1 };
    const search = new EvidenceSearch(this.#salt, this.#end(), place);
    const isInFile = found.position >= segmentHeaderBytes;
    const foundBase = isInFile ? this.#position - found.position : Number.NaN;
    withReader(this.#disk, found.name, (reader) => {
      search.look(reader, found.position + 8, foundBase);
    });
    for (const name of found.later) {
      withReader(this.#disk, name, (reader) => {
        const header = this.#header(reader);
        if (header !== undefined) search.noteHeader(header);
        const base = header === undefined ? Number.NaN : header.position - segmentHeaderBytes;
        search.look(reader, segmentHeaderBytes, base);
      });
    }
    if (search.fork !== undefined) {
      const reason = `${search.fork}; ${found.reason}`;
      throw forkedError(reason, place, this.#options.databaseIdentity);
    }
    const durablePosition = Math.max(search.durablePosition, this.#durablePosition);
    const dropsWhole = found.position < segmentHeaderBytes;
    const tail = {
      reason: found.reason,
      place,
      files: dropsWhole ? [found.name, ...found.later] : found.later,
      survivorCount: search.recordCount,
      survivorOffset: search.offset,
    };
    if (durablePosition <= this.#position) return { tail, damage: undefined };
    const command = repairCommand(this.#options.databaseIdentity);
    const advice = `With the service stopped, ${command} shows what is left of it`;
    const reason = `${found.reason}, and what was here had been durable`;
    return { tail, damage: new LogDamageError(reason, place, { advice }) };
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
