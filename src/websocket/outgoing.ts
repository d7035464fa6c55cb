import { type BrotliOptions, brotliCompress, constants, gzip } from 'node:zlib';
import { type Compression, compressionTags } from '../protocol/compression.ts';
import { frameChunks, type Opcode } from './frames.ts';

/** How the bodies of a connection's messages are packed. */
export interface Packing {
  readonly opcode: Opcode;
  readonly compression: Compression;
}

/**
 * An encoded message, or several that stand one after another. Connections that get the same share
 * one object, so that its frame is made once, and its body compressed once.
 */
export class Outgoing {
  /** The encoding, in pieces: what was large is not copied. */
  readonly #parts: readonly Uint8Array[];
  readonly byteCount: number;
  #messageCount = 1;
  #frame: readonly Uint8Array[] | undefined;
  /** Made when it is needed: most messages are small and go as they are. */
  #compressed: Map<Compression, Promise<readonly Uint8Array[]>> | undefined;

  constructor(...parts: readonly Uint8Array[]) {
    this.#parts = parts;
    let byteCount = 0;
    for (const part of parts) byteCount += part.length;
    this.byteCount = byteCount;
  }

  /** Messages that stand in `bytes` one after another, without anything between. */
  static several(bytes: Uint8Array, messageCount: number): Outgoing {
    const outgoing = new Outgoing(bytes);
    outgoing.#messageCount = messageCount;
    return outgoing;
  }

  /** One after another, without anything between. */
  static joined(messages: readonly Outgoing[]): Outgoing {
    const bytes = Buffer.concat(messages.flatMap((message) => message.#parts));
    const messageCount = messages.reduce((sum, message) => sum + message.#messageCount, 0);
    return Outgoing.several(bytes, messageCount);
  }

  get messageCount(): number {
    return this.#messageCount;
  }

  /** The frame of this message alone, not compressed. */
  frame(opcode: Opcode): readonly Uint8Array[] {
    this.#frame ??= frameChunks(
      opcode,
      opcode === 'text' ? undefined : compressionTags.none,
      this.#parts,
    );
    return this.#frame;
  }

  /** The same, compressed. Rejects only when memory is short. */
  compressedFrame(compression: Exclude<Compression, 'none'>): Promise<readonly Uint8Array[]> {
    this.#compressed ??= new Map();
    const known = this.#compressed.get(compression);
    if (known !== undefined) return known;
    const [first = noBytes, ...others] = this.#parts;
    const body = others.length === 0 ? first : Buffer.concat(this.#parts);
    const frame = compressed(compression, body).then((packed) =>
      frameChunks('binary', compressionTags[compression], [packed]),
    );
    this.#compressed.set(compression, frame);
    return frame;
  }
}

const noBytes = new Uint8Array(0);
const brotliFast: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const gzipFast = { level: 1 };

function compressed(
  compression: Exclude<Compression, 'none'>,
  body: Uint8Array,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, result: Uint8Array): void => {
      if (error === null) resolve(result);
      else reject(error);
    };
    if (compression === 'brotli') brotliCompress(body, brotliFast, done);
    else gzip(body, gzipFast, done);
  });
}
