import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { decodeInputs } from './decode-record.ts';
import { type Disk, tryToRemove } from './disk.ts';
import { DurableMark } from './durable-mark.ts';
import { sizeOf } from './file-size.ts';
import { freeName } from './free-name.ts';
import { filePosition, LogPlaces, type PlacedSegment } from './log-places.ts';
import type { LogPoint } from './log-point.ts';
import { isCommitRecord } from './record.ts';
import { recordsIn } from './records-in.ts';
import { SegmentReader, segmentNames, withReader } from './segment-reader.ts';
import { snapshotOffset } from './snapshot.ts';
import { snapshotNames } from './snapshot-start.ts';

/** What was cut off a log and kept. */
export interface AsideRecords {
  readonly files: readonly string[];
  /** Of the commits in them; `last` is below `first` if there are none. */
  readonly firstOffset: number;
  readonly lastOffset: number;
  /** Names of reducers of these commits, each once, as many as a line takes. */
  readonly reducers: readonly string[];
}

/** What a copy had, and the shared log did not, since its actor began. */
export interface AsideCounts {
  /** Commits that were never acknowledged. */
  readonly commits: number;
  /** Bytes of files of local logs that could not be read, and come again from the shared one. */
  readonly refetchedBytes: number;
}

/**
 * Cuts everything behind `point` off a log that nobody has open: a copy of it is durable, beside
 * its segment, before anything changes. `end` is where the log ends. A crash at any moment leaves a
 * log that ends at `point`, or behind it; then all of this can be done again.
 */
export async function setAside(
  disk: Disk,
  salt: number,
  point: LogPoint,
  end: LogPoint,
): Promise<AsideRecords> {
  const places = new LogPlaces(disk, salt);
  try {
    const found = places.segmentOf(point.position);
    // A segment that begins there goes, too: that it does may be known to nobody else.
    const before = (sequence: number) =>
      places.segments().find(({ header }) => header.sequence === sequence - 1);
    const isBegun = found?.header.position === point.position;
    const last = isBegun ? (before(found.header.sequence) ?? found) : found;
    if (last === undefined) throw new Error(`the log begins behind position ${point.position}`);
    const reducers = reducersBehind(places, point, end);
    const later = places.segments().filter(({ header }) => header.sequence > last.header.sequence);
    places.close();
    disk.checkWriter?.(true);
    const files = await keep(disk, [last, ...later], point, end);
    await takeBackMark(disk, salt, point);
    for (const { name } of later.toReversed()) disk.remove(name);
    for (const name of snapshotNames(disk)) {
      if (Number(snapshotOffset(name)) > point.offset) disk.remove(name);
    }
    await cut(disk, last.name, filePosition(last.header, point.position));
    return { files, firstOffset: point.offset + 1, lastOffset: end.offset, reducers };
  } finally {
    places.close();
  }
}

/**
 * Has nothing of a log that cannot be read any more, but keeps what is there: its files get other
 * names. Returns these, and how many bytes the files have together.
 */
export async function setAllAside(
  disk: Disk,
): Promise<{ readonly files: readonly string[]; readonly bytes: number }> {
  const names = [...segmentNames(disk), ...snapshotNames(disk)];
  const files: string[] = [];
  let bytes = 0;
  for (const name of names) {
    const kept = freeName(disk, name, 'deposed');
    bytes += sizeOf(disk, name);
    disk.rename(name, kept);
    files.push(kept);
  }
  tryToRemove(disk, 'durable');
  await disk.syncDirectory();
  return { files, bytes };
}

/** Copies what is behind the point to files of their own, durably. */
async function keep(
  disk: Disk,
  segments: readonly PlacedSegment[],
  point: LogPoint,
  end: LogPoint,
): Promise<string[]> {
  const files: string[] = [];
  for (const [at, { name, header }] of segments.entries()) {
    const start = at === 0 ? filePosition(header, point.position) : 0;
    const stop = filePosition(header, segments[at + 1]?.header.position ?? end.position);
    if (stop > start) files.push(await copyOf(disk, name, start, stop));
  }
  await disk.syncDirectory();
  return files;
}

async function copyOf(disk: Disk, name: string, start: number, end: number): Promise<string> {
  const pieces = withReader(disk, name, (reader) => [...reader.pieces(start, end)]);
  const kept = freeName(disk, name, 'deposed');
  const file = disk.open(kept, 'create');
  try {
    let at = 0;
    for (const piece of pieces) {
      file.write(piece, at);
      at += piece.length;
    }
    await file.sync();
    return kept;
  } catch (error) {
    tryToRemove(disk, kept);
    throw error;
  } finally {
    file.close();
  }
}

/** The mark must not say that something was durable which is cut off. */
async function takeBackMark(disk: Disk, salt: number, point: LogPoint): Promise<void> {
  if (!disk.isLasting) return;
  const mark = await DurableMark.open(disk, salt, point);
  mark.close();
  await disk.syncDirectory();
}

async function cut(disk: Disk, name: string, end: number): Promise<void> {
  const file = disk.open(name, 'existing');
  try {
    assert(new SegmentReader(file).size >= end, 'a log is cut where it has records');
    file.truncate(end);
    await file.sync();
  } finally {
    file.close();
  }
  await disk.syncDirectory();
}

function reducersBehind(places: LogPlaces, point: LogPoint, end: LogPoint): string[] {
  const names = new Set<string>();
  for (const { records } of places.writes(point, end)) {
    for (const record of recordsIn(records)) {
      if (names.size >= limits.asideReducersMax) return [...names];
      if (!isCommitRecord(record)) continue;
      const { reducer } = decodeInputs(record.inputs);
      if (reducer !== '') names.add(reducer);
    }
  }
  return [...names];
}
