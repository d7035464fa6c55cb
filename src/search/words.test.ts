import { describe, expect, it } from 'vitest';
import { eachWord } from './words.ts';

function words(text: string): string[] {
  const found: string[] = [];
  eachWord(text, (word) => found.push(word));
  return found;
}

describe('[ease 3.11] words of a text', () => {
  it.each([
    ['', []],
    [' - ., ', []],
    ['The red FOX', ['the', 'red', 'fox']],
    ["it's wi-fi, foo_bar 3.14", ['it', 's', 'wi', 'fi', 'foo', 'bar', '3', '14']],
    ['Ærøskøbing Straße ŁÓDŹ Zürich', ['aeroskobing', 'strasse', 'lodz', 'zurich']],
    ['año ano an\u0303o', ['año', 'ano', 'año']],
    ['Ελλάδα Москва й', ['ελλαδα', 'москва', 'й']],
    ['\uff26\uff35\uff2c\uff2c ﬁne ½', ['full', 'fine', '1⁄2']],
    ['हिन्दी عربي', ['हिन्दी', 'عربي']],
    ['東京都に', ['東京', '京都', '都に', 'に']],
    ['abc東x', ['abc', '東', 'x']],
    ['カード・1、𠮷野', ['カー', 'ード', 'ド', '1', '𠮷野', '野']],
    ['😀a😀', ['a']],
    ['\ud83dx \ude00', ['x']],
  ] as const)('%j', (text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  it('are where they say, in UTF-16 units', () => {
    const text = 'Über 😀 東京, x';
    const places: string[] = [];
    eachWord(text, (_, from, to) => places.push(text.slice(from, to)));
    expect(places).toEqual(['Über', '東京', '京', 'x']);
  });

  it('are compared by their first 64 units', () => {
    expect(words('x'.repeat(1000))).toEqual(['x'.repeat(64)]);
  });

  it('take time in proportion to the text', () => {
    const start = performance.now();
    for (const part of ['x', 'é', '東', 'x ', 'e\u0301']) words(part.repeat(300_000));
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
