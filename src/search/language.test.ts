import { describe, expect, it } from 'vitest';
import { type Language, languages } from '../schema/languages.ts';
import { stemmerOf } from './language.ts';

function stems(language: Language, words: string): string[] {
  const stem = stemmerOf(language) ?? ((word: string) => word);
  return words.split(' ').map(stem);
}

describe('[ease 3.11] stems', () => {
  it('of English are those of the second Porter stemmer', () => {
    const words = 'foxes running cries ties generously dying skies knitting hoped hopping national';
    const expected = 'fox run cri tie generous die sky knit hope hop nation';
    expect(stems('english', words)).toEqual(expected.split(' '));
    const more = 'relational conditional digitizer happily youth sayings falling succeeding kiss';
    const others = 'relat condit digit happili youth say fall succeed kiss';
    expect(stems('english', more)).toEqual(others.split(' '));
  });

  it.each([
    ['german', ['hauser hausern hauses', 'schones schonen schoner', 'kind kinder kindern']],
    ['french', ['cheval chevaux', 'maison maisons', 'mange manger mangez mangent']],
    ['spanish', ['casa casas', 'nacion naciones', 'rapida rapidamente', 'luz luces']],
    ['italian', ['libro libri', 'parlare parlato', 'banca banche']],
    ['portuguese', ['casa casas', 'falar falado', 'nacao nacoes']],
    ['dutch', ['boek boeken', 'huisje huisjes']],
  ] as const)('of %s are equal for forms of a word', (language, groups) => {
    for (const group of groups) expect([...new Set(stems(language, group))]).toHaveLength(1);
  });

  it('of the language `simple` are the words', () => {
    expect(stems('simple', 'foxes running')).toEqual(['foxes', 'running']);
  });

  it('keep the first character, and something of every word', () => {
    const parts = ['s', 'e', 'n', 'ing', 'er', 'y', 'ation', 'u', 'ly', 'x', '東', '9'];
    for (const language of languages) {
      const stem = stemmerOf(language);
      if (stem === undefined) continue;
      for (const a of parts) {
        for (const b of parts) {
          for (const c of parts) expect(stem(a + b + c)[0]).toBe(a[0]);
        }
      }
    }
  });
});
