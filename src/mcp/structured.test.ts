import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteWideIntegers, structuredJson } from './structured.ts';

/** Texts with digits that are not part of a number. */
const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', '1', '-', ',') }));
const texts = fc.dictionary(text, fc.array(text));

describe('structured results', () => {
  it.each([
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '"9007199254740992"'],
    ['-9007199254740991', '-9007199254740991'],
    ['-9007199254740993', '"-9007199254740993"'],
    ['[18446744073709551615,1]', '["18446744073709551615",1]'],
    ['"18446744073709551615"', '"18446744073709551615"'],
    ['{"a\\"":12345678901234567890}', '{"a\\"":"12345678901234567890"}'],
    ['"a \\\\",12345678901234567890', '"a \\\\","12345678901234567890"'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['12345678901234567890.5', '12345678901234567890.5'],
    ['1e21', '1e21'],
  ])('[mcp B6] %s becomes %s', (json, quoted) => {
    expect(quoteWideIntegers(json)).toBe(quoted);
  });

  it('[mcp B6] changes nothing but integers that a number would round', () => {
    fc.assert(
      fc.property(texts, fc.bigInt(), (value, wide) => {
        const json = `[${JSON.stringify(value)},${wide}]`;
        const isSafe = Number.isSafeInteger(Number(wide));
        const expected = [value, isSafe ? Number(wide) : String(wide)];
        expect(JSON.parse(quoteWideIntegers(json))).toEqual(expected);
      }),
    );
  });

  it('[mcp B6] bear a text of any length', () => {
    const long = JSON.stringify('\\"'.repeat(2 ** 23));
    const json = quoteWideIntegers(`[${long},18446744073709551615]`);
    expect(json === `[${long},"18446744073709551615"]`).toBe(true);
  });

  it('leaves out members that are not there', () => {
    expect(structuredJson({ a: '1', b: undefined, c: '"x"' })).toBe('{"a":1,"c":"x"}');
  });
});
