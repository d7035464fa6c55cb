import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { limits } from '../limits.ts';
import { fastGzip } from '../node/gzip.ts';

/**
 * How the content of an object is stored: gzip of level 1, one member for each MiB, so that any
 * tool opens it; in an encrypted repository then in the format of `age`. Equal content gives equal
 * bytes where nothing is encrypted, whatever the sizes of the pieces that it comes in.
 */
export interface BodyFacts {
  /** Of what is stored. */
  readonly storedBytes: number;
  readonly storedHash: string;
  /** Of the content. */
  readonly bytes: number;
  readonly hash: string;
}

/** Encrypts or decrypts a stream of bytes. */
export type Cipher = (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** Counts and hashes what passes through. */
export class ByteCount {
  bytes = 0;
  readonly #hash: Hash = createHash('sha256');

  async *over(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of pieces) {
      this.bytes += piece.length;
      this.#hash.update(piece);
      yield piece;
    }
  }

  /** The SHA-256 of all of it, as hexadecimal digits. Can be taken once. */
  hash(): string {
    return this.#hash.digest('hex');
  }
}

/** A body to be stored; `facts` can be called once, after all of `pieces` was read. */
export interface PackedBody {
  readonly pieces: AsyncIterable<Uint8Array>;
  facts(): BodyFacts;
}

/** Stores `content`, which is read once. */
export function packBody(content: AsyncIterable<Uint8Array>, encrypt?: Cipher): PackedBody {
  const inner = new ByteCount();
  const stored = new ByteCount();
  const packed = gzipped(inner.over(content));
  return {
    pieces: stored.over(encrypt === undefined ? packed : encrypt(packed)),
    facts: () => ({
      storedBytes: stored.bytes,
      storedHash: stored.hash(),
      bytes: inner.bytes,
      hash: inner.hash(),
    }),
  };
}

/** The content of a stored body. It can end early, or throw any error, if the body is damaged. */
export function unpackBody(
  stored: AsyncIterable<Uint8Array>,
  decrypt?: Cipher,
): AsyncIterable<Uint8Array> {
  return gunzipped(decrypt === undefined ? stored : decrypt(stored));
}

/**
 * Packs on its own thread: the pool of the process ranks with the gateway, and databases that are
 * being backed up would wait for it.
 */
async function* gzipped(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let isEmpty = true;
  for await (const piece of evenPieces(content, limits.backupPieceBytes)) {
    isEmpty = false;
    yield zlib.gzipSync(piece, fastGzip);
  }
  if (isEmpty) yield zlib.gzipSync(new Uint8Array(0), fastGzip);
}

/** The same bytes in pieces of exactly `pieceBytes`, but for the last. */
export async function* evenPieces(
  content: AsyncIterable<Uint8Array>,
  pieceBytes: number,
): AsyncIterable<Uint8Array> {
  let filled = 0;
  let piece = new Uint8Array(pieceBytes);
  for await (const bytes of content) {
    for (let at = 0; at < bytes.length; ) {
      const length = Math.min(bytes.length - at, pieceBytes - filled);
      piece.set(bytes.subarray(at, at + length), filled);
      at += length;
      filled += length;
      if (filled < pieceBytes) continue;
      yield piece;
      piece = new Uint8Array(pieceBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}

async function* gunzipped(stored: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const gunzip = zlib.createGunzip({ chunkSize: 256 * 1024 });
  const feeding = pipeline(Readable.from(stored, { objectMode: true }), gunzip);
  // Its error also ends `gunzip`; that of a consumer that stops early concerns nobody.
  feeding.catch(() => undefined);
  try {
    for await (const piece of gunzip) yield piece;
  } finally {
    gunzip.destroy();
  }
  await feeding;
}
