import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someRuns } from '../../../test/support/share.ts';
import { utf8Matcher } from '../expressions/like-utf8.ts';
import { foldCase, likeMatcher, likePieces } from './like.ts';
import { encodeQueryValue } from './value-codec.ts';
import { scalarTypes } from './value-kind.ts';

/** LIKE by its definition, one character of the pattern after the other. */
function slowLike(pattern: readonly string[], text: readonly string[], mark: string): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text.length === 0;
  if (first === mark) {
    const [literal, ...behind] = rest;
    return text[0] === literal && text.length > 0 && slowLike(behind, text.slice(1), mark);
  }
  if (first === '%') {
    for (let skipped = 0; skipped <= text.length; skipped++) {
      if (slowLike(rest, text.slice(skipped), mark)) return true;
    }
    return false;
  }
  if (text.length === 0) return false;
  return (first === '_' || first === text[0]) && slowLike(rest, text.slice(1), mark);
}

const character = fc.constantFrom('a', 'b', 'A', 'é', '😀', '😃', '%', '_', '\\');
const texts = fc.array(character, { maxLength: 8 });
const patterns = fc.array(fc.oneof(character, fc.constantFrom('%', '_', 'a')), { maxLength: 7 });

function endsInEscape(pattern: readonly string[]): boolean {
  let isEscaped = false;
  for (const point of pattern) isEscaped = !isEscaped && point === '\\';
  return isEscaped;
}

describe('LIKE', () => {
  it('is what its definition says', () => {
    fc.assert(
      fc.property(patterns, texts, (pattern, text) => {
        if (endsInEscape(pattern)) return;
        const match = likeMatcher(pattern.join(''), { escape: '\\', ignoresCase: false });
        expect(match(text.join(''))).toBe(slowLike(pattern, text, '\\'));
      }),
      { numRuns: someRuns(4_000) },
    );
  });

  it('is the same over encoded strings', () => {
    fc.assert(
      fc.property(patterns, texts, fc.nat(3), (pattern, text, before) => {
        if (endsInEscape(pattern)) return;
        const options = { escape: '\\', ignoresCase: false };
        const matches = utf8Matcher(likePieces(pattern.join(''), options));
        if (matches === undefined) return;
        const encoded = encodeQueryValue(scalarTypes.string, text.join(''));
        const row = new Uint8Array(before + encoded.length + 3).fill(97);
        row.set(encoded, before);
        expect(matches(row, before)).toBe(slowLike(pattern, text, '\\'));
      }),
      { numRuns: someRuns(4_000) },
    );
  });

  it('ILIKE is LIKE over folded texts', () => {
    fc.assert(
      fc.property(patterns, texts, (pattern, text) => {
        if (endsInEscape(pattern)) return;
        const match = likeMatcher(pattern.join(''), { escape: '\\', ignoresCase: true });
        const folded = pattern.map(foldCase);
        expect(match(text.join(''))).toBe(slowLike(folded, text.map(foldCase), '\\'));
      }),
      { numRuns: someRuns(2_000) },
    );
  });
});
