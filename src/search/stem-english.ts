/**
 * Stems of English words, by the published rules of Porter's second stemmer (Snowball's `english`).
 * Words are lower case without accents and apostrophes.
 */
const vowels = 'aeiouy';
const doubles = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;

/** Words that the rules would get wrong. */
const exceptions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    skis: 'ski',
    skies: 'sky',
    dying: 'die',
    lying: 'lie',
    tying: 'tie',
    idly: 'idl',
    gently: 'gentl',
    ugly: 'ugli',
    early: 'earli',
    only: 'onli',
    singly: 'singl',
    sky: 'sky',
    news: 'news',
    howe: 'howe',
    atlas: 'atlas',
    cosmos: 'cosmos',
    bias: 'bias',
    andes: 'andes',
  }),
);

/** Words that are stems once a plural is removed. */
const finished: ReadonlySet<string> = new Set(
  'inning outing canning herring earring proceed exceed succeed'.split(' '),
);

type Rule = readonly [ending: string, instead: string];

const secondStep: readonly Rule[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'ive'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['entli', 'ent'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ousli', 'ous'],
  ['iviti', 'ive'],
  ['fulli', 'ful'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['abli', 'able'],
  ['izer', 'ize'],
  ['ator', 'ate'],
  ['alli', 'al'],
  ['bli', 'ble'],
  ['ogi', 'og'],
  ['li', ''],
];

const thirdStep: readonly Rule[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ative', ''],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
];

const fourthStep =
  'ement ance ence able ible ment ant ent ism ate iti ous ive ize ion al er ic'.split(' ');

export function stemEnglish(word: string): string {
  if (word.length <= 2) return word;
  const exception = exceptions.get(word);
  if (exception !== undefined) return exception;
  const marked = withConsonantY(word);
  const [first, second] = regionsOf(marked);
  const singular = withoutPlural(marked);
  if (finished.has(singular)) return singular;
  let stem = withoutPast(singular, first);
  if (/.[^aeiouy][yY]$/.test(stem)) stem = `${stem.slice(0, -1)}i`;
  stem = withoutSecond(stem, first);
  stem = withoutThird(stem, first, second);
  stem = withoutFourth(stem, second);
  stem = withoutLast(stem, first, second);
  return stem.replaceAll('Y', 'y');
}

/** `y` at the start or after a vowel is a consonant, and becomes `Y`. */
function withConsonantY(word: string): string {
  if (!word.includes('y')) return word;
  let marked = '';
  for (const [at, letter] of [...word].entries()) {
    const isConsonant = letter === 'y' && (at === 0 || vowels.includes(marked.at(-1) ?? ''));
    marked += isConsonant ? 'Y' : letter;
  }
  return marked;
}

/** Where the regions R1 and R2 begin. */
function regionsOf(word: string): readonly [number, number] {
  const special = /^(?:gener|commun|arsen)/.exec(word)?.[0].length;
  const first = special ?? afterVowelAndConsonant(word, 0);
  return [first, afterVowelAndConsonant(word, first)];
}

function afterVowelAndConsonant(word: string, from: number): number {
  const found = /[aeiouy][^aeiouy]/.exec(word.slice(from));
  return found === null ? word.length : from + found.index + 2;
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2);
  if (/ie[sd]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1);
  if (/(?:us|ss)$/.test(word)) return word;
  // A vowel before the last letter but one.
  return /[aeiouy].+s$/.test(word) ? word.slice(0, -1) : word;
}

function withoutPast(word: string, first: number): string {
  const eed = /eed(?:ly)?$/.exec(word);
  if (eed !== null) return eed.index >= first ? `${word.slice(0, eed.index)}ee` : word;
  const ending = /(?:ingly|edly|ing|ed)$/.exec(word);
  if (ending === null) return word;
  const stem = word.slice(0, ending.index);
  if (!/[aeiouy]/.test(stem)) return word;
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (doubles.test(stem)) return stem.slice(0, -1);
  return isShort(stem, first) ? `${stem}e` : stem;
}

function isShort(word: string, first: number): boolean {
  return first >= word.length && endsInShortSyllable(word);
}

function endsInShortSyllable(word: string): boolean {
  return /[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$/.test(word);
}

function withoutSecond(word: string, first: number): string {
  for (const [ending, instead] of secondStep) {
    if (!word.endsWith(ending)) continue;
    const at = word.length - ending.length;
    if (at < first) return word;
    const before = word[at - 1] ?? '';
    if (ending === 'ogi' && before !== 'l') return word;
    if (ending === 'li' && !'cdeghkmnrt'.includes(before)) return word;
    return word.slice(0, at) + instead;
  }
  return word;
}

function withoutThird(word: string, first: number, second: number): string {
  for (const [ending, instead] of thirdStep) {
    if (!word.endsWith(ending)) continue;
    const at = word.length - ending.length;
    if (at < (ending === 'ative' ? second : first)) return word;
    return word.slice(0, at) + instead;
  }
  return word;
}

function withoutFourth(word: string, second: number): string {
  for (const ending of fourthStep) {
    if (!word.endsWith(ending)) continue;
    const at = word.length - ending.length;
    if (at < second) return word;
    if (ending === 'ion' && !'st'.includes(word[at - 1] ?? '-')) return word;
    return word.slice(0, at);
  }
  return word;
}

function withoutLast(word: string, first: number, second: number): string {
  const at = word.length - 1;
  const stem = word.slice(0, at);
  if (word.endsWith('e')) {
    const isRemoved = at >= second || (at >= first && !endsInShortSyllable(stem));
    return isRemoved ? stem : word;
  }
  return word.endsWith('ll') && at >= second ? stem : word;
}
