import { describe, expect, it } from 'vitest';
import type { TextStatistics } from './rank.ts';
import { Search } from './search.ts';

describe('[ease 3.11] a search', () => {
  it('compares words by their stems, and starts of words as they are written', () => {
    const search = new Search('foxes', 'english');
    expect(search.matches('The FOX ran')).toBe(true);
    expect(new Search('foxes', 'simple').matches('The fox ran')).toBe(false);
    expect(new Search('runn*', 'english').matches('She was running')).toBe(true);
    expect(new Search('runn*', 'english').matches('She ran a run')).toBe(false);
    expect(new Search('"running foxes"', 'english').matches('run, fox!')).toBe(true);
  });

  it('finds parts of texts without spaces', () => {
    const text = '私は東京都に住む';
    for (const part of ['東京', '京都', '東京都', '都', '住む', 'む', '"東京都に住む"']) {
      expect(new Search(part, 'simple').matches(text), part).toBe(true);
    }
    expect(new Search('東都', 'simple').matches(text)).toBe(false);
    expect(new Search('"東京 tower"', 'simple').matches('東京 Tower')).toBe(true);
  });

  it('marks words and phrases, not the single words of a phrase', () => {
    const search = new Search('fox "red cat" NOT dog', 'english');
    const text = 'Foxes, red cats, a cat & a dog.';
    expect(search.marked(text, '[', ']')).toBe('[Foxes], [red] [cats], a cat & a dog.');
    expect(new Search('', 'english').marked(text, '[', ']')).toBe(text);
  });

  it('ranks by BM25', () => {
    const statistics: TextStatistics = { documents: 10, words: 50, counts: [2, 5] };
    const search = new Search('fox cat', 'simple');
    const bm25 = (count: number, having: number, length: number): number =>
      (Math.log(1 + (10 - having + 0.5) / (having + 0.5)) * count * 2.2) /
      (count + 1.2 * (0.25 + (0.75 * length) / 5));
    const text = 'fox fox cat dog';
    expect(search.rank(text, statistics)).toBeCloseTo(bm25(2, 2, 4) + bm25(1, 5, 4), 12);
    expect(search.rank('fox', statistics)).toBe(0);
    expect(new Search('fox NOT cat', 'simple').rank('fox', statistics)).toBeGreaterThan(0);
    expect(new Search('NOT cat', 'simple').rank('fox', statistics)).toBe(0);
  });
});
