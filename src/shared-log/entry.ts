import { assert } from '../assert.ts';
import { crc32c } from '../log/checksum.ts';
import { type BootId, bootId } from './host-ids.ts';

/**
 * One entry of a shared log, as it lies in the engine. Little-endian; `docs/format/entry.md` has
 * examples.
 *
 * ```
 *  0  u32   magic, "RDBE"
 *  4  u16   version, 1
 *  6  u8    kind (`entryKinds`)
 *  7  u8    flags: 1 if the payload is compressed, 2 if it begins with the header of a segment
 *  8  u64   seq, from 0, dense
 * 16  u64   term of the writer; of an entry of kind term, the one that it begins
 * 24  u128  boot of the writer
 * 40  u64   log position before the payload
 * 48  u64   chain hash there
 * 56  u64   offset of the last commit after the payload
 * 64  u64   chain hash after the payload
 * 72  u64   acknowledged offset when the entry was made
 * 80  u32   bytes of the payload
 * 84  u32   CRC-32C of the payload
 * 88  u32   zero
 * 92  u32   CRC-32C of bytes 0 to 91
 * 96  …     payload
 * ```
 */
export const entryHeaderBytes = 96;

export const entryKinds = {
  /** Whole records of the commit log. */
  records: 0,
  /** A term begins: who leads from here on. */
  term: 1,
  /** Nothing; being stored settles everything before it. */
  empty: 2,
  /** A part of one record, and its last part. */
  part: 3,
  lastPart: 4,
  /** Nothing follows in this log. */
  end: 5,
  /** Entry 0: what every host makes its local log with. */
  beginning: 6,
  /** Nothing; all that a host needs to read on from here, when what is before was removed. */
  restart: 7,
} as const;

export type EntryKind = (typeof entryKinds)[keyof typeof entryKinds];

export interface EntryHeader {
  readonly kind: EntryKind;
  readonly seq: number;
  readonly term: number;
  readonly boot: BootId;
  /** Log position and chain hash before the payload. */
  readonly position: number;
  readonly chain: bigint;
  /** Offset of the last commit, and the chain hash, after it. */
  readonly offset: number;
  readonly chainAfter: bigint;
  /** Largest offset that was acknowledged when the entry was made. */
  readonly acknowledged: number;
  /** True if the payload begins with the header of a segment, in front of its records. */
  readonly startsSegment: boolean;
}

export interface Entry extends EntryHeader {
  readonly payload: Uint8Array;
}

export function encodeEntry(entry: Entry): Uint8Array {
  const { payload } = entry;
  const bytes = new Uint8Array(entryHeaderBytes + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, magic, true);
  view.setUint16(4, entryVersion, true);
  bytes[6] = entry.kind;
  bytes[7] = entry.startsSegment ? segmentFlag : 0;
  setNumber(view, 8, entry.seq);
  setNumber(view, 16, entry.term);
  view.setBigUint64(24, BigInt.asUintN(64, entry.boot), true);
  view.setBigUint64(32, entry.boot >> 64n, true);
  setNumber(view, 40, entry.position);
  view.setBigUint64(48, entry.chain, true);
  setNumber(view, 56, entry.offset);
  view.setBigUint64(64, entry.chainAfter, true);
  setNumber(view, 72, entry.acknowledged);
  view.setUint32(80, payload.length, true);
  view.setUint32(84, crc32c(payload), true);
  view.setUint32(92, crc32c(bytes, 0, 92), true);
  bytes.set(payload, entryHeaderBytes);
  return bytes;
}

export type EntryReading =
  | { readonly kind: 'valid'; readonly entry: Entry }
  /** Written by a later program: whole, but not readable here; `what` it has. */
  | { readonly kind: 'later'; readonly what: string }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Reads one entry. Its payload is a view of `bytes`. */
export function decodeEntry(bytes: Uint8Array): EntryReading {
  if (bytes.length < entryHeaderBytes) return invalid(`it has only ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.getUint32(0, true) !== magic) return invalid('it does not begin as an entry');
  if (view.getUint32(92, true) !== crc32c(bytes, 0, 92)) {
    return invalid('the checksum of its header does not match');
  }
  const payload = bytes.subarray(entryHeaderBytes);
  if (view.getUint32(80, true) !== payload.length) {
    return invalid(`it has ${payload.length} bytes of payload, not ${view.getUint32(80, true)}`);
  }
  if (view.getUint32(84, true) !== crc32c(payload)) {
    return invalid('the checksum of its payload does not match');
  }
  const later = laterThanKnown(view);
  if (later !== undefined) return { kind: 'later', what: later };
  const numbers = [8, 16, 40, 56, 72].map((at) => view.getBigUint64(at, true));
  if (numbers.some((number) => number > largestNumber)) return invalid('a number is too large');
  const [seq = 0, term = 0, position = 0, offset = 0, acknowledged = 0] = numbers.map(Number);
  const entry = {
    kind: view.getUint8(6) as EntryKind,
    seq,
    term,
    boot: bootId((view.getBigUint64(32, true) << 64n) | view.getBigUint64(24, true)),
    position,
    chain: view.getBigUint64(48, true),
    offset,
    chainAfter: view.getBigUint64(64, true),
    acknowledged,
    startsSegment: (view.getUint8(7) & segmentFlag) !== 0,
    payload,
  };
  return { kind: 'valid', entry };
}

/** Whether both, whole or their headers alone, are of one entry: a header binds its payload. */
export function isSameEntry(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length < entryHeaderBytes || other.length < entryHeaderBytes) return false;
  for (let at = 0; at < entryHeaderBytes; at++) if (one[at] !== other[at]) return false;
  return true;
}

function laterThanKnown(view: DataView): string | undefined {
  const found = view.getUint16(4, true);
  if (found !== entryVersion) return `version ${found}`;
  const kind = view.getUint8(6);
  if (kind > entryKinds.restart) return `the kind ${kind}`;
  const flags = view.getUint8(7);
  if ((flags & ~segmentFlag) !== 0) return `the flags ${flags}`;
  return undefined;
}

function setNumber(view: DataView, at: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, `no number of an entry: ${value}`);
  view.setBigUint64(at, BigInt(value), true);
}

function invalid(reason: string): EntryReading {
  return { kind: 'invalid', reason };
}

/** The version of entries that is written, and the only one that is read so far. */
/**
 * The format of entries that a host announces which also reads those from which a log can be read
 * on (kind 7). None is written before all hosts announce it.
 */
export const restartFormat = 2;
export const entryVersion = 1;
const segmentFlag = 2;
/** "RDBE", as a little-endian number. */
const magic = 0x45424452;
const largestNumber = BigInt(Number.MAX_SAFE_INTEGER);
