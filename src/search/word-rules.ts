import { eachWord } from './words.ts';

/**
 * Raised by hand when a text gets other words than before, so that nobody takes words that were
 * stored for those of today. Stems do not count: they are never stored.
 */
const wordsVersion = 1;

/**
 * A number for the rules by which texts have words: those of `words.ts`, and those of the machine,
 * whose letters and cases come from a version of Unicode. Each version of it adds letters in
 * blocks, so a sample of all code points tells them apart. Takes some 20 ms, once.
 */
export function wordRules(): number {
  rules ??= rulesOfSample();
  return rules;
}

let rules: number | undefined;

function rulesOfSample(): number {
  let hash = Math.imul(wordsVersion, 0x9e37_79b1);
  let sample = '';
  for (const { from, end, step } of sampled) {
    for (let point = from; point < end; point += step) {
      if (point >= 0xd800 && point < 0xe000) continue;
      sample += `a${String.fromCodePoint(point)}b `;
    }
  }
  eachWord(sample, (word) => {
    for (let at = 0; at < word.length; at++) {
      hash = Math.imul(hash ^ word.charCodeAt(at), 0x0100_0193);
    }
    hash = Math.imul(hash ^ 0x2_0000, 0x0100_0193);
  });
  return hash >>> 0;
}

const sampled = [
  { from: 0x80, end: 0x2_0000, step: 67 },
  { from: 0x2_0000, end: 0x4_0000, step: 251 },
];
