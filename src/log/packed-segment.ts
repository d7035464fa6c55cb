import { assert } from '../assert.ts';
import { crc32c } from './checksum.ts';
import type { DiskFile, SegmentCodec } from './disk.ts';
import { LogDamageError } from './log-error.ts';
import { segmentFirstOffset } from './segment.ts';

/**
 * A packed segment: the bytes of a segment file, of which each MiB is a gzip member of its own, one
 * after another. Any gzip tool unpacks it. What gzip leaves open is fixed, so that each bit counts:
 *
 * ```
 *  0  u8[10] 1f 8b 08 04 00 00 00 00 04 ff: deflate, an extra field, no time, fast, any system
 * 10  u16   bytes of the extra field, 16
 * 12  u8[2] "RD"
 * 14  u16   bytes of what follows in it, 12
 * 16  u32   bytes of this member, header included
 * 20  u32   bytes that it unpacks to
 * 24  u32   CRC-32C of the rest of the member
 * 28  …     deflate data, and the CRC-32 and length that gzip ends with
 * ```
 */
export const packedPieceBytes = 1024 * 1024;

const headerBytes = 28;
const fixedHeader = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 4, 0xff, 16, 0, 0x52, 0x44, 12, 0];
/** Members that a reader keeps unpacked: what is read can lie in two. */
const keptMembers = 2;

/** One member of a packed segment. */
export interface PackedMember {
  /** Position in the packed file, and bytes there. */
  readonly position: number;
  readonly length: number;
  /** Position in the segment, and bytes there. */
  readonly start: number;
  readonly bytes: number;
  readonly crc: number;
}

/** Packs a piece of a segment; only the last one may be shorter than `packedPieceBytes`. */
export function packMember(codec: SegmentCodec, piece: Uint8Array): Uint8Array {
  assert(piece.length <= packedPieceBytes, 'a member is of one MiB at most');
  const plain = codec.pack(piece);
  assert(plain[3] === 0, 'the codec writes no optional fields');
  const member = new Uint8Array(headerBytes + plain.length - 10);
  member.set(fixedHeader);
  member.set(plain.subarray(10), headerBytes);
  const view = new DataView(member.buffer);
  view.setUint32(16, member.length, true);
  view.setUint32(20, piece.length, true);
  view.setUint32(24, crc32c(member, headerBytes), true);
  return member;
}

/** A packed segment as if it were the segment: it has only what reading needs. */
export class PackedFile implements Pick<DiskFile, 'name' | 'size' | 'read'> {
  readonly name: string;
  readonly members: readonly PackedMember[];
  readonly #file: DiskFile;
  readonly #codec: SegmentCodec;
  readonly #unpacked = new Map<PackedMember, Uint8Array>();

  /** Reads the headers of all members. Throws `LogDamageError`. */
  constructor(file: DiskFile, codec: SegmentCodec) {
    this.name = file.name;
    this.#file = file;
    this.#codec = codec;
    this.members = this.#readMembers();
  }

  /** Bytes of the segment. */
  size(): number {
    const last = this.members.at(-1);
    return last === undefined ? 0 : last.start + last.bytes;
  }

  read(into: Uint8Array, position: number): number {
    const end = Math.min(position + into.length, this.size());
    for (let at = position; at < end; ) {
      const member = this.members[Math.floor(at / packedPieceBytes)];
      assert(member !== undefined, `no member has position ${at} of ${this.name}`);
      const stop = Math.min(end, member.start + member.bytes);
      const bytes = this.#unpack(member);
      into.set(bytes.subarray(at - member.start, stop - member.start), at - position);
      at = stop;
    }
    return Math.max(end - position, 0);
  }

  #readMembers(): PackedMember[] {
    const members: PackedMember[] = [];
    const size = this.#file.size();
    const header = new Uint8Array(headerBytes);
    const view = new DataView(header.buffer);
    let start = 0;
    for (let position = 0; position < size; ) {
      const isWhole = this.#file.read(header, position) === headerBytes;
      if (!isWhole || fixedHeader.some((byte, at) => header[at] !== byte)) {
        throw this.#damage('the header of a packed piece is not valid', position);
      }
      const length = view.getUint32(16, true);
      const bytes = view.getUint32(20, true);
      const isLast = position + length === size;
      const isFull = bytes === packedPieceBytes || (isLast && bytes > 0);
      if (length <= headerBytes || position + length > size || !isFull) {
        throw this.#damage('a packed piece is not whole', position);
      }
      members.push({ position, length, start, bytes, crc: view.getUint32(24, true) });
      position += length;
      start += bytes;
    }
    return members;
  }

  #unpack(member: PackedMember): Uint8Array {
    const known = this.#unpacked.get(member);
    if (known !== undefined) return known;
    const { position, length, bytes } = member;
    const packed = new Uint8Array(length);
    const isRead = this.#file.read(packed, position) === length;
    if (!isRead || crc32c(packed, headerBytes) !== member.crc) {
      throw this.#damage('the checksum of a packed piece does not match', position);
    }
    const unpacked = this.#inflate(packed, member);
    if (unpacked.length !== bytes) {
      throw this.#damage('a packed piece has another length than it says', position);
    }
    if (this.#unpacked.size >= keptMembers) {
      const [oldest] = this.#unpacked.keys();
      if (oldest !== undefined) this.#unpacked.delete(oldest);
    }
    this.#unpacked.set(member, unpacked);
    return unpacked;
  }

  #inflate(packed: Uint8Array, { position, bytes }: PackedMember): Uint8Array {
    try {
      return this.#codec.unpack(packed, bytes);
    } catch (cause) {
      throw this.#damage('a packed piece cannot be unpacked', position, cause);
    }
  }

  #damage(reason: string, position: number, cause?: unknown): LogDamageError {
    const place = { file: this.name, position, offset: segmentFirstOffset(this.name) };
    return new LogDamageError(reason, place, { cause });
  }
}
