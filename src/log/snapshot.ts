import type { TableId } from '../schema/ids.ts';
import type { RowList, SequenceMark } from '../store/change-set.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import type { ImagePiece } from '../store/derived-loads.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { crc32c } from './checksum.ts';
import { type Epoch, epoch } from './epoch.ts';

/**
 * A snapshot: all rows of a database after one commit, in a file beside the segments.
 * Little-endian.
 *
 * ```
 *   0  u8[8] "RDB-SNP" and a line feed
 *   8  u32   version of the format, 1
 *  12  u32   salt: start value of the block checksums; of this file alone, random
 *  16  u8[32] identity of the database
 *  48  u64   epoch
 *  56  u64   offset n of the commit
 *  64  u64   log position after it, and after all other records that its state includes
 *  72  u64   chain hash there
 *  80  i64   T(n): the latest time at which a commit up to n was accepted, microseconds
 *  88  i64   time when the snapshot was begun, microseconds
 *  96  u32   sequence number of the segment in which the log continues
 * 100  u8[24] zero
 * 124  u32   CRC-32C of bytes 0 to 124
 * 128  …     blocks (`block.ts`), up to the end of the file
 * ```
 *
 * Its name is `snapshot-<offset, 16 digits>.rdbs`. It gets this name only when it is complete and
 * durable, and the log is durable up to its position.
 */
export const snapshotHeaderBytes = 128;

/** What a snapshot is of, and when it was begun. Plain data: it crosses threads. */
export interface SnapshotPlace {
  readonly databaseIdentity: DatabaseIdentity;
  readonly epoch: Epoch;
  /** The last commit whose changes it has. */
  readonly offset: CommitOffset;
  /** Log position at which the log continues after it, and the chain hash there. */
  readonly position: number;
  readonly chainLow: number;
  readonly chainHigh: number;
  /** T(n): the latest time at which a commit up to `offset` was accepted, since the Unix epoch. */
  readonly lastMicros: bigint;
  readonly begunMicros: bigint;
  /** Sequence number of the segment that has `position`. */
  readonly segment: number;
}

/** Part of a snapshot's content. Plain data: it crosses threads. */
export type SnapshotBlock =
  | { readonly kind: 'schema'; readonly schema: SnapshotSchema }
  /** The program, in pieces of at most `limits.snapshotBlockBytes`, in order. */
  | { readonly kind: 'program'; readonly bytes: Uint8Array }
  /** The last value of every sequence. */
  | { readonly kind: 'marks'; readonly sequences: readonly SequenceMark[] }
  /** Rows of a table: at most `limits.snapshotBlockBytes` of them, or one row. */
  | { readonly kind: 'rows'; readonly tableId: TableId; readonly rows: RowList }
  /** A piece of the image of a derived index, at most `limits.snapshotBlockBytes`. */
  | { readonly kind: 'derived'; readonly tableId: TableId; readonly piece: ImagePiece };

/** The program that serves at the offset, but for its bytes. */
export interface SnapshotSchema {
  readonly programKind: 'js' | 'wasm';
  /** In the encodings of the schema room, as in the log. */
  readonly catalog: Uint8Array;
  readonly definition: Uint8Array;
  /** Bytes of the program, which follows in pieces. */
  readonly programBytes: number;
  /** When it was published. */
  readonly publishedMicros: bigint;
  /** The commit that published it. */
  readonly offset: CommitOffset;
}

/** The size of a table that has rows. */
export interface SnapshotTable {
  readonly tableId: TableId;
  readonly rowCount: number;
  /** Bytes of the rows in their encoding. */
  readonly rowBytes: number;
}

/** What recovery does with the snapshots beside a log. */
export interface SnapshotLoading {
  /**
   * Called for the newest snapshot that the log continues, before its content is read; again for an
   * older one if that turns out to be damaged. `tables` has those with rows, in the order in which
   * their rows come: each after the one before is complete.
   */
  begin(place: SnapshotPlace, tables: readonly SnapshotTable[]): SnapshotSink;
}

/**
 * Receives a snapshot. Byte arrays are valid during the call only. An error thrown by `take` or
 * `commit` means that the content makes no sense: the snapshot counts as damaged.
 */
export interface SnapshotSink {
  /**
   * Blocks of all kinds, in the order of `SnapshotBlock`: one schema, program, one marks, rows, and
   * images of derived indexes.
   */
  take(block: SnapshotBlock): void;
  /**
   * The rest of the derived data is damaged, and is passed over: it follows from the rows. Without
   * this method the snapshot counts as damaged.
   */
  skipDerived?(reason: string): void;
  /** The whole file was valid: what was taken is the state at its place. Records follow. */
  commit(): void;
  /** What was taken is not to be used; also called after one of the other calls threw. */
  abandon(): void;
}

export function snapshotName(offset: CommitOffset): string {
  return `snapshot-${String(offset).padStart(16, '0')}.rdbs`;
}

/** The offset in a snapshot's name; `undefined` for any other file. */
export function snapshotOffset(name: string): CommitOffset | undefined {
  const match = /^snapshot-(\d{16})\.rdbs$/.exec(name);
  const offset = Number(match?.[1] ?? Number.NaN);
  return Number.isSafeInteger(offset) ? commitOffset(offset) : undefined;
}

export function encodeSnapshotHeader(place: SnapshotPlace, salt: number): Uint8Array {
  const bytes = new Uint8Array(snapshotHeaderBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(magic);
  view.setUint32(8, version, true);
  view.setInt32(12, salt, true);
  for (let word = 0; word < 4; word++) {
    const part = BigInt.asUintN(64, place.databaseIdentity >> BigInt(word * 64));
    view.setBigUint64(16 + word * 8, part, true);
  }
  view.setBigUint64(48, place.epoch, true);
  view.setBigUint64(56, BigInt(place.offset), true);
  view.setBigUint64(64, BigInt(place.position), true);
  view.setInt32(72, place.chainLow, true);
  view.setInt32(76, place.chainHigh, true);
  view.setBigInt64(80, place.lastMicros, true);
  view.setBigInt64(88, place.begunMicros, true);
  view.setUint32(96, place.segment, true);
  view.setUint32(124, crc32c(bytes, 0, 124), true);
  return bytes;
}

/** The checksum of a header, which the chain of the blocks begins with. */
export function snapshotCrc(header: Uint8Array): number {
  return new DataView(header.buffer, header.byteOffset).getInt32(124, true);
}

/** The header of a snapshot, and the values that bind the blocks to it. */
export interface SnapshotHeader {
  readonly place: SnapshotPlace;
  readonly salt: number;
  /** Its own checksum, signed. */
  readonly crc: number;
}

export type SnapshotHeaderReading =
  | { readonly kind: 'valid'; readonly header: SnapshotHeader }
  /** Written by a newer program: valid, but not readable here. */
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'invalid' };

/** Reads the header at the start of `bytes`, which may be short. */
export function readSnapshotHeader(bytes: Uint8Array): SnapshotHeaderReading {
  if (bytes.length < snapshotHeaderBytes) return { kind: 'invalid' };
  if (magic.some((byte, index) => bytes[index] !== byte)) return { kind: 'invalid' };
  const view = new DataView(bytes.buffer, bytes.byteOffset, snapshotHeaderBytes);
  if (view.getUint32(124, true) !== crc32c(bytes, 0, 124)) return { kind: 'invalid' };
  const found = view.getUint32(8, true);
  if (found !== version) return { kind: 'version', version: found };
  const offset = Number(view.getBigUint64(56, true));
  const position = Number(view.getBigUint64(64, true));
  const isPlace = Number.isSafeInteger(offset) && Number.isSafeInteger(position);
  if (!isPlace || position % 8 !== 0) return { kind: 'invalid' };
  let database = 0n;
  for (let word = 3; word >= 0; word--) {
    database = (database << 64n) | view.getBigUint64(16 + word * 8, true);
  }
  const place: SnapshotPlace = {
    databaseIdentity: databaseIdentity(database),
    epoch: epoch(view.getBigUint64(48, true)),
    offset: commitOffset(offset),
    position,
    chainLow: view.getInt32(72, true),
    chainHigh: view.getInt32(76, true),
    lastMicros: view.getBigInt64(80, true),
    begunMicros: view.getBigInt64(88, true),
    segment: view.getUint32(96, true),
  };
  return {
    kind: 'valid',
    header: { place, salt: view.getInt32(12, true), crc: snapshotCrc(bytes) },
  };
}

const version = 1;
const magic = new TextEncoder().encode('RDB-SNP\n');
