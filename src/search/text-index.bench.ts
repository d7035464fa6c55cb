import { Random } from '../testing/random.ts';
import { Search } from './search.ts';
import { TextIndex } from './text-index.ts';
import { eachWord } from './words.ts';

/** One measured number. */
interface Measurement {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly bar?: string;
}

const wordsOfText = 40;
const vocabulary = 60_000;
/** What refs of rows of about this size differ by. */
const refStep = 36;

/**
 * An index of English words over 200,000 texts (`scale` 1) of 40 words, whose words are as frequent
 * as those of natural texts (Zipf), and searches with it and without.
 */
export function benchmarks(scale: number): Measurement[] {
  const texts = makeTexts(Math.max(2_000, Math.round(200_000 * scale)));
  const textBytes = texts.reduce((sum, text) => sum + text.length, 0);
  const index = new TextIndex('english');
  const added = seconds(() => {
    for (const [at, text] of texts.entries()) index.add((at + 1) * refStep, text);
  });
  const { bytes } = index;
  const updateCount = Math.min(texts.length, 20_000);
  const current = new Map<number, string>();
  const updated = seconds(() => {
    for (let round = 0; round < updateCount; round++) {
      const at = (round * 7_919) % texts.length;
      const ref = (at + 1) * refStep;
      index.remove(ref, current.get(at) ?? texts[at] ?? '');
      const text = texts[(at + round) % texts.length] ?? '';
      current.set(at, text);
      index.add(ref, text);
    }
  });
  const textAt = (at: number): string => current.get(at) ?? texts[at] ?? '';
  const search = new Search(`${wordOf(20)} ${wordOf(30)}`, 'english');
  const found = seconds(() => {
    for (let round = 0; round < 10; round++) {
      for (const ref of index.candidates(search) ?? []) search.matches(textAt(ref / refStep - 1));
    }
  });
  const scanned = seconds(() => {
    for (let at = 0; at < texts.length; at++) search.matches(textAt(at));
  });
  const split = seconds(() => {
    for (const text of texts) eachWord(text, () => {});
  });
  return [
    { name: 'add', unit: 'texts/s', value: texts.length / added },
    { name: 'update', unit: 'texts/s', value: updateCount / updated, bar: '5000' },
    { name: 'memory / text', unit: 'x', value: bytes / textBytes, bar: '1.5 at most' },
    { name: 'two words by index', unit: 'ms', value: (found / 10) * 1_000 },
    { name: 'two words by scan', unit: 'ms', value: scanned * 1_000 },
    { name: 'words of texts', unit: 'MB/s', value: textBytes / split / 1_000_000 },
  ];
}

function makeTexts(count: number): string[] {
  const random = new Random(7);
  const log = Math.log(vocabulary);
  return Array.from({ length: count }, () => {
    const words: string[] = [];
    for (let at = 0; at < wordsOfText; at++) {
      const place = Math.floor(Math.exp((random.below(1_000_000) / 1_000_000) * log));
      words.push(place % 7 === 0 ? `${wordOf(place)}s` : wordOf(place));
    }
    return words.join(' ');
  });
}

/** Words begin with different letters, as those of a language do. */
function wordOf(place: number): string {
  return `${String.fromCharCode(97 + (place % 26))}ord${place}`;
}

function seconds(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) / 1_000;
}
