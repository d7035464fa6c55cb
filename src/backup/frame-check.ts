import { limits } from '../limits.ts';
import { RecordHash } from '../log/checksum.ts';
import { recordBytes, recordHeaderBytes } from '../log/record.ts';

/** A frame that was checked; its payload is `bytes[payloadStart, payloadEnd)`, during the call. */
export interface Frame {
  readonly kind: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly payloadStart: number;
  readonly payloadEnd: number;
  /** Bytes with header and padding. */
  readonly length: number;
}

/** Chain hash before or after a frame. */
export interface Chain {
  readonly chainLow: number;
  readonly chainHigh: number;
}

/** Content that is not what a log or a snapshot holds. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/**
 * Checks the frames of a segment or a snapshot (both have the form of log records) as their bytes
 * pass by: length, checksum and chain. Holds at most one frame.
 */
export class FrameCheck {
  readonly #salt: number;
  readonly #onFrame: (frame: Frame) => void;
  readonly #hash = new RecordHash();
  #chainLow: number;
  #chainHigh: number;
  #bytes = new Uint8Array(new ArrayBuffer(64 * 1024));
  #words = new Int32Array(this.#bytes.buffer);
  #filled = 0;

  /** `onFrame` is called for each frame; an error that it throws ends the check. */
  constructor(salt: number, chain: Chain, onFrame: (frame: Frame) => void) {
    this.#salt = salt;
    this.#chainLow = chain.chainLow;
    this.#chainHigh = chain.chainHigh;
    this.#onFrame = onFrame;
  }

  /** The chain hash after the last frame. */
  get chain(): Chain {
    return { chainLow: this.#chainLow, chainHigh: this.#chainHigh };
  }

  push(piece: Uint8Array): void {
    this.#reserve(this.#filled + piece.length);
    this.#bytes.set(piece, this.#filled);
    this.#filled += piece.length;
    let at = 0;
    while (this.#filled - at >= recordHeaderBytes) {
      const length = this.#frameBytes(at);
      if (this.#filled - at < length) {
        // The rest of a large frame comes in many pieces: its room is made once.
        if (at === 0) this.#reserve(length);
        break;
      }
      this.#frame(at, length);
      at += length;
    }
    if (at === 0) return;
    this.#bytes.copyWithin(0, at, this.#filled);
    this.#filled -= at;
  }

  /** Throws if the content ended inside a frame. */
  finish(): void {
    if (this.#filled > 0) throw new FrameError('the file ends inside a record');
  }

  #frameBytes(at: number): number {
    const payloadBytes = (this.#words[at >>> 2] as number) >>> 0;
    if (payloadBytes > limits.recordBytesMax - recordHeaderBytes) {
      throw new FrameError('the length of a record is over the limit');
    }
    return recordBytes(payloadBytes);
  }

  #frame(at: number, length: number): void {
    const words = this.#words;
    const word = at >>> 2;
    this.#hash.overRecord(words, word, (at + length) >>> 2, this.#salt);
    if (this.#hash.crc !== words[word + 1]) {
      throw new FrameError('the checksum of a record does not match');
    }
    if (words[word + 6] !== this.#chainLow || words[word + 7] !== this.#chainHigh) {
      throw new FrameError('a record follows another one');
    }
    this.#chainLow = this.#hash.chainLow;
    this.#chainHigh = this.#hash.chainHigh;
    const high = words[word + 3] as number;
    this.#onFrame({
      kind: high >>> 24,
      offset: (high & 0xff_ffff) * 0x1_0000_0000 + ((words[word + 2] as number) >>> 0),
      bytes: this.#bytes,
      payloadStart: at + recordHeaderBytes,
      payloadEnd: at + recordHeaderBytes + ((words[word] as number) >>> 0),
      length,
    });
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const grown = new Uint8Array(new ArrayBuffer(Math.ceil((bytes * 1.25) / 8) * 8));
    grown.set(this.#bytes.subarray(0, this.#filled));
    this.#bytes = grown;
    this.#words = new Int32Array(grown.buffer);
  }
}
