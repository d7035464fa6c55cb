import { assert } from '../assert.ts';

/**
 * Frames on a stream between two processes of the service. Numbers are little-endian:
 *
 * ```
 * byte count of the rest u32 · kind u8 · body
 * ```
 *
 * The two ends define the kinds and the bodies.
 */
const headBytes = 5;

/** Frames up to this size are joined and written at once. */
const joinedBytesMax = 64 * 1024;

/** A frame, in pieces to be written one after another. `byteCountMax` is that of its reader. */
export function framed(
  kind: number,
  body: readonly Uint8Array[],
  byteCountMax: number,
): readonly Uint8Array[] {
  let byteCount = 1;
  for (const piece of body) byteCount += piece.length;
  assert(byteCount <= byteCountMax, 'a frame is not longer than its reader takes');
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt32LE(byteCount, 0);
  head[4] = kind;
  const pieces = [head, ...body];
  return byteCount > joinedBytesMax ? pieces : [Buffer.concat(pieces, byteCount + 4)];
}

/** Receives a frame. The receiver owns the body, which may share its buffer with other frames. */
export type ReceiveFrame = (kind: number, body: Buffer) => void;

/**
 * Assembles frames from the chunks of a stream. A frame within one chunk is not copied, any other
 * is copied once. The other side may be anything that a hostile module has made of its process, so
 * `push` throws on an invalid frame; nothing can be read from that stream afterwards.
 */
export class FrameReader {
  readonly #byteCountMax: number;
  /** The beginning of a frame whose byte count has not fully arrived. */
  #head: Buffer = nothing;
  /** A partly received frame, from its kind on. */
  #partial: Buffer | undefined;
  #partialBytes = 0;

  /** `byteCountMax`: of the kind and the body of one frame. */
  constructor(byteCountMax: number) {
    this.#byteCountMax = byteCountMax;
  }

  /**
   * Passes each frame that ends in this chunk to `receive`, until `isEnough` returns true after one
   * of them. Returns the rest, which must be pushed before anything else.
   */
  push(chunk: Buffer, receive: ReceiveFrame, isEnough: () => boolean = never): Buffer {
    let rest = chunk;
    while (rest.length > 0) {
      rest =
        this.#partial === undefined
          ? this.#begin(rest, receive)
          : this.#continue(this.#partial, rest, receive);
      if (isEnough()) return rest;
    }
    return rest;
  }

  #begin(chunk: Buffer, receive: ReceiveFrame): Buffer {
    const bytes = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    if (bytes.length < 4) {
      this.#head = bytes;
      return nothing;
    }
    this.#head = nothing;
    const byteCount = bytes.readUInt32LE(0);
    if (byteCount < 1 || byteCount > this.#byteCountMax) {
      throw new RangeError(`a frame of ${byteCount} bytes`);
    }
    const end = 4 + byteCount;
    if (bytes.length >= end) {
      receive(bytes.readUInt8(4), bytes.subarray(headBytes, end));
      return bytes.subarray(end);
    }
    this.#partial = Buffer.allocUnsafe(byteCount);
    this.#partialBytes = 0;
    return bytes.subarray(4);
  }

  #continue(partial: Buffer, chunk: Buffer, receive: ReceiveFrame): Buffer {
    const taken = Math.min(chunk.length, partial.length - this.#partialBytes);
    chunk.copy(partial, this.#partialBytes, 0, taken);
    this.#partialBytes += taken;
    if (this.#partialBytes === partial.length) {
      this.#partial = undefined;
      receive(partial.readUInt8(0), partial.subarray(1));
    }
    return chunk.subarray(taken);
  }
}

const nothing = Buffer.alloc(0);

function never(): boolean {
  return false;
}
