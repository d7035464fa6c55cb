import { present } from '../assert.ts';
import { hashBytes } from '../values/hash.ts';
import { readU32 } from '../values/read-bytes.ts';
import { type FloatNormaliser, floatNormaliserOf } from './canonical-float.ts';
import { copyBytes, equalBytes } from './copy-bytes.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import type { RowRef } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';

/**
 * The key that a hash index looks up: loaded from a row or from key bytes, then compared with
 * stored rows. One object per index, reused for every operation.
 */
export interface LoadedKey {
  /** Hash of the loaded key, a signed 32-bit number. */
  readonly hash: number;
  /** Loads the key of a valid row. The bytes must not change until the operation is over. */
  loadRow(bytes: Uint8Array, at: number, length: number): void;
  /** Loads a valid key: the encoded key columns one after another. */
  loadKey(bytes: Uint8Array, at: number, length: number): void;
  /** True when the stored row has the loaded key. */
  matches(ref: RowRef): boolean;
}

/**
 * A key made of columns. Two keys are equal when their values are equal in the order of values, in
 * which `-0` equals `+0` and all NaNs are equal. Keys that hold floats, and keys whose columns are
 * not adjacent in the row, are copied and their floats normalised before they are hashed and
 * compared. All other keys are used in place: an encoding is one value, a value one encoding.
 */
export class ColumnKey implements LoadedKey {
  hash = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #length = 0;
  readonly #heap: RowHeap;
  readonly #shape: RowShape;
  readonly #columns: readonly number[];
  readonly #firstColumn: number;
  readonly #normalisers: readonly (FloatNormaliser | undefined)[];
  readonly #hasFloats: boolean;
  readonly #isCopied: boolean;
  /** Offset of the key in every row if it is fixed and the key has 4 or 8 bytes, else -1. */
  readonly #fixedStart: number;
  readonly #fixedBytes: number;
  /** The loaded key when it has a fixed start. */
  #low = 0;
  #high = 0;
  /** Copies: of the loaded key, and of the key of the stored row it is compared with. */
  #loaded = new Uint8Array(64);
  #stored = new Uint8Array(64);

  constructor(heap: RowHeap, shape: RowShape, columns: readonly number[]) {
    this.#heap = heap;
    this.#shape = shape;
    this.#columns = columns;
    this.#firstColumn = present(columns[0], 'first column of a key');
    this.#normalisers = columns.map((column) =>
      floatNormaliserOf(present(shape.columnTypes[column], 'type of a key column'), shape.types),
    );
    this.#hasFloats = this.#normalisers.some((normaliser) => normaliser !== undefined);
    this.#isCopied =
      this.#hasFloats || columns.some((column, index) => column !== this.#firstColumn + index);
    const sizes = columns.map((column) => shape.fixedSize(column) ?? Number.NaN);
    this.#fixedBytes = sizes.reduce((total, size) => total + size, 0);
    const isWord = this.#fixedBytes === 4 || this.#fixedBytes === 8;
    const start = shape.fixedStart(this.#firstColumn);
    this.#fixedStart = isWord && !this.#isCopied && start !== undefined ? start : -1;
  }

  loadRow(bytes: Uint8Array, at: number, length: number): void {
    if (this.#fixedStart >= 0) {
      this.#setWords(bytes, at + this.#fixedStart);
      return;
    }
    if (this.#isCopied) {
      this.#loaded = roomFor(this.#loaded, length);
      this.#set(this.#loaded, 0, this.#extract(bytes, at, this.#loaded));
      return;
    }
    const start = this.#shape.startOf(bytes, at, this.#firstColumn);
    let end = start;
    for (let index = 0; index < this.#columns.length; index++) {
      end = this.#shape.skip(bytes, end, this.#firstColumn + index);
    }
    this.#set(bytes, start, end - start);
  }

  loadKey(bytes: Uint8Array, at: number, length: number): void {
    if (this.#fixedStart >= 0) {
      this.#setWords(bytes, at);
      return;
    }
    if (!this.#hasFloats) {
      this.#set(bytes, at, length);
      return;
    }
    this.#loaded = roomFor(this.#loaded, length);
    copyBytes(bytes, at, this.#loaded, 0, length);
    let value = 0;
    for (let index = 0; index < this.#columns.length; index++) {
      this.#normalisers[index]?.(this.#loaded, value);
      value = this.#shape.skip(this.#loaded, value, this.#columns[index] as number);
    }
    this.#set(this.#loaded, 0, length);
  }

  matches(ref: RowRef): boolean {
    const page = this.#heap.pageOf(ref);
    const row = offsetOf(ref);
    if (this.#fixedStart >= 0) {
      const at = row + this.#fixedStart;
      if (readU32(page, at) !== this.#low) return false;
      return this.#fixedBytes === 4 || readU32(page, at + 4) === this.#high;
    }
    const length = this.#length;
    if (this.#isCopied) {
      this.#stored = roomFor(this.#stored, this.#heap.lengthOf(ref));
      const storedLength = this.#extract(page, row, this.#stored);
      return storedLength === length && equalBytes(this.#stored, 0, this.#bytes, this.#at, length);
    }
    // Encodings are self-delimiting: a stored key that begins with all bytes of this one equals it.
    const start = this.#shape.startOf(page, row, this.#firstColumn);
    return start + length <= page.length && equalBytes(page, start, this.#bytes, this.#at, length);
  }

  #setWords(bytes: Uint8Array, at: number): void {
    this.#low = readU32(bytes, at);
    if (this.#fixedBytes === 4) {
      this.hash = mix(this.#low);
    } else {
      this.#high = readU32(bytes, at + 4);
      this.hash = mix(this.#low ^ mix(~this.#high));
    }
  }

  #set(bytes: Uint8Array, at: number, length: number): void {
    this.#bytes = bytes;
    this.#at = at;
    this.#length = length;
    this.hash = hashBytes(bytes, at, at + length) | 0;
  }

  /** Copies the key columns of a row into `into`, floats normalised; returns their length. */
  #extract(bytes: Uint8Array, row: number, into: Uint8Array): number {
    let length = 0;
    for (let index = 0; index < this.#columns.length; index++) {
      const column = this.#columns[index] as number;
      const start = this.#shape.startOf(bytes, row, column);
      const size = this.#shape.skip(bytes, start, column) - start;
      copyBytes(bytes, start, into, length, size);
      this.#normalisers[index]?.(into, length);
      length += size;
    }
    return length;
  }
}

/** The whole row as a key, bit by bit: it decides whether two rows are the same row. */
export class RowKey implements LoadedKey {
  hash = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #length = 0;
  readonly #heap: RowHeap;

  constructor(heap: RowHeap) {
    this.#heap = heap;
  }

  loadRow(bytes: Uint8Array, at: number, length: number): void {
    this.#bytes = bytes;
    this.#at = at;
    this.#length = length;
    this.hash = hashBytes(bytes, at, at + length) | 0;
  }

  loadKey(bytes: Uint8Array, at: number, length: number): void {
    this.loadRow(bytes, at, length);
  }

  matches(ref: RowRef): boolean {
    return this.#heap.rowEquals(ref, this.#bytes, this.#at, this.#length);
  }
}

/** Spreads all 32 bits over all 32 bits (the finaliser of MurmurHash3). */
function mix(word: number): number {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

function roomFor(scratch: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  return scratch.length >= length ? scratch : new Uint8Array(length * 2);
}
