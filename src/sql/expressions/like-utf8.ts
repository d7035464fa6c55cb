import { readU32 } from '../../values/read-bytes.ts';
import type { LikePiece } from '../functions/like.ts';
import { findBytes, standsAt } from '../functions/text-search.ts';
import { encodeQueryValue } from '../functions/value-codec.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import type { BytesTest } from './bytes-test.ts';

/**
 * LIKE over encoded strings, for patterns without `_`: their pieces are found as bytes, because no
 * character of UTF-8 begins inside another. `undefined` for all other patterns.
 */
export function utf8Matcher(pieces: readonly LikePiece[]): BytesTest | undefined {
  const texts: Uint8Array[] = [];
  for (const { text } of pieces) {
    if (text === undefined) return undefined;
    texts.push(encodeQueryValue(scalarTypes.string, text).subarray(4));
  }
  const [first, ...others] = texts as [Uint8Array, ...Uint8Array[]];
  const last = others.pop();
  if (last === undefined) {
    return (bytes, at) => readU32(bytes, at) === first.length && standsAt(first, bytes, at + 4);
  }
  const inner = others.filter(({ length }) => length > 0);
  const lengthMin = texts.reduce((total, { length }) => total + length, 0);
  return (bytes, start) => {
    const length = readU32(bytes, start);
    if (length < lengthMin) return false;
    let at = start + 4;
    const end = at + length;
    if (!standsAt(first, bytes, at)) return false;
    at += first.length;
    for (const piece of inner) {
      at = findBytes(piece, bytes, at, end);
      if (at < 0) return false;
      at += piece.length;
    }
    return end - last.length >= at && standsAt(last, bytes, end - last.length);
  };
}
