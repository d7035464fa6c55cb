import { type Disk, type DiskFile, tryToRemove } from './disk.ts';
import { DurableMark, durableMarkName, readDurableMark } from './durable-mark.ts';
import type { Epoch } from './epoch.ts';
import { sizeOf } from './file-size.ts';
import { freeName } from './free-name.ts';
import type { TornTail } from './judge-break.ts';
import { LogDamageError } from './log-error.ts';
import { type OriginPlace, originName } from './origin.ts';
import {
  encodeSegmentHeader,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentName,
} from './segment.ts';
import { SegmentReader } from './segment-reader.ts';
import { reportSnapshots, settleSnapshots, snapshotsEnd } from './settle-snapshots.ts';
import { type WalkedLog, type WalkOptions, walkLog } from './walk.ts';

export interface RecoverOptions extends WalkOptions {
  /** Create a new log if there is none; otherwise its absence is damage. */
  readonly create: boolean;
  /** 32 bits for a log that is created now. Should not be guessable by users who write rows. */
  readonly salt: number;
  /** 64 random bits for a log that is created now. */
  readonly epoch: Epoch;
  /** True if nothing is written; a torn tail stays, for the next open of the log. */
  readonly isReadOnly?: boolean;
  /** Receives full sentences about what recovery cut off. */
  readonly warn: (message: string) => void;
}

/** A log ready to be continued; all of it is durable. */
export interface RecoveredLog {
  /** The last segment, open; the caller closes it. */
  readonly file: DiskFile;
  readonly sequence: number;
  /** Position in the file where the next record goes. */
  readonly end: number;
  readonly salt: number;
  readonly epoch: Epoch;
  readonly offset: number;
  readonly lastMicros: bigint;
  readonly position: number;
  readonly chainLow: number;
  readonly chainHigh: number;
  readonly recordCount: number;
  /** Highest log position that a record says was durable. */
  readonly statedPosition: number;
  /** Bytes that were cut off though they had been durable; only of a log that others have, too. */
  readonly damagedBytes: number;
  /**
   * The mark of the durable end; the caller closes it. `undefined` if the disk is not lasting, or
   * the log is only read.
   */
  readonly mark: DurableMark | undefined;
}

/**
 * Reads the log, passes on its records, cuts off a torn tail (saving what it cuts), and makes the
 * rest durable: bytes that survived a killed process may never have been synced, so nothing counts
 * before they have been. Changes nothing when it throws `LogDamageError`.
 *
 * A second crash at any point leaves a disk that recovers to the same records.
 */
export async function recoverLog(disk: Disk, options: RecoverOptions): Promise<RecoveredLog> {
  disk.checkWriter?.(true);
  const walked = walkLog(disk, options);
  // Reading took its time, and the next steps write.
  disk.checkWriter?.(true);
  if (walked.kind === 'log') {
    const { log } = walked;
    if (options.isReadOnly === true) {
      reportSnapshots(log, options.warn);
      return settle(disk, log);
    }
    if (log.unbegun === undefined) return repair(disk, log, options.warn);
    return begin(disk, log, log.unbegun, options);
  }
  const hasRemains = disk.list().some((name) => name.startsWith('commit-') || name === originName);
  const mark = readDurableMark(disk);
  const markedOffset = mark.kind === 'valid' ? mark.end.offset : 0;
  const durableOffset = Math.max(markedOffset, snapshotsEnd(disk));
  const isGone = (walked.kind === 'absent' && hasRemains) || durableOffset > 0;
  if (!options.create || isGone) throw goneError(durableOffset);
  if (walked.kind === 'unborn') disk.remove(walked.name);
  return create(disk, options);
}

/** The error when no segment has a record; `durableOffset` was once durable, 0 if nothing was. */
export function goneError(durableOffset: number): LogDamageError {
  const known = `the log is gone, and offset ${durableOffset} is known to be durable`;
  const reason = durableOffset === 0 ? 'the log is gone' : known;
  return new LogDamageError(reason, { file: segmentName(1, 1), position: 0, offset: 1 });
}

/** Creates the file of a segment and writes its header; the caller syncs file and directory. */
export function createSegment(disk: Disk, header: SegmentHeader): DiskFile {
  const name = segmentName(header.sequence, header.firstOffset);
  const file = disk.open(name, 'create');
  try {
    file.write(encodeSegmentHeader(header), 0);
    return file;
  } catch (error) {
    file.close();
    tryToRemove(disk, name);
    throw error;
  }
}

/** On failure nothing is left: a mark alone would look like a log that is gone. */
function createFirst(disk: Disk, header: SegmentHeader, mark: DurableMark | undefined): DiskFile {
  try {
    return createSegment(disk, header);
  } catch (error) {
    mark?.close();
    if (mark !== undefined) tryToRemove(disk, durableMarkName);
    throw error;
  }
}

function create(disk: Disk, options: RecoverOptions): Promise<RecoveredLog> {
  const salt = options.salt | 0;
  const chain = { chainLow: salt, chainHigh: ~salt };
  const birth = { sequence: 1, firstOffset: 1, position: 0, lastMicros: 0n, ...chain };
  return createOwn(disk, options, { ...birth, isAfterOrigin: false });
}

/** Creates the first segment of the own part of a log that has an origin. */
async function begin(
  disk: Disk,
  log: WalkedLog,
  { sequence, offset, position, chainLow, chainHigh, micros }: OriginPlace,
  options: RecoverOptions,
): Promise<RecoveredLog> {
  if (log.tail !== undefined) await cutTail(disk, log.tail, 'never durable', options.warn);
  await settleSnapshots(disk, log, options.warn);
  const next = { sequence: sequence + 1, firstOffset: offset + 1, position, lastMicros: micros };
  const header = { ...next, chainLow, chainHigh, isAfterOrigin: true };
  const own = await createOwn(disk, options, header);
  return { ...own, recordCount: log.recordCount };
}

type Birth = Pick<
  SegmentHeader,
  | 'sequence'
  | 'firstOffset'
  | 'position'
  | 'chainLow'
  | 'chainHigh'
  | 'lastMicros'
  | 'isAfterOrigin'
>;

async function createOwn(disk: Disk, options: RecoverOptions, birth: Birth): Promise<RecoveredLog> {
  const { databaseIdentity, epoch } = options;
  const { sequence, position, lastMicros, chainLow, chainHigh } = birth;
  const salt = options.salt | 0;
  const header: SegmentHeader = {
    ...birth,
    salt,
    databaseIdentity,
    durablePosition: position,
    epoch,
    hasMark: disk.isLasting,
    hasRuns: false,
  };
  const offset = birth.firstOffset - 1;
  const mark = await openMark(disk, { salt, position, offset });
  const file = createFirst(disk, header, mark);
  await file.sync();
  await disk.syncDirectory();
  const history = { salt, epoch, offset, lastMicros, position, chainLow, chainHigh };
  const own = { recordCount: 0, statedPosition: position, damagedBytes: 0, mark };
  return { file, sequence, end: segmentHeaderBytes, ...history, ...own };
}

function openMark(
  disk: Disk,
  { salt, position, offset }: Pick<RecoveredLog, 'salt' | 'position' | 'offset'>,
): Promise<DurableMark | undefined> {
  if (!disk.isLasting) return Promise.resolve(undefined);
  return DurableMark.open(disk, salt, { position, offset });
}

/** Cuts off the tail, and makes the rest durable before anything says that it is. */
export async function repair(
  disk: Disk,
  log: WalkedLog,
  warn: (message: string) => void,
): Promise<RecoveredLog> {
  if (log.isMarkHalf) warn('One half of the file `durable` was not valid; it is rewritten.');
  const verdict = log.lost === undefined ? 'never durable' : 'given up';
  const cut = log.tail === undefined ? 0 : await cutTail(disk, log.tail, verdict, warn);
  const damagedBytes = log.lost === undefined ? 0 : cut;
  const settled = { ...(await settle(disk, log)), damagedBytes };
  try {
    await settleSnapshots(disk, log, warn);
    const isNew = disk.isLasting && readDurableMark(disk).kind === 'absent';
    const mark = await openMark(disk, log);
    if (isNew) await disk.syncDirectory();
    return { ...settled, mark };
  } catch (error) {
    settled.file.close();
    throw error;
  }
}

/** Makes the records that count durable, and nothing more: that takes no space. */
async function settle(disk: Disk, log: WalkedLog): Promise<RecoveredLog> {
  for (const segment of log.segments.slice(0, -1)) {
    if (segment.endPosition > log.durablePosition) await syncSegment(disk, segment.name);
  }
  const last = log.segments.at(-1);
  if (last === undefined) throw new LogDamageError('there is no segment', noPlace);
  const file = disk.open(last.name, 'existing');
  try {
    // The files of an origin are durable, and may be those of another database, too.
    if (log.unbegun === undefined) await file.sync();
    await disk.syncDirectory();
  } catch (error) {
    file.close();
    throw error;
  }
  const { salt, epoch, offset, lastMicros, position, chainLow, chainHigh, recordCount } = log;
  const history = { salt, epoch, offset, lastMicros, position, chainLow, chainHigh };
  const { sequence, end } = last;
  const counts = { recordCount, statedPosition: log.durablePosition, damagedBytes: 0 };
  return { file, sequence, end, ...history, ...counts, mark: undefined };
}

const noPlace = { file: '', position: 0, offset: 0 };

async function syncSegment(disk: Disk, name: string): Promise<void> {
  const file = disk.open(name, 'existing');
  try {
    await file.sync();
  } finally {
    file.close();
  }
}

/**
 * Cuts the tail off the log. Data cut out of a segment is durable beside it before the segment is
 * shortened; whole files are renamed. The caller syncs the segment that is now the last one, and
 * the directory: nothing may be appended before that. Returns how many bytes were cut off.
 */
async function cutTail(
  disk: Disk,
  tail: TornTail,
  verdict: string,
  warn: (message: string) => void,
): Promise<number> {
  const { file, position, offset } = tail.place;
  let bytes = tail.files.includes(file) ? 0 : await cutSegment(disk, tail, verdict, warn);
  for (const name of tail.files) {
    const kept = freeName(disk, name, 'torn');
    bytes += sizeOf(disk, name);
    disk.rename(name, kept);
    warn(`The log ends after offset ${offset - 1}; ${name} was ${verdict}. Kept as ${kept}.`);
  }
  if (tail.survivorCount > 0) {
    warn(
      `${tail.survivorCount} whole records behind position ${position} of ${file} were dropped: ` +
        'the records that they continue are missing.',
    );
  }
  return bytes;
}

async function cutSegment(
  disk: Disk,
  { reason, place }: TornTail,
  verdict: string,
  warn: (message: string) => void,
): Promise<number> {
  const segment = disk.open(place.file, 'existing');
  try {
    const reader = new SegmentReader(segment);
    const end = reader.endOfContent(place.position);
    if (end === place.position) return 0;
    const kept = freeName(disk, place.file, 'torn');
    await save(disk, kept, reader.pieces(place.position, end));
    segment.truncate(place.position);
    warn(
      `The log ends after offset ${place.offset - 1}, at position ${place.position} of ` +
        `${place.file}: ${reason}. Cut off ${end - place.position} bytes that were ` +
        `${verdict}; kept as ${kept}.`,
    );
    return end - place.position;
  } finally {
    segment.close();
  }
}

/** A failed save leaves no file: on a full disk each attempt to open would add one. */
async function save(disk: Disk, name: string, pieces: Iterable<Uint8Array>): Promise<void> {
  const file = disk.open(name, 'create');
  try {
    let position = 0;
    for (const piece of pieces) {
      file.write(piece, position);
      position += piece.length;
    }
    await file.sync();
  } catch (error) {
    tryToRemove(disk, name);
    throw error;
  } finally {
    file.close();
  }
  await disk.syncDirectory();
}
