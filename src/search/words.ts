/**
 * Texts as words: runs of letters, digits and their marks, without case and accents.
 *
 * - A word is compared in its compatibility form (NFKC), in lower case, without the accents of
 *   Latin and Greek letters; `ñ` stays, `ß` is `ss`, `ø` is `o`.
 * - Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without spaces. A run of their
 *   letters is cut into pairs that overlap, and its last letter: `東京都` is `東京`, `京都`, `都`.
 *   So every part of such a run is found, as a phrase of pairs or as the start of one.
 */
import { searchLimits } from '../search-limits.ts';

/** Receives a word and where it is in the text, in UTF-16 units. */
export type VisitWord = (word: string, from: number, to: number) => void;

/** How characters are treated. */
const other = 0;
const letter = 1;
const capital = 2;
/** A letter that no space separates from the next word. */
const unspaced = 3;
/** Not looked up yet. */
const unknown = 4;

const isLetter = /[\p{L}\p{N}\p{M}]/u;
const isUnspaced = new RegExp(
  ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
    .map((script) => `\\p{Script_Extensions=${script}}`)
    .join('|'),
  'u',
);
const isCommon = /[\p{Script=Common}\p{Script=Inherited}]/u;

/** Of the basic plane; filled as characters are met. */
const classes = new Uint8Array(0x1_0000).fill(unknown);

function classOf(text: string, at: number): number {
  if (unitsAt(text, at) === 2) return classify(text.slice(at, at + 2));
  const unit = text.charCodeAt(at);
  const known = classes[unit] ?? other;
  if (known !== unknown) return known;
  const found = classify(text[at] ?? '');
  classes[unit] = found;
  return found;
}

function classify(character: string): number {
  // A dot or a bar that several scripts share is no letter of theirs; the long mark of Japanese is.
  const isOfScript = isUnspaced.test(character);
  if (isOfScript && (!isCommon.test(character) || character === '\u30fc')) {
    return isLetter.test(character) ? unspaced : other;
  }
  if (!isLetter.test(character)) return other;
  return character >= 'A' && character <= 'Z' ? capital : letter;
}

function unitsAt(text: string, at: number): number {
  const isHigh = (text.charCodeAt(at) & 0xfc00) === 0xd800;
  return isHigh && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00 ? 2 : 1;
}

/** Visits the words of a text in their order. */
export function eachWord(text: string, visit: VisitWord): void {
  const { length } = text;
  let at = 0;
  while (at < length) {
    const kind = classOf(text, at);
    if (kind === other) {
      at += unitsAt(text, at);
      continue;
    }
    at = kind === unspaced ? visitRun(text, at, visit) : visitWord(text, at, visit);
  }
}

function visitWord(text: string, from: number, visit: VisitWord): number {
  let at = from;
  let isPlain = true;
  let hasCapitals = false;
  while (at < text.length) {
    const kind = classOf(text, at);
    if (kind === other || kind === unspaced) break;
    if (kind === capital) hasCapitals = true;
    if (text.charCodeAt(at) >= 0x80) isPlain = false;
    at += unitsAt(text, at);
  }
  const written = text.slice(from, Math.min(at, from + searchLimits.searchWordUnitsMax));
  if (isPlain) visit(hasCapitals ? written.toLowerCase() : written, from, at);
  else visit(folded(written), from, at);
  return at;
}

/** Pairs of letters of a run that has no spaces. */
function visitRun(text: string, from: number, visit: VisitWord): number {
  let at = from;
  while (at < text.length && classOf(text, at) === unspaced) {
    const middle = at + unitsAt(text, at);
    const isLast = middle >= text.length || classOf(text, middle) !== unspaced;
    const to = isLast ? middle : middle + unitsAt(text, middle);
    visit(folded(text.slice(at, to)), at, to);
    at = middle;
  }
  return at;
}

/** The tilde of `ñ` makes a letter of its own. */
const accents =
  /(?<=[\p{Script=Latin}\p{Script=Greek}][\u0300-\u036f]*)(?!(?<=n)\u0303)[\u0300-\u036f]/gu;
const undivided = /[ßæ\u0153ø\u0142\u0111ðþ\u0131]/g;
const divided: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' },
};

/** A word in the form in which words are compared. */
function folded(word: string): string {
  const lower = word.normalize('NFKC').toLowerCase();
  const plain = lower.normalize('NFKD').replace(accents, '').normalize('NFC');
  return plain.replace(undivided, (found) => divided[found] ?? found);
}

/** Whether the word is of a script without spaces, so that it is one letter or a pair of them. */
export function isOfRun(text: string, from: number): boolean {
  return classOf(text, from) === unspaced;
}
