import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someRuns } from '../../../test/support/share.ts';
import { findBytes, findText, splitText } from './text-search.ts';

const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
/** Long enough for the linear search to be used. */
const filler = 'ab'.repeat(2_000_000);

describe('the search for a text', () => {
  it('finds what the platform finds, in short texts and in long ones', () => {
    fc.assert(
      fc.property(letters, letters, fc.nat(4), (text, part, from) => {
        const start = Math.min(from, text.length);
        expect(findText(text, part, start)).toBe(text.indexOf(part, start));
        const bytes = Buffer.from(text);
        const found = findBytes(Buffer.from(part), bytes, start, bytes.length);
        expect(found).toBe(text.indexOf(part, start));
        if (part !== '') expect(splitText(text, part)).toEqual(text.split(part));
      }),
      { numRuns: someRuns(2_000) },
    );
    fc.assert(
      fc.property(letters, (middle) => {
        const part = `bb${middle}aab`;
        const text = `${filler}${part}${filler}${part}b`;
        expect(findText(text, part, 0)).toBe(text.indexOf(part));
        expect(splitText(text, part)).toEqual(text.split(part));
        const bytes = Buffer.from(text);
        expect(findBytes(Buffer.from(part), bytes, 0, bytes.length)).toBe(text.indexOf(part));
      }),
      { numRuns: 8 },
    );
  });
});
