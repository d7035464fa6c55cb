import { type Disk, DiskError } from '../log/disk.ts';
import { readDurableMark } from '../log/durable-mark.ts';
import { type FloorReading, readFloor } from '../log/floor.ts';
import { Lineage, readOrigin } from '../log/origin.ts';
import {
  isPacked,
  readSegmentHeader,
  type SegmentHeader,
  segmentFirstOffset,
  segmentSequence,
} from '../log/segment.ts';
import { segmentNames, withReader } from '../log/segment-reader.ts';
import { type SnapshotPlace, snapshotOffset } from '../log/snapshot.ts';
import { readOutline } from '../log/snapshot-reader.ts';
import { segmentBehind } from '../log/snapshot-start.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { HistoryFiles, SegmentFacts, SnapshotFacts } from './retention.ts';
import { indexName } from './segment-index.ts';

/** What a directory holds of the history of a database. */
export interface FoundFiles extends HistoryFiles {
  readonly segments: readonly FoundSegment[];
  readonly snapshots: readonly FoundSnapshot[];
  /** Snapshots that a start would not use; it sets them aside. */
  readonly useless: readonly string[];
  readonly floor: FloorReading;
  readonly lineage: Lineage;
  /** Bytes of every file. */
  readonly sizes: ReadonlyMap<string, number>;
}

export interface FoundSegment extends SegmentFacts {
  readonly isPacked: boolean;
}

export interface FoundSnapshot extends SnapshotFacts {
  readonly place: SnapshotPlace;
}

/**
 * Looks at the files of a log and reads the two ends of each snapshot: it takes no time. Throws
 * `LogDamageError` if the file `origin` is damaged.
 */
export function findFiles(disk: Disk, own: DatabaseIdentity): FoundFiles {
  const sizes = sizesOf(disk);
  const lineage = new Lineage(own, readOrigin(disk));
  const segments = segmentNames(disk).map((name): FoundSegment => {
    const index = sizes.get(indexName(name)) ?? 0;
    const bytes = (sizes.get(name) ?? 0) + index;
    const sequence = segmentSequence(name) ?? 0;
    return {
      name,
      sequence,
      firstOffset: segmentFirstOffset(name),
      bytes,
      isPacked: isPacked(name),
    };
  });
  const all = [...sizes.keys()].filter((name) => snapshotOffset(name) !== undefined);
  const names = segments.map(({ name }) => name);
  const snapshots = all.flatMap((name) => {
    const place = placeOf(disk, name, lineage, names);
    if (place === undefined || !segments.some((one) => one.sequence === place.segment)) return [];
    const { offset, position, segment, lastMicros: micros } = place;
    return [{ name, offset, micros, position, segment, bytes: sizes.get(name) ?? 0, place }];
  });
  const useless = all.filter((name) => !snapshots.some((one) => one.name === name));
  const endOffset = endOf(disk, segments, snapshots);
  return { segments, snapshots, useless, endOffset, floor: readFloor(disk), lineage, sizes };
}

/** The header of a segment; `undefined` if it is not valid. Throws `DiskError`. */
export function headerOf(disk: Disk, name: string): SegmentHeader | undefined {
  const reading = withReader(disk, name, (reader) => readSegmentHeader(reader.header()));
  return reading.kind === 'valid' ? reading.header : undefined;
}

function sizesOf(disk: Disk): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const name of disk.list()) {
    const file = disk.open(name, 'read');
    try {
      sizes.set(name, file.size());
    } finally {
      file.close();
    }
  }
  return sizes;
}

/** `undefined`: it is not a snapshot of this log, as far as its ends say. */
function placeOf(
  disk: Disk,
  name: string,
  lineage: Lineage,
  segments: readonly string[],
): SnapshotPlace | undefined {
  try {
    const { place } = withReader(disk, name, (reader) => {
      return readOutline(reader, ...lineage.identities);
    });
    const { end, databaseIdentity } = lineage.stageOf(place.segment);
    const isWithin = end === undefined || place.position <= end.position;
    if (!isWithin || place.databaseIdentity !== databaseIdentity) return undefined;
    return { ...place, segment: segmentBehind(disk, segments, place) };
  } catch (error) {
    if (error instanceof DiskError) throw error;
    return undefined;
  }
}

/** The last commit, as far as it is known without reading the log: within a second of it. */
function endOf(
  disk: Disk,
  segments: readonly SegmentFacts[],
  snapshots: readonly SnapshotFacts[],
): number {
  const mark = readDurableMark(disk);
  const marked = mark.kind === 'valid' ? mark.end.offset : 0;
  const last = (segments.at(-1)?.firstOffset ?? 1) - 1;
  return Math.max(marked, last, snapshots.at(-1)?.offset ?? 0);
}
