import type { Disk } from '../log/disk.ts';
import { chainToHex } from '../log/history-point.ts';
import { PackedFile } from '../log/packed-segment.ts';
import {
  isPacked,
  readSegmentHeader,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentSequence,
} from '../log/segment.ts';
import { type SegmentReader, segmentNames, withReader } from '../log/segment-reader.ts';
import { readSnapshotHeader, type SnapshotPlace, snapshotOffset } from '../log/snapshot.ts';
import { bigintToHex } from '../values/hex.ts';
import { BackupError, laterFileError } from './backup-error.ts';
import { segmentBehind } from './coverage.ts';
import type { LogPoint, SegmentEntry, SnapshotEntry } from './manifest.ts';
import { objectFolder, segmentObject, snapshotObject } from './object-names.ts';

/** A part of a backup of a log: a snapshot or a segment. Plain data: it can be sent as JSON. */
export type LogObject = SnapshotObject | SegmentObject;

interface ContentPlace {
  /** Name of the object without the endings that the repository adds. */
  readonly base: string;
  /** Name in the directory of the log. */
  readonly file: string;
  /** Bytes of the content; the file of a segment can be longer. */
  readonly bytes: number;
}

export interface SnapshotObject
  extends ContentPlace,
    Pick<SnapshotEntry, 'identity' | 'at' | 'sequence'> {
  readonly kind: 'snapshot';
}

export interface SegmentObject
  extends ContentPlace,
    Pick<SegmentEntry, 'identity' | 'sequence' | 'from' | 'to'> {
  readonly kind: 'segment';
  /** True if the log goes on in another segment: nothing is written to this one any more. */
  readonly isSealed: boolean;
}

const pieceBytes = 256 * 1024;

/**
 * The files of a log up to `end`, by their headers: its snapshots and segments in order. A segment
 * that goes on behind `end` counts up to there; so does the file that is appended to. One without a
 * record before `end` counts only if a snapshot begins in it: it then proves that the log has the
 * place of the snapshot. Throws `BackupError` if a segment is missing in between.
 */
export function objectsOfLog(disk: Disk, end: LogPoint): LogObject[] {
  const snapshots = snapshotsOf(disk, end);
  const all = segmentsOf(disk, end);
  const behind = new Set(snapshots.map((snapshot) => segmentBehind(snapshot, all)));
  const segments = all.filter((one) => one.to.position > one.from.position || behind.has(one));
  return [...snapshots, ...segments];
}

/**
 * The segments that a restore up to the end of the log needs: all that follows `base`, which is
 * the newest snapshot as the repository has it.
 */
export function neededSegments(
  segments: readonly SegmentObject[],
  base: Pick<SnapshotEntry, 'at' | 'sequence'> | undefined,
): readonly SegmentObject[] {
  if (base !== undefined) {
    const behind = segmentBehind(base, segments);
    if (behind !== undefined) {
      return segments.filter(({ sequence }) => sequence >= behind.sequence);
    }
    const reason = `the log has segment ${base.sequence} no more, in which its snapshot goes on`;
    throw sourceError('the log', `${reason}; a snapshot behind the next commit helps`);
  }
  const first = segments[0];
  if (first === undefined) throw sourceError('the log', 'it has no commit');
  if (first.from.position === 0) return segments;
  const reason = `there is no snapshot, and the log begins at offset ${first.from.offset + 1}`;
  throw sourceError(first.file, reason);
}

/** The content of an object, from the files of the log. */
export function readLogObject(disk: Disk, { file, bytes }: LogObject): AsyncIterable<Uint8Array> {
  return readLogFile(disk, file, 0, bytes);
}

/** The content of a tail: the header of a segment, and its records between two places. */
export async function* readTail(
  disk: Disk,
  { file, from }: SegmentObject,
  start: LogPoint,
  end: LogPoint,
): AsyncIterable<Uint8Array> {
  yield* readLogFile(disk, file, 0, segmentHeaderBytes);
  const base = segmentHeaderBytes - from.position;
  yield* readLogFile(disk, file, base + start.position, base + end.position);
}

async function* readLogFile(
  disk: Disk,
  name: string,
  start: number,
  end: number,
): AsyncIterable<Uint8Array> {
  const opened = disk.open(name, 'read');
  const isPackedSegment = segmentSequence(name) !== undefined && isPacked(name);
  const file = isPackedSegment ? new PackedFile(opened, disk.codec) : opened;
  try {
    for (let at = start; at < end; ) {
      const piece = new Uint8Array(Math.min(pieceBytes, end - at));
      const count = file.read(piece, at);
      if (count === 0) throw sourceError(name, 'it is shorter than the log says');
      at += count;
      yield piece.subarray(0, count);
    }
  } finally {
    opened.close();
  }
}

/** The chain hash at a log position; `undefined` if no record of the segment ends there. */
export function chainAt(disk: Disk, segment: SegmentObject, position: number): string | undefined {
  if (position === segment.from.position) return segment.from.chain;
  return withReader(disk, segment.file, (reader) => {
    const heading = readSegmentHeader(reader.header());
    if (heading.kind !== 'valid') return undefined;
    const end = segmentHeaderBytes + position - segment.from.position;
    let at = segmentHeaderBytes;
    while (at < end && reader.read(at, heading.header.salt) === 'record') at += reader.length;
    return at === end ? chainToHex(reader.hash) : undefined;
  });
}

export function sourceError(file: string, reason: string, cause?: unknown): BackupError {
  return new BackupError('backup.source', `${file} cannot be backed up: ${reason}`, cause);
}

function snapshotsOf(disk: Disk, end: LogPoint): SnapshotObject[] {
  return disk
    .list()
    .filter((name) => snapshotOffset(name) !== undefined)
    .map((name) => withReader(disk, name, snapshotObjectOf))
    .filter((object) => object !== undefined)
    .filter(({ at }) => at.offset <= end.offset && at.position <= end.position);
}

/** `undefined`: it is damaged, and the next start sets it aside. */
function snapshotObjectOf(reader: SegmentReader): SnapshotObject | undefined {
  const reading = readSnapshotHeader(reader.header());
  if (reading.kind === 'version') throw laterFileError(reader.name);
  if (reading.kind === 'invalid') return undefined;
  const { place } = reading.header;
  const identity = bigintToHex(place.databaseIdentity, 64);
  const at = snapshotPoint(place);
  return {
    kind: 'snapshot',
    base: snapshotObject(objectFolder(identity, at.epoch), at.offset),
    file: reader.name,
    bytes: reader.size,
    identity,
    at,
    sequence: place.segment,
  };
}

function snapshotPoint(place: SnapshotPlace): LogPoint {
  return {
    epoch: bigintToHex(place.epoch, 16),
    offset: place.offset,
    position: place.position,
    chain: chainToHex(place),
    micros: Number(place.lastMicros),
  };
}

function segmentsOf(disk: Disk, end: LogPoint): SegmentObject[] {
  const found = segmentNames(disk)
    .map((file) => ({ file, header: segmentHeader(disk, file) }))
    .filter((one) => one.header !== undefined)
    .map(({ file, header }) => ({ file, header: header as SegmentHeader }))
    .filter(({ header }) => header.position <= end.position);
  return found.map(({ file, header }, index) => {
    const next = found[index + 1];
    if (next !== undefined && next.header.sequence !== header.sequence + 1) {
      throw sourceError(next.file, `segment ${header.sequence + 1} is missing`);
    }
    return segmentObjectOf(file, header, end, next?.header);
  });
}

/** `undefined`: it was being created when the power failed, and holds nothing. */
function segmentHeader(disk: Disk, name: string): SegmentHeader | undefined {
  const reading = withReader(disk, name, (reader) => readSegmentHeader(reader.header()));
  if (reading.kind === 'later') throw laterFileError(name);
  return reading.kind === 'valid' ? reading.header : undefined;
}

/** The place at which a segment begins. */
export function pointBefore(header: SegmentHeader): LogPoint {
  return {
    epoch: bigintToHex(header.epoch, 16),
    offset: header.firstOffset - 1,
    position: header.position,
    chain: chainToHex(header),
    micros: Number(header.lastMicros),
  };
}

function segmentObjectOf(
  file: string,
  header: SegmentHeader,
  end: LogPoint,
  next: SegmentHeader | undefined,
): SegmentObject {
  const identity = bigintToHex(header.databaseIdentity, 64);
  const from = pointBefore(header);
  // The next segment can belong to another epoch; its records continue this one's all the same.
  const to = { ...(next === undefined ? end : pointBefore(next)), epoch: from.epoch };
  const { sequence, firstOffset } = header;
  const name = { sequence, first: firstOffset, last: to.offset };
  return {
    kind: 'segment',
    base: segmentObject(objectFolder(identity, from.epoch), name),
    file,
    bytes: segmentHeaderBytes + to.position - from.position,
    identity,
    sequence,
    from,
    to,
    isSealed: next !== undefined,
  };
}
