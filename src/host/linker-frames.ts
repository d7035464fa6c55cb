/** One message of the pipes between the gateway and a linker. */
export interface Frame {
  /** The bytes before the length. */
  readonly head: Uint8Array;
  readonly bytes: Uint8Array;
}

/**
 * Puts messages together from the pieces in which they come through a pipe: a head of fixed
 * length, the length as u32, little-endian, and so many bytes. Each byte is copied once.
 */
export class FrameReader {
  readonly #header: Buffer;
  readonly #bytesMax: number;
  #headerLength = 0;
  #body: Uint8Array | undefined;
  #bodyLength = 0;

  constructor(headBytes: number, bytesMax = 2 ** 32) {
    this.#header = Buffer.alloc(headBytes + 4);
    this.#bytesMax = bytesMax;
  }

  /** The messages that end within `chunk`. Throws when one is longer than it may be. */
  take(chunk: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let rest = chunk;
    while (rest.length > 0 || this.#body?.length === 0) {
      if (this.#body === undefined) rest = this.#takeHeader(rest);
      else rest = this.#takeBody(this.#body, rest, frames);
    }
    return frames;
  }

  #takeHeader(chunk: Uint8Array): Uint8Array {
    const header = this.#header;
    const piece = chunk.subarray(0, header.length - this.#headerLength);
    header.set(piece, this.#headerLength);
    this.#headerLength += piece.length;
    if (this.#headerLength === header.length) {
      const length = header.readUInt32LE(header.length - 4);
      if (length > this.#bytesMax) throw new RangeError(`a message of ${length} bytes`);
      this.#body = new Uint8Array(length);
      this.#bodyLength = 0;
    }
    return chunk.subarray(piece.length);
  }

  #takeBody(body: Uint8Array, chunk: Uint8Array, frames: Frame[]): Uint8Array {
    const piece = chunk.subarray(0, body.length - this.#bodyLength);
    body.set(piece, this.#bodyLength);
    this.#bodyLength += piece.length;
    if (this.#bodyLength === body.length) {
      frames.push({ head: Uint8Array.from(this.#header.subarray(0, -4)), bytes: body });
      this.#body = undefined;
      this.#headerLength = 0;
    }
    return chunk.subarray(piece.length);
  }
}
