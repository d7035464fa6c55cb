import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { crc32c } from './checksum.ts';
import type { DiskFile } from './disk.ts';
import { type Epoch, epoch, epochOfSalt } from './epoch.ts';

/**
 * A segment: one file of the log. Little-endian.
 *
 * ```
 *   0  u8[8] "RDB-LOG" and a line feed
 *   8  u32   version of the format, 2
 *  12  u32   salt: start value of the record checksums; one per log, drawn when it is created
 *  16  u8[32] identity of the database
 *  48  u64   sequence number of this segment, from 1
 *  56  u64   offset of the first commit in it
 *  64  u64   log position of its first record
 *  72  u64   log position up to which everything was durable at its creation
 *  80  u64   chain hash of the record before its first; in the first segment, of the log's birth
 *  88  u64   epoch
 *  96  i64   T of the commit before its first: the latest time of acceptance up to it, microseconds
 * 104  u32   flags: 1 in the first segment behind an origin (`origin.ts`), 2 if a mark of the
 *             durable end was kept beside the log at its creation, 4 if it may have records of
 *             migrations
 * 108  u8[16] zero
 * 124  u32   CRC-32C of bytes 0 to 124
 * 128  …     records, then zeros up to the end of the space reserved
 * ```
 *
 * Its name is `commit-<sequence, 8 digits>-<first offset, 16 digits>.log`: names sort in the order
 * of the log. In version 1, byte 88 is 1 if a mark was kept, and all from 89 on is zero; the epoch
 * of its log is the salt.
 *
 * A segment is created only when the one before has no room, and that one is then cut to its last
 * record.
 */
export const segmentHeaderBytes = 128;

export interface SegmentHeader {
  readonly salt: number;
  readonly databaseIdentity: DatabaseIdentity;
  readonly sequence: number;
  readonly firstOffset: number;
  readonly position: number;
  readonly durablePosition: number;
  readonly chainLow: number;
  readonly chainHigh: number;
  readonly epoch: Epoch;
  /** T of the commit before its first; 0 in version 1, which does not say. */
  readonly lastMicros: bigint;
  /** True if a mark of the durable end is kept beside the log; see `durable-mark.ts`. */
  readonly hasMark: boolean;
  /** True if the log begins with segments of another history, and this is the first of its own. */
  readonly isAfterOrigin: boolean;
  /** True if it may have records of migrations, which earlier versions cannot read. */
  readonly hasRuns: boolean;
}

export function segmentName(sequence: number, firstOffset: number): string {
  return `commit-${String(sequence).padStart(8, '0')}-${String(firstOffset).padStart(16, '0')}.log`;
}

/** What is added to the name of a segment that is packed; see `packed-segment.ts`. */
const packedEnding = '.gz';

/** The sequence number in a segment's name, packed or not; `undefined` for any other file. */
export function segmentSequence(name: string): number | undefined {
  const match = /^commit-(\d{8})-\d{16}\.log(?:\.gz)?$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

/** The offset of the first commit, in the name of a segment. */
export function segmentFirstOffset(name: string): number {
  return Number(/-(\d{16})\.log(?:\.gz)?$/.exec(name)?.[1] ?? 0);
}

export function isPacked(name: string): boolean {
  return name.endsWith(packedEnding);
}

/** The name that a segment has when it is packed. */
export function packedName(name: string): string {
  return `${name}${packedEnding}`;
}

/** The name that a segment has when it is not packed. */
export function plainName(name: string): string {
  return isPacked(name) ? name.slice(0, -packedEnding.length) : name;
}

export function encodeSegmentHeader(header: SegmentHeader): Uint8Array {
  const bytes = new Uint8Array(segmentHeaderBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(magic);
  view.setUint32(8, version, true);
  view.setInt32(12, header.salt, true);
  for (let word = 0; word < 4; word++) {
    const part = BigInt.asUintN(64, header.databaseIdentity >> BigInt(word * 64));
    view.setBigUint64(16 + word * 8, part, true);
  }
  view.setBigUint64(48, BigInt(header.sequence), true);
  view.setBigUint64(56, BigInt(header.firstOffset), true);
  view.setBigUint64(64, BigInt(header.position), true);
  view.setBigUint64(72, BigInt(header.durablePosition), true);
  view.setInt32(80, header.chainLow, true);
  view.setInt32(84, header.chainHigh, true);
  view.setBigUint64(88, header.epoch, true);
  view.setBigInt64(96, header.lastMicros, true);
  view.setUint32(104, flagsOf(header), true);
  view.setUint32(124, crc32c(bytes, 0, 124), true);
  return bytes;
}

function flagsOf({ hasMark, isAfterOrigin, hasRuns }: SegmentHeader): number {
  return (isAfterOrigin ? originFlag : 0) | (hasMark ? markFlag : 0) | (hasRuns ? runFlag : 0);
}

export type HeaderReading =
  | { readonly kind: 'valid'; readonly header: SegmentHeader }
  /** Written by a newer program: valid, but not readable here; `what` it has. */
  | { readonly kind: 'later'; readonly what: string }
  | { readonly kind: 'invalid' };

/** Reads the header at the start of `bytes`, which may be short. */
export function readSegmentHeader(bytes: Uint8Array): HeaderReading {
  if (bytes.length < segmentHeaderBytes) return { kind: 'invalid' };
  if (magic.some((byte, index) => bytes[index] !== byte)) return { kind: 'invalid' };
  const view = new DataView(bytes.buffer, bytes.byteOffset, segmentHeaderBytes);
  if (view.getUint32(124, true) !== crc32c(bytes, 0, 124)) return { kind: 'invalid' };
  const found = view.getUint32(8, true);
  if (found !== 1 && found !== version) return { kind: 'later', what: `version ${found}` };
  const flags = found === 1 ? 0 : view.getUint32(104, true);
  if ((flags & ~(originFlag | markFlag | runFlag)) !== 0)
    return { kind: 'later', what: `the flags ${flags}` };
  const salt = view.getInt32(12, true);
  let database = 0n;
  for (let word = 3; word >= 0; word--) {
    database = (database << 64n) | view.getBigUint64(16 + word * 8, true);
  }
  return {
    kind: 'valid',
    header: {
      salt,
      databaseIdentity: databaseIdentity(database),
      sequence: Number(view.getBigUint64(48, true)),
      firstOffset: Number(view.getBigUint64(56, true)),
      position: Number(view.getBigUint64(64, true)),
      durablePosition: Number(view.getBigUint64(72, true)),
      chainLow: view.getInt32(80, true),
      chainHigh: view.getInt32(84, true),
      epoch: found === 1 ? epochOfSalt(salt) : epoch(view.getBigUint64(88, true)),
      lastMicros: found === 1 ? 0n : view.getBigInt64(96, true),
      hasMark: found === 1 ? bytes[88] === 1 : (flags & markFlag) !== 0,
      isAfterOrigin: (flags & originFlag) !== 0,
      hasRuns: (flags & runFlag) !== 0,
    },
  };
}

/** Whether a segment may have records of migrations. */
export function hasRunsIn(file: Pick<DiskFile, 'read'>): boolean {
  const head = new Uint8Array(segmentHeaderBytes);
  const reading = readSegmentHeader(head.subarray(0, file.read(head, 0)));
  return reading.kind === 'valid' && reading.header.hasRuns;
}

/** True if a header of the present version can begin with `bytes`, which may be short. */
export function beginsAsHeader(bytes: Uint8Array): boolean {
  const beginning = [...magic, version, 0, 0, 0];
  return beginning.slice(0, bytes.length).every((byte, index) => bytes[index] === byte);
}

const version = 2;
const originFlag = 1;
const markFlag = 2;
const runFlag = 4;
const magic = new TextEncoder().encode('RDB-LOG\n');
