import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { RecordHash } from './checksum.ts';
import type { Disk, DiskFile } from './disk.ts';
import { PackedFile } from './packed-segment.ts';
import { recordBytes, recordHeaderBytes, recordKinds } from './record.ts';
import { isPacked, plainName, segmentHeaderBytes, segmentSequence } from './segment.ts';

const windowBytes = 1024 * 1024;

/** Names of the segments, in order; of one that is there packed and not packed, only the latter. */
export function segmentNames(disk: Pick<Disk, 'list'>): string[] {
  const files = disk.list();
  const known = new Set(files);
  return files.filter((name) => {
    if (segmentSequence(name) === undefined) return false;
    return !isPacked(name) || !known.has(plainName(name));
  });
}

/** Opens a segment, packed or not, or another file of the log, for as long as `use` reads it. */
export function withReader<T>(disk: Disk, name: string, use: (reader: SegmentReader) => T): T {
  const file = disk.open(name, 'read');
  try {
    const isSegment = segmentSequence(name) !== undefined;
    return use(
      new SegmentReader(isSegment && isPacked(name) ? new PackedFile(file, disk.codec) : file),
    );
  } finally {
    file.close();
  }
}

type ReadableFile = Pick<DiskFile, 'name' | 'size' | 'read'>;

/** `blank`: a header of zeros, which no record has. */
export type RecordReading = 'record' | 'blank' | 'invalid';

/**
 * Reads one segment through a window, front to back. `read` looks at one place; when it returns
 * `record`, the fields below describe the record and `bytes[payloadStart, payloadEnd)` is its
 * payload, until the next call of any method.
 */
export class SegmentReader {
  readonly size: number;
  /** Why the last `read` returned `invalid`. */
  reason = '';
  kind = 0;
  offset = 0;
  durablePosition = 0;
  previousLow = 0;
  previousHigh = 0;
  payloadStart = 0;
  payloadEnd = 0;
  /** Bytes of the record with header and padding. */
  length = 0;
  /** Bytes that the last `read` ran a checksum over. */
  hashedBytes = 0;
  readonly hash = new RecordHash();
  bytes = new Uint8Array(0);
  readonly #file: ReadableFile;
  #words = new Int32Array(0);
  #base = 0;
  #filled = 0;

  constructor(file: ReadableFile) {
    this.#file = file;
    this.size = file.size();
  }

  get name(): string {
    return this.#file.name;
  }

  /** The first bytes of the file, up to the size of a segment header. */
  header(): Uint8Array {
    const length = Math.min(segmentHeaderBytes, this.size);
    const start = this.#load(0, length);
    return this.bytes.subarray(start, start + length);
  }

  /** Looks for a record at `position`, a multiple of 8. */
  read(position: number, salt: number): RecordReading {
    this.hashedBytes = 0;
    if (position + recordHeaderBytes > this.size) {
      this.reason = 'the file ends inside the header of a record';
      return 'invalid';
    }
    let start = this.#load(position, recordHeaderBytes);
    if (this.#isBlank(start)) return 'blank';
    const payloadBytes = (this.#words[start >>> 2] as number) >>> 0;
    if (payloadBytes > limits.recordBytesMax - recordHeaderBytes) {
      this.reason = 'the length of a record is over the limit';
      return 'invalid';
    }
    const length = recordBytes(payloadBytes);
    if (position + length > this.size) {
      this.reason = 'the file ends inside a record';
      return 'invalid';
    }
    start = this.#load(position, length);
    const word = start >>> 2;
    this.hashedBytes = length;
    this.hash.overRecord(this.#words, word, (start + length) >>> 2, salt);
    if (this.hash.crc !== this.#words[word + 1]) {
      this.reason = 'the checksum of a record does not match';
      return 'invalid';
    }
    this.#take(word, start, payloadBytes, length);
    return 'record';
  }

  /** True if only zeros are at `position` and after it. */
  isBlankFrom(position: number): boolean {
    return this.endOfContent(position) === position;
  }

  /** Position after the last byte that is not zero, at least `from`. */
  endOfContent(from: number): number {
    let end = from;
    for (let at = from; at < this.size; ) {
      const length = Math.min(windowBytes, this.size - at);
      const start = this.#load(at, length);
      const last = this.#lastFilled(start, start + length);
      if (last >= start) end = at + (last - start) + 1;
      at += length;
    }
    return end;
  }

  /** Index of the last byte that is not zero, less than `start` if there is none. */
  #lastFilled(start: number, end: number): number {
    const words = this.#words;
    let last = end - 1;
    while (last >= start && this.bytes[last] === 0) {
      // Whole words are checked four at once: the rest of a segment is megabytes of zeros.
      const word = last >>> 2;
      const areZero =
        (last & 3) === 3 &&
        last - 15 >= start &&
        words[word] === 0 &&
        words[word - 1] === 0 &&
        words[word - 2] === 0 &&
        words[word - 3] === 0;
      last -= areZero ? 16 : 1;
    }
    return last;
  }

  /** Copies of the bytes from `start` to `end`, in pieces. */
  *pieces(start: number, end: number): Generator<Uint8Array> {
    for (let at = start; at < end; ) {
      const length = Math.min(windowBytes, end - at);
      const index = this.#load(at, length);
      yield this.bytes.slice(index, index + length);
      at += length;
    }
  }

  /** Could a record start at `position`? Cheap, for a search at every place; `read` decides. */
  mayBeRecord(position: number): boolean {
    const word = this.#load(position, recordHeaderBytes) >>> 2;
    const kind = (this.#words[word + 3] as number) >>> 24;
    if (kind < recordKinds.commit || kind > recordKinds.migration) return false;
    const payloadBytes = (this.#words[word] as number) >>> 0;
    if (payloadBytes > limits.recordBytesMax) return false;
    return position + recordBytes(payloadBytes) <= this.size;
  }

  #isBlank(start: number): boolean {
    const word = start >>> 2;
    for (let index = word; index < word + recordHeaderBytes / 4; index++) {
      if (this.#words[index] !== 0) return false;
    }
    return true;
  }

  #take(word: number, start: number, payloadBytes: number, length: number): void {
    const words = this.#words;
    const high = words[word + 3] as number;
    this.kind = high >>> 24;
    this.offset = (high & 0xff_ffff) * 0x1_0000_0000 + ((words[word + 2] as number) >>> 0);
    this.durablePosition =
      ((words[word + 5] as number) >>> 0) * 0x1_0000_0000 + ((words[word + 4] as number) >>> 0);
    this.previousLow = words[word + 6] as number;
    this.previousHigh = words[word + 7] as number;
    this.payloadStart = start + recordHeaderBytes;
    this.payloadEnd = this.payloadStart + payloadBytes;
    this.length = length;
  }

  /** Makes `[position, position + length)` part of the window; returns its index in `bytes`. */
  #load(position: number, length: number): number {
    assert(position + length <= this.size, `reading past the end of ${this.#file.name}`);
    const index = position - this.#base;
    if (index >= 0 && index + length <= this.#filled) return index;
    const wanted = Math.min(Math.max(windowBytes, length), this.size - position);
    if (wanted > this.bytes.length) {
      this.bytes = new Uint8Array((wanted + 7) & ~7);
      this.#words = new Int32Array(this.bytes.buffer);
    }
    // The window starts at a multiple of 8, as records do, so that records are whole words.
    assert(position % 8 === 0, `position ${position} is not a multiple of 8`);
    const count = this.#file.read(this.bytes.subarray(0, wanted), position);
    assert(count === wanted, `${this.#file.name} became shorter while it was read`);
    this.#base = position;
    this.#filled = wanted;
    return 0;
  }
}
