import { AssertionError, assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { writeVarint } from '../values/varint.ts';
import { RecordHash } from './checksum.ts';
import { recordBytes, recordHeaderBytes } from './record.ts';

const initialBytes = 64 * 1024;
/** A buffer that one huge record made larger than this is released after the write. */
const keptBytes = 8 * 1024 * 1024;

/** The header fields of a record that depend on its place in the log. */
export interface RecordPlace {
  readonly kind: number;
  readonly offset: number;
  /** Log position up to which everything is known to be durable. */
  readonly durablePosition: number;
  readonly salt: number;
}

/**
 * Records on their way to the disk. `begin`, write the payload, `end`, any number of times; then
 * `bytes()` is the data to write and `clear()` starts over. The writing methods do not check for
 * room: `begin` takes an upper bound of the payload.
 *
 * Owns the chain: `chainLow` and `chainHigh` are those of the last record that was ended.
 */
export class RecordBuffer {
  chainLow: number;
  chainHigh: number;
  readonly #hash = new RecordHash();
  #bytes = new Uint8Array(initialBytes);
  #view = new DataView(this.#bytes.buffer);
  #words = new Int32Array(this.#bytes.buffer);
  /** Start of the open record, or the end of the last one. */
  #start = 0;
  #at = 0;

  constructor(chainLow: number, chainHigh: number) {
    this.chainLow = chainLow;
    this.chainHigh = chainHigh;
  }

  /** Bytes of ended records. */
  get length(): number {
    return this.#start;
  }

  /** A view of the ended records, valid until the next `begin`. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#start);
  }

  clear(): void {
    this.#start = 0;
    this.#at = 0;
    if (this.#bytes.length > keptBytes) this.#replace(initialBytes);
  }

  begin(payloadBytesMax: number): void {
    const needed = this.#start + recordBytes(payloadBytesMax);
    if (needed > this.#bytes.length) this.#grow(needed);
    this.#at = this.#start + recordHeaderBytes;
  }

  /** Seals the record; returns its bytes including header and padding. */
  end(place: RecordPlace): number {
    const start = this.#start;
    const payloadBytes = this.#at - start - recordHeaderBytes;
    const length = recordBytes(payloadBytes);
    // Not `assert`: its message would be built for every record.
    if (length > limits.recordBytesMax) {
      throw new AssertionError(`a log record of ${length} bytes is over the limit`);
    }
    const end = start + length;
    assert(end <= this.#bytes.length, 'a log record outgrew the bound it was begun with');
    for (let pad = this.#at; pad < end; pad++) this.#bytes[pad] = 0;
    const words = this.#words;
    const word = start >>> 2;
    words[word] = payloadBytes;
    words[word + 1] = 0;
    words[word + 2] = place.offset;
    words[word + 3] = (place.kind << 24) | Math.floor(place.offset / 0x1_0000_0000);
    words[word + 4] = place.durablePosition;
    words[word + 5] = Math.floor(place.durablePosition / 0x1_0000_0000);
    words[word + 6] = this.chainLow;
    words[word + 7] = this.chainHigh;
    const hash = this.#hash;
    hash.overRecord(words, word, end >>> 2, place.salt);
    words[word + 1] = hash.crc;
    this.chainLow = hash.chainLow;
    this.chainHigh = hash.chainHigh;
    this.#start = end;
    this.#at = end;
    return length;
  }

  u8(value: number): void {
    this.#bytes[this.#at++] = value;
  }

  /** Unsigned LEB128; a whole number below 2^53. */
  varint(value: number): void {
    this.#at = writeVarint(this.#bytes, this.#at, value);
  }

  i64(value: bigint): void {
    this.#view.setBigInt64(this.#at, value, true);
    this.#at += 8;
  }

  raw(bytes: Uint8Array): void {
    const length = bytes.length;
    // A call of `set` costs more than copying a few bytes one by one.
    if (length > 48) this.#bytes.set(bytes, this.#at);
    else {
      const into = this.#bytes;
      const at = this.#at;
      for (let index = 0; index < length; index++) into[at + index] = bytes[index] as number;
    }
    this.#at += length;
  }

  /** The length as a varint, then the bytes. */
  counted(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.raw(bytes);
  }

  #grow(needed: number): void {
    const size = Math.max(Math.ceil(needed / 65_536) * 65_536, 2 * this.#bytes.length);
    const before = this.#bytes.subarray(0, this.#start);
    this.#replace(size);
    this.#bytes.set(before);
  }

  #replace(size: number): void {
    this.#bytes = new Uint8Array(size);
    this.#view = new DataView(this.#bytes.buffer);
    this.#words = new Int32Array(this.#bytes.buffer);
  }
}
