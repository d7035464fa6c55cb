import { expect, it } from 'vitest';
import { WordMap } from './word-map.ts';

it('[history 2.32] words that stay come, also when all were away between two steps', () => {
  const map = new WordMap<number>();
  const words = ['abc1', 'abc2', 'abc3', 'abd', 'x'];
  const add = () => {
    for (const [at, word] of words.entries()) map.set(word, at);
  };
  add();
  for (let steps = 0; steps <= words.length; steps++) {
    const entries = map.entries();
    const found: string[] = [];
    for (let left = steps; left > 0; left--) found.push(entries.next().value?.[0] ?? '');
    // A transaction that removes all of them, and is rolled back.
    for (const word of words) map.delete(word);
    expect(map.size).toBe(0);
    add();
    for (const [word] of entries) found.push(word);
    expect([...new Set(found)].sort()).toEqual(words);
  }
});
