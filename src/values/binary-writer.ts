import { writeUtf8 } from './utf8.ts';

/**
 * Appends little-endian values to a growing buffer. Integers are written modulo their width:
 * code that writes user values checks them first (`encode.ts`, `native.ts`).
 *
 * A writer is meant to be kept and reused: `reset()`, write, `view()`.
 *
 * @example
 * ```ts
 * const writer = new BinaryWriter();
 * writer.u16(7);
 * writer.string('hi');
 * writer.finish(); // Uint8Array.of(7, 0, 2, 0, 0, 0, 104, 105)
 * ```
 */
export class BinaryWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor(initialBytes = 256) {
    this.#bytes = new ByteArray(initialBytes);
    this.#view = new BufferView(this.#bytes.buffer);
  }

  /** Bytes written since the last `reset`. */
  get length(): number {
    return this.#length;
  }

  /** The buffer as a `DataView`; `claim` says where to write. Stale after the next `claim`. */
  get dataView(): DataView {
    return this.#view;
  }

  /** The bytes being written: those adopted, unless they were too short. */
  get source(): Uint8Array {
    return this.#bytes;
  }

  /**
   * Starts over in `bytes`, which stay the caller's. A writer that outgrows them continues in a
   * buffer of its own; `source` is then no longer `bytes`.
   */
  adopt(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = new BufferView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#length = 0;
  }

  /** Appends `byteCount` bytes of undefined content and returns the offset of the first. */
  claim(byteCount: number): number {
    const at = this.#length;
    const end = at + byteCount;
    if (end > this.#bytes.length) this.#grow(end);
    this.#length = end;
    return at;
  }

  reset(): void {
    this.#length = 0;
  }

  /** The bytes written, not copied: valid until the next write or `reset`. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A copy of the bytes written. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  bool(value: boolean): void {
    const at = this.claim(1);
    this.#view.setUint8(at, value ? 1 : 0);
  }

  u8(value: number): void {
    const at = this.claim(1);
    this.#view.setUint8(at, value);
  }

  i8(value: number): void {
    const at = this.claim(1);
    this.#view.setInt8(at, value);
  }

  u16(value: number): void {
    const at = this.claim(2);
    this.#view.setUint16(at, value, true);
  }

  i16(value: number): void {
    const at = this.claim(2);
    this.#view.setInt16(at, value, true);
  }

  u32(value: number): void {
    const at = this.claim(4);
    this.#view.setUint32(at, value, true);
  }

  i32(value: number): void {
    const at = this.claim(4);
    this.#view.setInt32(at, value, true);
  }

  u64(value: bigint): void {
    const at = this.claim(8);
    this.#view.setBigUint64(at, value, true);
  }

  i64(value: bigint): void {
    const at = this.claim(8);
    this.#view.setBigInt64(at, value, true);
  }

  u128(value: bigint): void {
    const at = this.claim(16);
    writeWide(this.#view, at, value, 2);
  }

  i128(value: bigint): void {
    const at = this.claim(16);
    writeWide(this.#view, at, value, 2);
  }

  u256(value: bigint): void {
    const at = this.claim(32);
    writeWide(this.#view, at, value, 4);
  }

  i256(value: bigint): void {
    const at = this.claim(32);
    writeWide(this.#view, at, value, 4);
  }

  f32(value: number): void {
    const at = this.claim(4);
    this.#view.setFloat32(at, value, true);
  }

  f64(value: number): void {
    const at = this.claim(8);
    this.#view.setFloat64(at, value, true);
  }

  /** The count of `bytes`, then `bytes`. */
  bytes(bytes: Uint8Array): void {
    this.u32(bytes.length);
    this.raw(bytes);
  }

  /** `bytes` alone. */
  raw(bytes: Uint8Array): void {
    const at = this.claim(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** The UTF-8 length of `text`, then its UTF-8. A surrogate without partner becomes U+FFFD. */
  string(text: string): void {
    const at = this.claim(4 + 3 * text.length);
    const end = writeUtf8(text, this.#bytes, this.#view, at + 4);
    this.#view.setUint32(at, end - at - 4, true);
    this.#length = end;
  }

  #grow(bytesNeeded: number): void {
    const grown = new ByteArray(max(bytesNeeded, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new BufferView(grown.buffer);
  }
}

/** The `byteCount` bytes of `value` (a multiple of 8), least significant first. */
export function littleEndianBytes(value: bigint, byteCount: number): Uint8Array {
  const bytes = new ByteArray(byteCount);
  writeWide(new BufferView(bytes.buffer), 0, value, byteCount / 8);
  return bytes;
}

/** Writes the low `64 * wordCount` bits of `value` as one little-endian integer. */
export function writeWide(view: DataView, at: number, value: bigint, wordCount: number): void {
  // The setter keeps only the low 64 bits.
  view.setBigUint64(at, value, true);
  let rest = value;
  for (let word = 1; word < wordCount; word += 1) {
    rest >>= 64n;
    view.setBigUint64(at + 8 * word, rest, true);
  }
}

// Inside the sandbox a global is looked up through a proxy: hot code reads these instead.
const ByteArray = Uint8Array;
const BufferView = DataView;
const { max } = Math;
