import { assert } from '../assert.ts';
import { chainOf, type LogPoint } from '../log/log-point.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import { segmentHeaderBytes } from '../log/segment.ts';
import { recordLengths } from './check-records.ts';
import { type EntryKind, entryKinds } from './entry.ts';

/** An entry to be made of records: what is in it, and where the log is before and after. */
export interface RecordsDraft {
  readonly kind: EntryKind;
  readonly payload: Uint8Array;
  readonly startsSegment: boolean;
  readonly from: LogPoint;
  readonly end: LogPoint;
}

export function writeBytes({ records, segment }: LogWrite): number {
  return records.length + (segment?.length ?? 0);
}

/**
 * The entries for writes that follow each other from `from` on, each with at most `bytesMax` bytes
 * of payload. Writes share an entry when they fit; one that begins a segment begins an entry; one
 * that does not fit is split between records, and a record that does not fit goes in parts.
 */
export function draftsOf(
  writes: readonly LogWrite[],
  from: LogPoint,
  bytesMax: number,
): RecordsDraft[] {
  const drafts: RecordsDraft[] = [];
  let gathered: LogWrite[] = [];
  let bytes = 0;
  let at = from;
  const close = (): void => {
    if (gathered.length === 0) return;
    drafts.push(draftOf(gathered, at));
    at = (gathered.at(-1) as LogWrite).end;
    gathered = [];
    bytes = 0;
  };
  for (const write of writes.flatMap((one, index) => {
    return split(one, writes[index - 1]?.end ?? from, bytesMax);
  })) {
    const length = writeBytes(write);
    if (bytes + length > bytesMax || write.segment !== undefined) close();
    gathered.push(write);
    bytes += length;
    if (length > bytesMax) {
      drafts.push(...partsOf(draftOf(gathered, at), bytesMax));
      at = write.end;
      gathered = [];
      bytes = 0;
    }
  }
  close();
  return drafts;
}

function draftOf(writes: readonly LogWrite[], from: LogPoint): RecordsDraft {
  const { segment } = writes[0] as LogWrite;
  const pieces = writes.map(({ records }) => records);
  if (segment !== undefined) pieces.unshift(segment);
  return {
    kind: entryKinds.records,
    payload: joined(pieces),
    startsSegment: segment !== undefined,
    from,
    end: (writes.at(-1) as LogWrite).end,
  };
}

/** Writes of at most `bytesMax`, or of one record. */
function split(write: LogWrite, from: LogPoint, bytesMax: number): LogWrite[] {
  const { records, segment, end } = write;
  if (writeBytes(write) <= bytesMax) return [write];
  const pieces: LogWrite[] = [];
  let start = 0;
  let stop = 0;
  let offset = from.offset;
  const cut = (): void => {
    if (stop === start) return;
    const bytes = records.subarray(start, stop);
    const first = pieces.length === 0 ? segment : undefined;
    const place = stop === records.length ? end : pointBefore(records, stop, { from, offset });
    pieces.push({ records: bytes, end: place, segment: first });
    start = stop;
  };
  for (const length of recordLengths(records)) {
    const head = pieces.length === 0 && segment !== undefined ? segmentHeaderBytes : 0;
    if (head + stop + length - start > bytesMax) cut();
    offset = offsetOf(records, stop);
    stop += length;
  }
  cut();
  return pieces;
}

/** The point in front of the record at `at`, which holds the chain hash of all before it. */
function pointBefore(
  records: Uint8Array,
  at: number,
  { from, offset }: { readonly from: LogPoint; readonly offset: number },
): LogPoint {
  const view = new DataView(records.buffer, records.byteOffset + at, 32);
  const chain = chainOf(view.getInt32(24, true), view.getInt32(28, true));
  return { position: from.position + at, chain, offset };
}

function offsetOf(records: Uint8Array, at: number): number {
  const view = new DataView(records.buffer, records.byteOffset + at, 16);
  return view.getUint32(8, true) + (view.getUint32(12, true) & 0xff_ffff) * 0x1_0000_0000;
}

function partsOf(draft: RecordsDraft, bytesMax: number): RecordsDraft[] {
  const { payload, from, end } = draft;
  const parts: RecordsDraft[] = [];
  for (let at = 0; at < payload.length; at += bytesMax) {
    const isLast = at + bytesMax >= payload.length;
    parts.push({
      ...draft,
      kind: isLast ? entryKinds.lastPart : entryKinds.part,
      payload: payload.subarray(at, at + bytesMax),
      end: isLast ? end : from,
    });
  }
  return parts;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  assert(at === length, 'pieces have their lengths');
  return bytes;
}
