import { assert } from '../assert.ts';

/** A payload with a valid checksum makes no sense: another version wrote it. */
export class RecordFormatError extends Error {
  override readonly name = 'RecordFormatError';
}

/** Reads the parts of a payload, `bytes[start, end)`. Throws `RecordFormatError`. */
export class PayloadReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    assert(start <= end && end <= bytes.length, 'a payload lies inside the bytes it is read from');
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  u8(): number {
    return this.raw(1)[0] ?? 0;
  }

  flag(): boolean {
    const value = this.u8();
    if (value > 1) throw new RecordFormatError(`flag with the value ${value}`);
    return value === 1;
  }

  varint(): number {
    let value = 0;
    let weight = 1;
    for (let count = 0; count < 8; count++) {
      if (this.#at >= this.#end) throw new RecordFormatError('the payload ends inside a number');
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 127) * weight;
      if (byte < 128) return value;
      weight *= 128;
    }
    throw new RecordFormatError('a number of more than 53 bits');
  }

  /** An unsigned number of `words` 64-bit words. */
  wide(words: number): bigint {
    const bytes = this.raw(words * 8);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let value = 0n;
    for (let word = words - 1; word >= 0; word--) {
      value = (value << 64n) | view.getBigUint64(word * 8, true);
    }
    return value;
  }

  raw(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#end) throw new RecordFormatError('the payload ends too early');
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  counted(): Uint8Array {
    return this.raw(this.varint());
  }

  rest(): Uint8Array {
    return this.raw(this.#end - this.#at);
  }

  finish(): void {
    if (this.#at !== this.#end) throw new RecordFormatError('bytes after the end of the payload');
  }
}
