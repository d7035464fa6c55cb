import { type BrotliOptions, brotliCompress, constants, gzip } from 'node:zlib';
import { type Compression, compressionTags } from '../protocol/compression.ts';
import { frameChunks, type Opcode } from './frames.ts';

/** How the bodies of a connection's messages are packed. */
export interface Packing {
  readonly opcode: Opcode;
  readonly compression: Compression;
}

/**
 * An encoded message. Connections that get the same message share one object, so that its frame is
 * made once, and its body compressed once.
 */
export class Outgoing {
  readonly body: Uint8Array;
  #frame: readonly Uint8Array[] | undefined;
  readonly #compressed = new Map<Compression, Promise<readonly Uint8Array[]>>();

  constructor(body: Uint8Array) {
    this.body = body;
  }

  /** The frame of this message alone, not compressed. */
  frame(opcode: Opcode): readonly Uint8Array[] {
    this.#frame ??= frameChunks(
      opcode,
      opcode === 'text' ? undefined : compressionTags.none,
      this.body,
    );
    return this.#frame;
  }

  /** The same, compressed. Rejects only when memory is short. */
  compressedFrame(compression: Exclude<Compression, 'none'>): Promise<readonly Uint8Array[]> {
    const known = this.#compressed.get(compression);
    if (known !== undefined) return known;
    const frame = compressed(compression, this.body).then((body) =>
      frameChunks('binary', compressionTags[compression], body),
    );
    this.#compressed.set(compression, frame);
    return frame;
  }
}

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
