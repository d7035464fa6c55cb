import { describe, expect, it } from 'vitest';
import { cpuMillis } from '../../../test/support/cpu-millis.ts';
import { checkedEscape, likeMatcher } from './like.ts';

function like(text: string, pattern: string, character = '\\'): boolean {
  return likeMatcher(pattern, { escape: character, ignoresCase: false })(text);
}

function ilike(text: string, pattern: string): boolean {
  return likeMatcher(pattern, { escape: '\\', ignoresCase: true })(text);
}

describe('LIKE', () => {
  it.each([
    ['hello', 'hello', true],
    ['hello', 'h%', true],
    ['hello', '%o', true],
    ['hello', '%ell%', true],
    ['hello', 'h_llo', true],
    ['hello', 'H%', false],
    ['hello', '', false],
    ['', '%', true],
    ['', '', true],
    ['', '_', false],
    ['aba', 'ab%ba', false],
    ['abba', 'ab%ba', true],
    ['a😀b', 'a_b', true],
    ['😀', '__', false],
    ['50%', '50\\%', true],
    ['50x', '50\\%', false],
    ['a\\b', 'a\\\\b', true],
    ['line\nbreak', 'line%', true],
  ])('%s LIKE %s: %s', (text, pattern, expected) => {
    expect(like(text, pattern)).toBe(expected);
  });

  it('the escape character can be another one, or none', () => {
    expect(like('50%', '50!%', '!')).toBe(true);
    expect(like('a\\b', 'a\\b', '!')).toBe(true);
    expect(like('a\\b', 'a\\_', '')).toBe(true);
    expect(() => checkedEscape('ab')).toThrow('ESCAPE takes one character or none');
    expect(checkedEscape('😀')).toBe('😀');
  });

  it('a pattern that ends with its escape character is an error', () => {
    expect(() => like('a', 'a\\')).toThrow('ends with its escape character');
    expect(like('a\\', 'a\\\\')).toBe(true);
  });

  it('ILIKE looks past the case of letters, one by one', () => {
    expect(ilike('HeLLo', 'hEllO')).toBe(true);
    expect(ilike('ÀÉ', 'à%')).toBe(true);
    expect(ilike('ΣΑΣ', 'σας')).toBe(true);
    expect(ilike('straße', 'STRASSE')).toBe(false);
    expect(ilike('İ', '_')).toBe(true);
    expect(ilike('K', 'k')).toBe(true);
  });

  it('patterns that make other matchers try everything take no time', () => {
    const text = `${'a'.repeat(20_000)}b`;
    const begin = cpuMillis();
    expect(like(text, `${'%a'.repeat(200)}%c`)).toBe(false);
    expect(like(text, `${'%_a'.repeat(200)}%c`)).toBe(false);
    expect(like('a'.repeat(1_000_000), `%b${'a'.repeat(100_000)}%`)).toBe(false);
    expect(cpuMillis() - begin).toBeLessThan(1_000);
  });

  it('a text that would take too long for a pattern with _ is refused', () => {
    const text = 'a'.repeat(1_000_000);
    expect(() => like(text, `%${'_b'.repeat(1_000)}%`)).toThrow('too long for a LIKE pattern');
    expect(like(text, `${'_a'.repeat(1_000)}%`)).toBe(true);
  });
});
