/**
 * Follows the frames that a server sends, without keeping their bytes: tells whether the stream is
 * between two frames, and whether a close frame has passed. RFC 6455, section 5.2:
 *
 * ```
 * byte 0: FIN and opcode │ byte 1: mask (none from a server) and length │ 0, 2 or 8 bytes of length
 * ```
 */
export class FrameEnds {
  /** Bytes of the head that are there, and what they say so far. */
  #headBytes = 0;
  #lengthBytes = 0;
  #length = 0;
  #opcode = 0;
  /** Bytes of the payload that are still to come. */
  #left = 0;
  #hasClosed = false;

  /** True between two frames. */
  get isAtEnd(): boolean {
    return this.#headBytes === 0 && this.#left === 0;
  }

  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#left -= taken;
        at += taken;
      } else {
        this.#readHead(bytes[at] ?? 0);
        at += 1;
      }
    }
  }

  #readHead(byte: number): void {
    this.#headBytes += 1;
    if (this.#headBytes === 1) {
      this.#opcode = byte & 0x0f;
      return;
    }
    if (this.#headBytes === 2) {
      const short = byte & 0x7f;
      this.#lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
      this.#length = this.#lengthBytes === 0 ? short : 0;
    } else {
      this.#length = this.#length * 256 + byte;
    }
    if (this.#headBytes < 2 + this.#lengthBytes) return;
    this.#headBytes = 0;
    this.#left = this.#length;
    if (this.#opcode === closeOpcode) this.#hasClosed = true;
  }
}

const closeOpcode = 0x8;

/** A close frame of a server. `reason` is at most 123 bytes. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason, 'utf8');
  const head = Buffer.from([0x80 | closeOpcode, 2 + text.length, code >> 8, code & 0xff]);
  return Buffer.concat([head, text]);
}
