import { type Disk, DiskError } from './disk.ts';
import { EvidenceSearch } from './evidence-search.ts';
import { type HistoryPoint, isSameChain } from './history-point.ts';
import { SnapshotDamageError } from './log-error.ts';
import type { Lineage } from './origin.ts';
import { isCommitKind } from './record.ts';
import {
  readSegmentHeader,
  type SegmentHeader,
  segmentFirstOffset,
  segmentHeaderBytes,
  segmentSequence,
} from './segment.ts';
import { type SegmentReader, withReader } from './segment-reader.ts';
import {
  type SnapshotLoading,
  type SnapshotPlace,
  type SnapshotSink,
  snapshotOffset,
} from './snapshot.ts';
import { readOutline, readSnapshot, type SnapshotOutline } from './snapshot-reader.ts';

/** The place at which the log continues a snapshot that was loaded. */
export interface SnapshotStart {
  readonly place: SnapshotPlace;
  /** The segment, among those of the log, and the position in its file. */
  readonly index: number;
  readonly filePosition: number;
  /** Where records of that segment, before the place, are damaged; nothing needs them. */
  readonly damagedAt: number | undefined;
}

/** A snapshot that was not used. */
export interface RefusedSnapshot {
  readonly name: string;
  /**
   * `damaged`: it is not a snapshot of this database. `apart`: the log does not have its place.
   * `unreadable`: the machine cannot read it, or only a later version can.
   */
  readonly kind: 'damaged' | 'apart' | 'unreadable';
  readonly reason: string;
  /** Log position that it is of; for `apart`. */
  readonly position?: number;
}

export interface LoadedSnapshot {
  /** `undefined`: the log is read from its beginning. */
  readonly start: SnapshotStart | undefined;
  readonly refused: readonly RefusedSnapshot[];
}

/** Reads snapshots, and keeps nothing of them. */
export const onlyChecked: SnapshotLoading = {
  begin: () => ({
    take: () => undefined,
    commit: () => undefined,
    abandon: () => undefined,
  }),
};

/** The names of all snapshots, the newest first. */
export function snapshotNames(disk: Disk): string[] {
  const names = disk.list().filter((name) => snapshotOffset(name) !== undefined);
  return names.sort().reverse();
}

/**
 * Loads the newest snapshot that is valid and connected to the log, whose segments are `segments`,
 * in order. Changes nothing on the disk. Throws `DiskError` if a segment cannot be read.
 */
export function loadNewest(
  disk: Disk,
  segments: readonly string[],
  lineage: Lineage,
  loading: SnapshotLoading,
): LoadedSnapshot {
  const refused: RefusedSnapshot[] = [];
  for (const name of snapshotNames(disk)) {
    const found = tryToLoad(disk, segments, name, lineage, loading);
    if (!('reason' in found)) return { start: found, refused };
    refused.push(found);
  }
  return { start: undefined, refused };
}

/** Checks one snapshot whole; returns why it could not be used, `undefined` if it could. */
export function examineSnapshot(
  disk: Disk,
  segments: readonly string[],
  name: string,
  lineage: Lineage,
): RefusedSnapshot | undefined {
  const found = tryToLoad(disk, segments, name, lineage, onlyChecked);
  return 'reason' in found ? found : undefined;
}

function tryToLoad(
  disk: Disk,
  segments: readonly string[],
  name: string,
  lineage: Lineage,
  loading: SnapshotLoading,
): SnapshotStart | RefusedSnapshot {
  const outline = attempt(name, () => {
    return withReader(disk, name, (reader) => readOutline(reader, ...lineage.identities));
  });
  if ('reason' in outline) return outline;
  const start = placeInLog(disk, segments, lineage, outline.place);
  if (start === undefined) {
    const { position } = outline.place;
    return { name, kind: 'apart', reason: 'the log does not have its place', position };
  }
  return attempt(name, () => {
    withReader(disk, name, (reader) => load(reader, outline, loading));
    return start;
  });
}

function attempt<T extends object>(name: string, read: () => T): T | RefusedSnapshot {
  try {
    return read();
  } catch (error) {
    if (error instanceof DiskError) return { name, kind: 'unreadable', reason: error.message };
    if (!(error instanceof SnapshotDamageError)) throw error;
    const kind = error.isLater ? 'unreadable' : 'damaged';
    return { name, kind, reason: `${error.reason}, at position ${error.position}` };
  }
}

function load(reader: SegmentReader, outline: SnapshotOutline, loading: SnapshotLoading): void {
  const sink = loading.begin(outline.place, outline.tables);
  try {
    readSnapshot(reader, outline, (block) => sink.take(block), sink.skipDerived?.bind(sink));
    commit(reader, sink);
  } catch (error) {
    sink.abandon();
    throw error;
  }
}

function commit(reader: SegmentReader, sink: SnapshotSink): void {
  try {
    sink.commit();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const text = `its content makes no sense: ${reason}`;
    throw new SnapshotDamageError(text, reader.name, reader.size, { cause });
  }
}

/**
 * Where in the log the place of a snapshot is: `undefined` if the log does not have it, or has
 * other records before it.
 */
export function placeInLog(
  disk: Disk,
  segments: readonly string[],
  lineage: Lineage,
  found: SnapshotPlace,
): SnapshotStart | undefined {
  const isThere = segments.some((name) => segmentSequence(name) === found.segment);
  const segment = isThere ? found.segment : segmentBehind(disk, segments, found);
  const place = { ...found, segment };
  const index = segments.findIndex((name) => segmentSequence(name) === segment);
  const name = segments[index];
  const stage = lineage.stageOf(place.segment);
  const isWithin = stage.end === undefined || place.position <= stage.end.position;
  if (name === undefined || !isWithin) return undefined;
  return withReader(disk, name, (reader) => {
    const reading = readSegmentHeader(reader.header());
    if (reading.kind !== 'valid') return undefined;
    const { header } = reading;
    const isOurs =
      header.databaseIdentity === stage.databaseIdentity &&
      header.databaseIdentity === place.databaseIdentity &&
      header.epoch === place.epoch &&
      header.epoch === (stage.epoch ?? header.epoch);
    const filePosition = segmentHeaderBytes + place.position - header.position;
    if (!isOurs || filePosition < segmentHeaderBytes || header.sequence !== place.segment) {
      return undefined;
    }
    const found = way(reader, filePosition, header, place);
    if (found === 'none') return undefined;
    return { place, index, filePosition, damagedAt: found === 'whole' ? undefined : found };
  });
}

/**
 * Sequence number of the segment in which the log goes on behind a snapshot: the one that the
 * snapshot names, or, if that was sealed at its place, the next one. That begins with the chain
 * hash of the place, so nothing before it is needed.
 */
export function segmentBehind(
  disk: Disk,
  segments: readonly string[],
  place: SnapshotPlace,
): number {
  const name = segments.find((one) => segmentSequence(one) === place.segment + 1);
  if (name === undefined || segmentFirstOffset(name) !== place.offset + 1) return place.segment;
  return withReader(disk, name, (reader) => {
    const reading = readSegmentHeader(reader.header());
    if (reading.kind !== 'valid') return place.segment;
    const { header } = reading;
    const isBehind =
      header.sequence === place.segment + 1 &&
      header.databaseIdentity === place.databaseIdentity &&
      header.epoch === place.epoch &&
      header.position === place.position &&
      isSameChain(header, place);
    return isBehind ? header.sequence : place.segment;
  });
}

/**
 * Whether the records of the segment lead to the place. If some of them are damaged, the record
 * behind the place can say so instead, unless there are records of another history; then returns
 * where the damage is.
 */
function way(
  reader: SegmentReader,
  end: number,
  header: SegmentHeader,
  place: SnapshotPlace,
): 'whole' | 'none' | number {
  let { chainLow, chainHigh } = header;
  let offset = header.firstOffset - 1;
  let position = segmentHeaderBytes;
  while (position < end) {
    if (reader.read(position, header.salt) !== 'record') {
      const base = header.position - segmentHeaderBytes;
      const found = { position: base + position, offset, chainLow, chainHigh };
      const isKnown = isFollowed(reader, end, header, place) && !isForked(reader, header, found);
      return isKnown ? position : 'none';
    }
    if (!isSameChain(previousOf(reader), { chainLow, chainHigh })) return 'none';
    chainLow = reader.hash.chainLow;
    chainHigh = reader.hash.chainHigh;
    offset = reader.offset;
    position += reader.length;
  }
  const isThere = position === end && offset === place.offset;
  return isThere && isSameChain({ chainLow, chainHigh }, place) ? 'whole' : 'none';
}

/** Whether the record at a position says that it follows the place. */
function isFollowed(
  reader: SegmentReader,
  position: number,
  { salt }: SegmentHeader,
  place: SnapshotPlace,
): boolean {
  if (reader.read(position, salt) !== 'record') return false;
  const isCommit = isCommitKind(reader.kind);
  const before = reader.offset - (isCommit ? 1 : 0);
  return before === place.offset && isSameChain(previousOf(reader), place);
}

/** Whether records behind the last whole one, which ends at `end`, belong to another history. */
function isForked(reader: SegmentReader, header: SegmentHeader, end: HistoryPoint): boolean {
  const base = header.position - segmentHeaderBytes;
  const position = end.position - base;
  const place = { file: reader.name, position, offset: end.offset + 1 };
  const search = new EvidenceSearch(header.salt, end, place);
  search.look(reader, position + 8, base);
  return search.fork !== undefined;
}

function previousOf({ previousLow, previousHigh }: SegmentReader) {
  return { chainLow: previousLow, chainHigh: previousHigh };
}
