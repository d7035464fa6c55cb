import { assert } from '../assert.ts';
import { readUtf8 } from '../values/utf8.ts';
import { writeVarint } from '../values/varint.ts';

/** Bytes of a varint below 2^53, at most. */
export const varintBytesMax = 8;

/** What an image of an index says makes no sense: the index is built from the rows. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
}

/** Fills one piece of an image. Writers look at `room` first; nothing else checks. */
export class ImageWriter {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(buffer: ArrayBuffer) {
    this.#bytes = new Uint8Array(buffer);
  }

  get length(): number {
    return this.#at;
  }

  /** Bytes that are free. */
  get room(): number {
    return this.#bytes.length - this.#at;
  }

  /** What was written; the buffer is the one that was given. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#at);
  }

  /** Unsigned LEB128; a whole number below 2^53. */
  varint(value: number): void {
    this.#at = writeVarint(this.#bytes, this.#at, value);
    assert(this.#at <= this.#bytes.length, 'a piece of an image has room for its entries');
  }

  /**
   * Twice the number of UTF-16 units, and 1 more if one of them is not ASCII; then one byte for a
   * unit, or two. Not UTF-8: a word that was cut can end with half a character.
   */
  word(word: string): void {
    const { length } = word;
    const isWide = !isAscii(word);
    this.varint(length * 2 + Number(isWide));
    const bytes = this.#bytes;
    for (let at = 0; at < length; at++) {
      const unit = word.charCodeAt(at);
      bytes[this.#at++] = unit & 0xff;
      if (isWide) bytes[this.#at++] = unit >>> 8;
    }
    assert(this.#at <= bytes.length, 'a piece of an image has room for its entries');
  }
}

/** Bytes that `ImageWriter.word` takes, at most. */
export function wordBytesMax(word: string): number {
  return varintBytesMax + word.length * 2;
}

function isAscii(word: string): boolean {
  for (let at = 0; at < word.length; at++) if (word.charCodeAt(at) > 0x7f) return false;
  return true;
}

/** Reads one piece of an image. Everything is checked: throws `ImageError`. */
export class ImageReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  varint(): number {
    let value = 0;
    let weight = 1;
    for (let count = 0; count < varintBytesMax; count++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new ImageError('it ends inside a number');
      value += (byte & 127) * weight;
      if (byte < 128) return value;
      weight *= 128;
    }
    throw new ImageError('a number has more than 53 bits');
  }

  /** A number below `end`. */
  below(end: number, what: string): number {
    const value = this.varint();
    if (value >= end) throw new ImageError(`${what} is ${value}, and must be below ${end}`);
    return value;
  }

  same(expected: number, what: string): void {
    const value = this.varint();
    if (value !== expected) throw new ImageError(`${what} is ${value}, not ${expected}`);
  }

  word(): string {
    const head = this.varint();
    const isWide = head % 2 === 1;
    const length = Math.floor(head / 2);
    const end = this.#at + (isWide ? length * 2 : length);
    if (length === 0 || end > this.#bytes.length) throw new ImageError('a word has no end');
    const start = this.#at;
    this.#at = end;
    const word = isWide ? this.#wide(start, end) : readUtf8(this.#bytes, start, end);
    if (word === undefined) throw new ImageError('a word is not one');
    return word;
  }

  finish(): void {
    if (!this.isAtEnd) throw new ImageError('bytes are left over');
  }

  #wide(start: number, end: number): string {
    let word = '';
    for (let at = start; at < end; at += 2) {
      const [low, high] = [this.#bytes[at] as number, this.#bytes[at + 1] as number];
      word += String.fromCharCode(low | (high << 8));
    }
    return word;
  }
}
