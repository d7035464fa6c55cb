import { pointBefore } from '../../backup/log-source.ts';
import type { LineagePoint, LogPoint } from '../../backup/manifest.ts';
import { laterMicros } from '../../log/commit-time.ts';
import { acceptedMicrosOf, decodeRecord } from '../../log/decode-record.ts';
import type { Disk } from '../../log/disk.ts';
import { chainToHex } from '../../log/history-point.ts';
import { readOrigin } from '../../log/origin.ts';
import { isCommitKind, isCommitRecord } from '../../log/record.ts';
import { readSegmentHeader, type SegmentHeader, segmentHeaderBytes } from '../../log/segment.ts';
import { type SegmentReader, segmentNames, withReader } from '../../log/segment-reader.ts';
import { readSnapshotHeader, snapshotOffset } from '../../log/snapshot.ts';
import { bigintToHex } from '../../values/hex.ts';

/** How far the log in a directory can be read. */
export interface LogEnd extends LineagePoint {
  /** Why it is not the end of all that is there; empty if it is. */
  readonly fault: string;
}

/** The places at which the log left earlier histories, as a backup names them. */
export function lineageOf(disk: Disk): LineagePoint[] {
  const places = readOrigin(disk)?.lineage ?? [];
  return places.map((place) => ({
    identity: bigintToHex(place.databaseIdentity, 64),
    epoch: bigintToHex(place.epoch, 16),
    sequence: place.sequence,
    offset: place.offset,
    position: place.position,
    chain: chainToHex(place),
    micros: Number(place.micros),
  }));
}

/**
 * Finds the end of a log by its files: of one that nobody has open, or that cannot be opened. Reads
 * it from the newest snapshot on; what is torn at its end, or damaged, ends it. `undefined`: there
 * is no segment.
 */
export function findLogEnd(disk: Disk): LogEnd | undefined {
  return endFrom(disk, newestStart(disk), Number.POSITIVE_INFINITY);
}

/** The place behind a commit that a log has, wherever it goes on; reads its segment alone. */
export function findPlace(disk: Disk, offset: number): LogEnd | undefined {
  let sequence = 0;
  for (const name of segmentNames(disk)) {
    const header = withReader(disk, name, headerOf);
    if (header === undefined || pointBefore(header).offset >= Math.max(offset, 1)) break;
    sequence = header.sequence;
  }
  const end = endFrom(disk, sequence, offset);
  return end?.offset === offset ? end : undefined;
}

function endFrom(disk: Disk, first: number, upTo: number): LogEnd | undefined {
  const lineage = lineageOf(disk);
  let end: LogEnd | undefined;
  let fault = '';
  for (const name of segmentNames(disk)) {
    const header = withReader(disk, name, headerOf);
    if (header === undefined || header.sequence < first) continue;
    const from = pointBefore(header);
    if (end !== undefined && (end.position !== from.position || end.chain !== from.chain)) {
      fault = `the log cannot be read behind offset ${end.offset}, before ${name}`;
      break;
    }
    const stage = lineage.find(({ sequence }) => sequence === header.sequence);
    const isCut = stage !== undefined && stage.offset <= upTo;
    const bound = isCut ? { ...stage, fault: '' } : undefined;
    const micros = Math.max(from.micros, end?.micros ?? 0);
    end = bound ?? withReader(disk, name, (reader) => endIn(reader, header, { upTo, micros }));
    if (end.offset >= upTo) break;
  }
  return end === undefined ? undefined : { ...end, fault };
}

/** The segment in which the log behind the newest snapshot begins. */
function newestStart(disk: Disk): number {
  const found = disk.list().flatMap((name) => {
    if (snapshotOffset(name) === undefined) return [];
    const reading = withReader(disk, name, (reader) => readSnapshotHeader(reader.header()));
    return reading.kind === 'valid' ? [reading.header.place.segment] : [];
  });
  return Math.max(0, ...found);
}

function headerOf(reader: SegmentReader): SegmentHeader | undefined {
  const reading = readSegmentHeader(reader.header());
  return reading.kind === 'valid' ? reading.header : undefined;
}

/** The place behind the last record of a segment. */
function endIn(
  reader: SegmentReader,
  header: SegmentHeader,
  { upTo, micros: before }: { readonly upTo: number; readonly micros: number },
): LogEnd {
  let { chainLow, chainHigh } = header;
  let { offset }: Pick<LogPoint, 'offset'> = pointBefore(header);
  let micros = before;
  let at = segmentHeaderBytes;
  while (offset < upTo && reader.read(at, header.salt) === 'record') {
    if (reader.previousLow !== chainLow || reader.previousHigh !== chainHigh) break;
    const { kind, bytes, payloadStart, payloadEnd } = reader;
    const isCommit = isCommitKind(kind);
    if (reader.offset !== offset + (isCommit ? 1 : 0)) break;
    const record = decodeRecord(kind, reader.offset, bytes, payloadStart, payloadEnd);
    if (record !== undefined && isCommitRecord(record)) {
      micros = laterMicros(micros, acceptedMicrosOf(record.inputs));
    }
    offset = reader.offset;
    chainLow = reader.hash.chainLow;
    chainHigh = reader.hash.chainHigh;
    at += reader.length;
  }
  return {
    identity: bigintToHex(header.databaseIdentity, 64),
    epoch: bigintToHex(header.epoch, 16),
    sequence: header.sequence,
    offset,
    position: header.position + at - segmentHeaderBytes,
    chain: chainToHex({ chainLow, chainHigh }),
    micros,
    fault: '',
  };
}
