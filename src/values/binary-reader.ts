import { emptyElementCountMax, nestingDepthMax } from '../shared-limits.ts';
import { readUtf8 } from './utf8.ts';

/**
 * Bytes that are not an encoding of the expected type.
 *
 * @example
 * ```ts
 * decodeValue({ kind: 'u32' }, Uint8Array.of(1)); // throws 'data too short for u32'
 * ```
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/**
 * Reads little-endian values from `bytes[offset, end)`, which stay the caller's and must not change
 * meanwhile. Missing or invalid data throws `DecodeError`.
 *
 * @example
 * ```ts
 * const reader = new BinaryReader(Uint8Array.of(7, 0, 1));
 * reader.u16(); // 7
 * reader.bool(); // true
 * reader.remaining; // 0
 * ```
 */
export class BinaryReader {
  #bytes: Uint8Array;
  #view: DataView;
  #offset: number;
  #end: number;
  #emptyElements = 0;

  constructor(bytes: Uint8Array, offset = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#offset = offset;
    this.#end = end;
  }

  /** Starts over on other bytes; cheaper than a new reader when the buffer is the same. */
  reset(bytes: Uint8Array, offset = 0, end: number = bytes.length): void {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = viewOf(bytes);
    }
    this.#offset = offset;
    this.#end = end;
    this.#emptyElements = 0;
  }

  /** Called before each whole value: its array elements that take no bytes are counted together. */
  beginValue(): void {
    this.#emptyElements = 0;
  }

  /** Offset of the next byte, counted from the start of `source`. */
  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#end - this.#offset;
  }

  /** The bytes being read. */
  get source(): Uint8Array {
    return this.#bytes;
  }

  get dataView(): DataView {
    return this.#view;
  }

  /**
   * Takes `byteCount` bytes and returns the offset of the first. `kind` names them in the error.
   */
  claim(byteCount: number, kind: string): number {
    const at = this.#offset;
    const next = at + byteCount;
    if (next > this.#end) throw tooShort(kind, byteCount, this.#end - at);
    this.#offset = next;
    return at;
  }

  bool(): boolean {
    const at = this.claim(1, 'bool');
    const byte = this.#view.getUint8(at);
    if (byte > 1) throw invalidBool(byte);
    return byte === 1;
  }

  u8(): number {
    const at = this.claim(1, 'u8');
    return this.#view.getUint8(at);
  }

  i8(): number {
    const at = this.claim(1, 'i8');
    return this.#view.getInt8(at);
  }

  u16(): number {
    const at = this.claim(2, 'u16');
    return this.#view.getUint16(at, true);
  }

  i16(): number {
    const at = this.claim(2, 'i16');
    return this.#view.getInt16(at, true);
  }

  u32(): number {
    const at = this.claim(4, 'u32');
    return this.#view.getUint32(at, true);
  }

  i32(): number {
    const at = this.claim(4, 'i32');
    return this.#view.getInt32(at, true);
  }

  u64(): bigint {
    const at = this.claim(8, 'u64');
    return this.#view.getBigUint64(at, true);
  }

  i64(): bigint {
    const at = this.claim(8, 'i64');
    return this.#view.getBigInt64(at, true);
  }

  u128(): bigint {
    return readU128(this.#view, this.claim(16, 'u128'));
  }

  i128(): bigint {
    return readI128(this.#view, this.claim(16, 'i128'));
  }

  u256(): bigint {
    return readU256(this.#view, this.claim(32, 'u256'));
  }

  i256(): bigint {
    return readI256(this.#view, this.claim(32, 'i256'));
  }

  f32(): number {
    const at = this.claim(4, 'f32');
    return this.#view.getFloat32(at, true);
  }

  f64(): number {
    const at = this.claim(8, 'f64');
    return this.#view.getFloat64(at, true);
  }

  /** A count and that many bytes, copied. */
  bytes(): Uint8Array {
    return this.raw(this.u32());
  }

  /** `byteCount` bytes, copied. */
  raw(byteCount: number): Uint8Array {
    const at = this.claim(byteCount, '[u8]');
    const copy = new ByteArray(byteCount);
    const bytes = this.#bytes;
    // Creating a view to copy from costs more than copying a few bytes one by one.
    if (byteCount > 48) copy.set(bytes.subarray(at, at + byteCount));
    else for (let index = 0; index < byteCount; index++) copy[index] = bytes[at + index] as number;
    return copy;
  }

  string(): string {
    const byteCount = this.u32();
    const at = this.claim(byteCount, '[u8]');
    const text = readUtf8(this.#bytes, at, at + byteCount);
    if (text === void 0) throw new DecodeError('invalid utf8');
    return text;
  }

  /**
   * Reads the count of an array whose elements take at least one byte each, or none if `isEmpty`. A
   * count that the remaining bytes cannot hold fails before anything is allocated for it.
   */
  count(isEmpty: boolean): number {
    const count = this.u32();
    if (isEmpty) {
      this.#emptyElements += count;
      if (this.#emptyElements > emptyElementCountMax) throw tooManyElements(count);
    } else if (count > this.#end - this.#offset) {
      throw tooManyElements(count);
    }
    return count;
  }
}

/**
 * Takes `byteCount` bytes that hold `run`, values of these kinds and widths one after another, and
 * returns the offset of the first. The error names the one that is cut off.
 */
export function claimRun(
  reader: BinaryReader,
  byteCount: number,
  run: readonly (readonly [kind: string, bytes: number])[],
): number {
  if (byteCount > reader.remaining) {
    for (const [kind, bytes] of run) reader.claim(bytes, kind);
  }
  return reader.claim(byteCount, '');
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new BufferView(buffer, byteOffset, byteLength);
}

export function readU128(view: DataView, at: number): bigint {
  const high = view.getBigUint64(at + 8, true);
  const low = view.getBigUint64(at, true);
  return high === 0n ? low : (high << 64n) | low;
}

export function readI128(view: DataView, at: number): bigint {
  return (view.getBigInt64(at + 8, true) << 64n) | view.getBigUint64(at, true);
}

export function readU256(view: DataView, at: number): bigint {
  const high = readU128(view, at + 16);
  const low = readU128(view, at);
  return high === 0n ? low : (high << 128n) | low;
}

export function readI256(view: DataView, at: number): bigint {
  return (readI128(view, at + 16) << 128n) | readU128(view, at);
}

export function tooShort(kind: string, expected: number, given: number): DecodeError {
  return new DecodeError(`data too short for ${kind}: Expected ${expected}, given ${given}`);
}

export function invalidBool(byte: number): DecodeError {
  return new DecodeError(`byte ${byte} not valid as \`bool\` (must be 0 or 1)`);
}

export function unknownTag(tag: number): DecodeError {
  const hex = tag.toString(16);
  return new DecodeError(`unknown tag 0x${hex} for sum type <unknown>`);
}

export function tooManyElements(count: number): DecodeError {
  return new DecodeError(`allocation of ${count} elements failed`);
}

export function tooDeep(): DecodeError {
  return new DecodeError(`value is nested deeper than ${nestingDepthMax} levels`);
}

const ByteArray = Uint8Array;
const BufferView = DataView;
