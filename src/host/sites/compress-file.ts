import { pipeline } from 'node:stream/promises';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import { limits } from '../../limits.ts';
import type { Draft, Shelf } from './shelf.ts';

/** Encodings in which a file may be kept besides its own form, best first. */
export const siteEncodings = ['br', 'gzip'] as const;
export type SiteEncoding = (typeof siteEncodings)[number];

/** The name of a content in an encoding; without one, that of the content itself. */
export function shelfName(hash: string, encoding?: SiteEncoding): string {
  if (encoding === undefined) return hash;
  return `${hash}.${encoding === 'gzip' ? 'gz' : encoding}`;
}

/** Whether an entry of a shelf is a content, in whatever form. */
export function isContentName(name: string): boolean {
  return /^[\da-f]{64}(?:\.(?:br|gz))?$/.test(name);
}

/** Keeps the compressed forms of a content, of those in which it is smaller. */
export async function keepCompressed(
  shelf: Pick<Shelf, 'draft'>,
  from: Draft,
  { hash, bytes }: { readonly hash: string; readonly bytes: number },
  keep: (draft: Draft, name: string) => Promise<void>,
): Promise<void> {
  for (const encoding of siteEncodings) {
    const compressed = await shelf.draft();
    let length = 0;
    try {
      // The work itself runs on the thread pool of the process.
      await pipeline(from.pieces(), compressor(encoding, bytes), async (pieces) => {
        for await (const piece of pieces as AsyncIterable<Uint8Array>) {
          length += piece.length;
          await compressed.write(piece);
        }
      });
    } catch (error) {
      await compressed.drop();
      throw error;
    }
    if (length < bytes) await keep(compressed, shelfName(hash, encoding));
    else await compressed.drop();
  }
}

function compressor(encoding: SiteEncoding, bytes: number) {
  const isSmall = bytes <= limits.siteCompressFullyBytesMax;
  if (encoding === 'gzip') return createGzip({ level: 9 });
  return createBrotliCompress({
    params: {
      [constants.BROTLI_PARAM_QUALITY]: isSmall ? constants.BROTLI_MAX_QUALITY : 9,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
    },
  });
}
