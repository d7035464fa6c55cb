import { expect, it } from 'vitest';
import { wordRules } from './word-rules.ts';
import { eachWord } from './words.ts';

it('[history 2.33] the words of texts are those of version 1 of their rules', () => {
  // If this fails, words changed that snapshots may hold: raise `wordsVersion`.
  const found: string[] = [];
  const texts = [
    'The RED Fox’s tail_end, 3.14 e-mails; naïve Ærø Straße ŁÓDŹ an\u0303o ıI',
    'Ελλάδα ΜΟΣΚΒΑ Москва हिन्दी عربي ﬁne ½ ＦＵＬＬ Å',
    `東京都に カード・1、𠮷野 ภาษาไทย ${'x'.repeat(63)}𐐨 ${'y'.repeat(80)}`,
  ];
  for (const text of texts) eachWord(text, (word) => found.push(word));
  expect(found).toEqual([
    ...'the red fox s tail end 3 14 e mails naive aero strasse lodz año ii'.split(' '),
    ...'ελλαδα μοσκβα москва हिन्दी عربي fine 1⁄2 full a'.split(' '),
    ...'東京 京都 都に に カー ード ド 1 𠮷野 野'.split(' '),
    ...'ภา าษ ษา าไ ไท ทย ย'.split(' '),
    // Half of a letter.
    `${'x'.repeat(63)}\ud801`,
    'y'.repeat(64),
  ]);
});

it('[history 2.33] a process has one number for its rules of words', () => {
  expect(wordRules()).toBe(wordRules());
  expect(Number.isInteger(wordRules())).toBe(true);
  expect(wordRules()).toBeGreaterThanOrEqual(0);
});
