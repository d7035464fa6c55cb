import { describe, expect, it } from 'vitest';
import { ownText, RecentPieces } from './recent-pieces.ts';

const lengthOf = ({ text }: { readonly text: string }) => text.length;

describe('recent pieces', () => {
  it('are found by their text, and forgotten when others have come since', () => {
    const recent = new RecentPieces<{ readonly text: string; readonly number: number }>(
      40,
      lengthOf,
    );
    const keep = (text: string, number: number) => recent.keep({ text, number });
    keep('a'.repeat(10), 1);
    keep('b'.repeat(10), 2);
    expect(recent.find('a'.repeat(10))?.number).toBe(1);
    expect(recent.find('a'.repeat(9))).toBeUndefined();
    // A full half is the older one; what is still used moves to the younger.
    keep('c'.repeat(10), 3);
    expect(recent.find('a'.repeat(10))?.number).toBe(1);
    keep('d'.repeat(10), 4);
    expect(recent.find('b'.repeat(10))).toBeUndefined();
    expect(recent.find('a'.repeat(10))?.number).toBe(1);
  });

  it('are not kept where one takes the room of all', () => {
    const recent = new RecentPieces<{ readonly text: string }>(40, lengthOf);
    recent.keep({ text: 'a' });
    recent.keep({ text: 'b'.repeat(21) });
    expect(recent.find('b'.repeat(21))).toBeUndefined();
    expect(recent.find('a')).toEqual({ text: 'a' });
  });

  it('have a text of their own', () => {
    const text = 'half \ud83d of a pair, \u2028 and "signs"\n';
    expect(ownText(text)).toBe(text);
  });
});
