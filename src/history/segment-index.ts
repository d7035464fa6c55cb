import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { Disk } from '../log/disk.ts';
import { chainToHex } from '../log/history-point.ts';
import { recordHeaderBytes } from '../log/record.ts';
import { RecordBuffer } from '../log/record-buffer.ts';
import { isPacked, plainName, type SegmentHeader } from '../log/segment.ts';
import { withReader } from '../log/segment-reader.ts';
import { type TableId, tableId } from '../schema/ids.ts';
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { bigintToHex } from '../values/hex.ts';
import { type KeyFilter, mayHave } from './key-filter.ts';

/**
 * The index of a sealed segment: where its commits are, by offset and time, and which rows it may
 * have. It is derived from the segment, and built again when it is missing or damaged. The file is
 * one record (`log/record.ts`) of a kind of its own: its checksum begins with the salt of the
 * segment, its chain hash is the one before the segment, so the index of another segment never
 * fits. `docs/format/segment-index.md` has the bytes.
 */
export interface SegmentIndex {
  readonly sequence: number;
  readonly firstOffset: number;
  /** `firstOffset - 1` if the segment has no commit. */
  readonly lastOffset: number;
  /** T of its first and of its last commit; without one, of the commit before. */
  readonly firstMicros: bigint;
  readonly lastMicros: bigint;
  /** Log position before its first record, and behind its last. */
  readonly position: number;
  readonly endPosition: number;
  /** Chain hash there: that of the next segment's header, for which the index holds. */
  readonly endChain: string;
  /** The first record at or behind each step of so many bytes of the file. */
  readonly entries: readonly IndexEntry[];
  /** Rows that came and went, by table; the lowest id first. */
  readonly tables: readonly IndexedTable[];
  /** Where it has new programs. */
  readonly schemas: readonly IndexEntry[];
  /** Where each packed piece begins in the packed file; empty if the segment is not packed. */
  readonly members: readonly number[];
  readonly keys: KeyFilter;
}

/** A place in a segment. */
export interface IndexEntry {
  /** Of the commit there, or of the last one before it. */
  readonly offset: number;
  /** T of that commit. */
  readonly micros: bigint;
  /** Position in the file of the segment, as it is when it is not packed. */
  readonly filePosition: number;
}

export interface IndexedTable {
  readonly tableId: TableId;
  readonly inserted: number;
  readonly deleted: number;
}

export type IndexReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'valid'; readonly index: SegmentIndex }
  /** Of a segment to which records were added since, or from which some were cut off. */
  | { readonly kind: 'outdated' }
  | { readonly kind: 'damaged'; readonly reason: string };

/** The name of the index of a segment, packed or not. */
export function indexName(segment: string): string {
  return `${plainName(segment).slice(0, -'.log'.length)}.idx`;
}

/** Names of indexes, and of unfinished ones. */
export const indexNames = /^commit-\d{8}-\d{16}\.idx$/;
export const indexParts = /^commit-\d{8}-\d{16}\.idx\.part$/;

/**
 * False if the segment surely has no change of a row: of the one with this primary key, encoded, or
 * in a table without primary key, of this row.
 */
export function mayHaveRow(index: SegmentIndex, id: TableId, key: Uint8Array): boolean {
  return index.tables.some((table) => table.tableId === id) && mayHave(index.keys, id, key);
}

/** The bytes of the file. */
export function encodeIndex(index: SegmentIndex, header: SegmentHeader): Uint8Array {
  const writer = new BinaryWriter();
  writer.raw(magic);
  writer.u32(version);
  writer.u32(index.members.length === 0 ? codecs.none : codecs.gzip);
  for (const number of [index.sequence, index.firstOffset, index.lastOffset]) {
    writer.u64(BigInt(number));
  }
  writer.i64(index.firstMicros);
  writer.i64(index.lastMicros);
  writer.u64(BigInt(index.position));
  writer.u64(BigInt(index.endPosition));
  writer.u64(BigInt(`0x${index.endChain}`));
  writeEntries(writer, index.entries);
  writeEntries(writer, index.schemas);
  writer.u32(index.tables.length);
  for (const table of index.tables) {
    writer.u32(table.tableId);
    writer.u64(BigInt(table.inserted));
    writer.u64(BigInt(table.deleted));
  }
  writer.u32(index.members.length);
  for (const member of index.members) writer.u32(member);
  writer.u32(index.keys.length);
  writer.raw(index.keys);
  const payload = writer.view();
  const buffer = new RecordBuffer(header.chainLow, header.chainHigh);
  buffer.begin(payload.length);
  buffer.raw(payload);
  buffer.end({ kind: indexKind, offset: 0, durablePosition: 0, salt: header.salt });
  const bytes = buffer.bytes().slice();
  assert(bytes.length <= limits.segmentIndexBytesMax, `an index of ${bytes.length} bytes`);
  return bytes;
}

/** Bytes that the filter of keys may take beside the rest of an index. */
export function keyBytesMax(index: Omit<SegmentIndex, 'keys'>): number {
  const entries = index.entries.length + index.schemas.length;
  const lists = 20 * (entries + index.tables.length) + 4 * index.members.length;
  return Math.max(limits.segmentIndexBytesMax - lists - fixedBytes, 0);
}

/** Reads the index beside a segment, given its header and that of the next one. */
export function readIndex(
  disk: Disk,
  segment: string,
  header: SegmentHeader,
  next: SegmentHeader,
): IndexReading {
  const name = indexName(segment);
  if (!disk.list().includes(name)) return { kind: 'absent' };
  return withReader(disk, name, (reader): IndexReading => {
    if (reader.size < recordHeaderBytes || reader.size % 8 !== 0) {
      return { kind: 'damaged', reason: 'it has not the length of an index' };
    }
    if (reader.read(0, header.salt) !== 'record') {
      return { kind: 'damaged', reason: reader.reason || 'it is blank' };
    }
    const { kind, length, previousLow, previousHigh, bytes, payloadStart, payloadEnd } = reader;
    const before = { chainLow: previousLow, chainHigh: previousHigh };
    const isOurs = kind === indexKind && length === reader.size;
    if (!isOurs || chainToHex(before) !== chainToHex(header)) {
      return { kind: 'damaged', reason: 'it is that of another segment' };
    }
    try {
      const index = decodeIndex(bytes.subarray(payloadStart, payloadEnd));
      const isSame = index.sequence === header.sequence && index.position === header.position;
      if (!isSame) return { kind: 'damaged', reason: 'it is that of another segment' };
      const isEnd = index.endPosition === next.position && index.endChain === chainToHex(next);
      return isEnd ? { kind: 'valid', index } : { kind: 'outdated' };
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      return { kind: 'damaged', reason: error.message };
    }
  });
}

/** Whether an index says in which form its segment is. */
export function fitsForm(index: SegmentIndex, segment: string): boolean {
  return index.members.length > 0 === isPacked(segment);
}

function decodeIndex(payload: Uint8Array): SegmentIndex {
  const reader = new BinaryReader(payload);
  const isMagic = magic.every((byte) => reader.u8() === byte);
  const found = reader.u32();
  if (!isMagic || found !== version) throw new DecodeError(`it has version ${found}, not 1`);
  const codec = reader.u32();
  const number = (): number => Number(reader.u64());
  const [sequence, firstOffset, lastOffset] = [number(), number(), number()];
  const [firstMicros, lastMicros] = [reader.i64(), reader.i64()];
  const [position, endPosition] = [number(), number()];
  const endChain = bigintToHex(reader.u64(), 16);
  const entries = readEntries(reader);
  const schemas = readEntries(reader);
  const tables = Array.from({ length: reader.u32() }, () => {
    return { tableId: tableId(reader.u32()), inserted: number(), deleted: number() };
  });
  const members = Array.from({ length: reader.u32() }, () => reader.u32());
  const keys = reader.raw(reader.u32()).slice();
  const isKnown = codec === (members.length === 0 ? codecs.none : codecs.gzip);
  if (!isKnown) throw new DecodeError(`it has the codec ${codec}, which is not known`);
  const places = { sequence, firstOffset, lastOffset, firstMicros, lastMicros };
  return { ...places, position, endPosition, endChain, entries, schemas, tables, members, keys };
}

function writeEntries(writer: BinaryWriter, entries: readonly IndexEntry[]): void {
  writer.u32(entries.length);
  for (const { offset, micros, filePosition } of entries) {
    writer.u64(BigInt(offset));
    writer.i64(micros);
    writer.u32(filePosition);
  }
}

function readEntries(reader: BinaryReader): IndexEntry[] {
  return Array.from({ length: reader.u32() }, () => {
    const offset = Number(reader.u64());
    return { offset, micros: reader.i64(), filePosition: reader.u32() };
  });
}

const magic = new TextEncoder().encode('RDB-IDX\n');
const version = 1;
/** Not a kind of record, nor of block. */
const indexKind = 8;
const codecs = { none: 0, gzip: 1 } as const;
/** Everything in an index but its lists, with the frame, rounded up. */
const fixedBytes = 192;
