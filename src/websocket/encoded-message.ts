import { type BrotliOptions, brotliCompress, constants, gzip } from 'node:zlib';
import { type Compression, compressionTags } from '../protocol/compression.ts';
import { frameChunks, type Opcode } from './frames.ts';

/** How the messages of a connection are compressed and framed. */
export interface Packing {
  readonly opcode: Opcode;
  readonly compression: Compression;
}

/**
 * One encoded message, or several concatenated. Connections that get the same messages share one
 * object, so that they are framed and compressed only once.
 */
export class EncodedMessage {
  /** The encoding in parts: large ones are not copied. */
  readonly #parts: readonly Uint8Array[];
  readonly byteCount: number;
  #messageCount = 1;
  #frame: readonly Uint8Array[] | undefined;
  /** The last frame that tells an offset: connections that are alike are at the same one. */
  #frameAt: { readonly offset: number; readonly chunks: readonly Uint8Array[] } | undefined;
  /** Created on demand, as is the body of each: most messages are small and sent uncompressed. */
  #frames: Map<Compression, Promise<readonly Uint8Array[]>> | undefined;
  #compressed: Map<Compression, Promise<Uint8Array>> | undefined;

  constructor(...parts: readonly Uint8Array[]) {
    this.#parts = parts;
    let byteCount = 0;
    for (const part of parts) byteCount += part.length;
    this.byteCount = byteCount;
  }

  /** Wraps `bytes`, which holds messages concatenated without separators. */
  static several(bytes: Uint8Array, messageCount: number): EncodedMessage {
    const outgoing = new EncodedMessage(bytes);
    outgoing.#messageCount = messageCount;
    return outgoing;
  }

  /** Concatenates messages without separators. */
  static joined(messages: readonly EncodedMessage[]): EncodedMessage {
    const bytes = Buffer.concat(messages.flatMap((message) => message.#parts));
    const messageCount = messages.reduce((sum, message) => sum + message.#messageCount, 0);
    return EncodedMessage.several(bytes, messageCount);
  }

  get messageCount(): number {
    return this.#messageCount;
  }

  /** Returns the uncompressed frame of this message alone; `offset`: its first bytes tell that. */
  frame(opcode: Opcode, offset?: number): readonly Uint8Array[] {
    if (offset !== undefined) {
      if (this.#frameAt?.offset === offset) return this.#frameAt.chunks;
      const chunks = frameAt(offset, compressionTags.none, this.#parts);
      this.#frameAt = { offset, chunks };
      return chunks;
    }
    this.#frame ??= frameChunks(
      opcode,
      opcode === 'text' ? undefined : compressionTags.none,
      this.#parts,
    );
    return this.#frame;
  }

  /** Returns the compressed frame. Rejects only when memory is short. */
  compressedFrame(
    compression: Exclude<Compression, 'none'>,
    offset?: number,
  ): Promise<readonly Uint8Array[]> {
    const tag = compressionTags[compression];
    if (offset !== undefined) {
      return this.#packed(compression).then((packed) => frameAt(offset, tag, [packed]));
    }
    this.#frames ??= new Map();
    const known = this.#frames.get(compression);
    if (known !== undefined) return known;
    const frame = this.#packed(compression).then((packed) => frameChunks('binary', tag, [packed]));
    this.#frames.set(compression, frame);
    return frame;
  }

  #packed(compression: Exclude<Compression, 'none'>): Promise<Uint8Array> {
    this.#compressed ??= new Map();
    const known = this.#compressed.get(compression);
    if (known !== undefined) return known;
    const [first = noBytes, ...others] = this.#parts;
    const packed = compressed(
      compression,
      others.length === 0 ? first : Buffer.concat(this.#parts),
    );
    this.#compressed.set(compression, packed);
    return packed;
  }
}

/** A frame that begins with an offset; see `protocol/v3.ts`. */
function frameAt(offset: number, tag: number, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const head = new Uint8Array(9);
  new DataView(head.buffer).setBigUint64(0, BigInt(offset), true);
  head[8] = tag;
  return frameChunks('binary', undefined, [head, ...parts]);
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
