import type { LikePiece } from '../functions/like.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import type { BytesTest } from './bytes-test.ts';
import { readU32 } from './read-bytes.ts';
import { encodeQueryValue } from './value-codec.ts';

/**
 * LIKE over encoded strings, for patterns without `_`: their pieces are found as bytes, because no
 * character of UTF-8 begins inside of another. `undefined` for all other patterns.
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
      at = findFrom(piece, bytes, at, end);
      if (at < 0) return false;
    }
    return end - last.length >= at && standsAt(last, bytes, end - last.length);
  };
}

function standsAt(piece: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let index = 0; index < piece.length; index++) {
    if (bytes[at + index] !== piece[index]) return false;
  }
  return true;
}

/** The offset behind the first occurrence of `piece` in `bytes[from, end)`, or -1. */
function findFrom(piece: Uint8Array, bytes: Uint8Array, from: number, end: number): number {
  const first = piece[0];
  const last = end - piece.length;
  for (let at = from; at <= last; at++) {
    if (bytes[at] === first && standsAt(piece, bytes, at)) return at + piece.length;
  }
  return -1;
}
