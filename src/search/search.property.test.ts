import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someRuns } from '../../test/support/share.ts';
import { Search } from './search.ts';

/** A query by its definition, over a list of words. */
type Asked =
  | { readonly kind: 'word' | 'prefix'; readonly text: string }
  | { readonly kind: 'phrase'; readonly parts: readonly string[] }
  | { readonly kind: 'and' | 'or'; readonly left: Asked; readonly right: Asked }
  | { readonly kind: 'not'; readonly inner: Asked };

const word = fc.constantFrom('a', 'b', 'c', 'ab', 'abc', 'ba', 'cab');

const asked: fc.Arbitrary<Asked> = fc.letrec<{ node: Asked }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ kind: fc.constantFrom('word', 'prefix'), text: word }),
    fc.record({
      kind: fc.constant('phrase' as const),
      parts: fc.array(word, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constantFrom('and', 'or'), left: tie('node'), right: tie('node') }),
    fc.record({ kind: fc.constant('not' as const), inner: tie('node') }),
  ),
})).node;

function written(query: Asked): string {
  switch (query.kind) {
    case 'word':
      return query.text;
    case 'prefix':
      return `${query.text}*`;
    case 'phrase':
      return `"${query.parts.join(' ')}"`;
    case 'and':
      return `(${written(query.left)} AND ${written(query.right)})`;
    case 'or':
      return `(${written(query.left)} OR ${written(query.right)})`;
    case 'not':
      return `NOT (${written(query.inner)})`;
  }
}

function holds(query: Asked, words: readonly string[]): boolean {
  switch (query.kind) {
    case 'word':
      return words.includes(query.text);
    case 'prefix':
      return words.some((one) => one.startsWith(query.text));
    case 'phrase':
      return ` ${words.join(' ')} `.includes(` ${query.parts.join(' ')} `);
    case 'and':
      return holds(query.left, words) && holds(query.right, words);
    case 'or':
      return holds(query.left, words) || holds(query.right, words);
    case 'not':
      return !holds(query.inner, words);
  }
}

describe('[ease 3.11] a search', () => {
  it('finds what its definition says', () => {
    const texts = fc.array(fc.array(word, { maxLength: 8 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(asked, texts, (query, all) => {
        const search = new Search(written(query), 'simple');
        for (const words of all) {
          expect(search.matches(words.join(', '))).toBe(holds(query, words));
        }
      }),
      { numRuns: someRuns(4_000) },
    );
  });

  it('changes nothing of a text but for its marks, and marks only words of the query', () => {
    const text = fc.array(fc.oneof(word, fc.constantFrom('東京都', 'ÄB', '😀', '-')), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(asked, text, (query, parts) => {
        const search = new Search(`${written(query)} 京都 äb`, 'simple');
        const joined = parts.join(' ');
        const marked = search.marked(joined, '<', '>');
        expect(marked.replaceAll(/[<>]/g, '')).toBe(joined);
        expect(marked.replaceAll(/[^<>]/g, '').replaceAll('<>', '')).toBe('');
        if (parts.includes('東京都')) expect(marked).toContain('東<京都>');
        if (parts.includes('ÄB')) expect(marked).toContain('<ÄB>');
      }),
      { numRuns: someRuns(2_000) },
    );
  });
});
