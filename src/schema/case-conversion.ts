import type { CaseConversion } from './raw-module.ts';

/**
 * How a module's own spelling becomes the canonical one. The word rules must never change: they
 * produced every canonical name of every published database.
 */
export interface NamingPolicy {
  /** Tables, functions, columns, struct fields. */
  readonly plain: (name: string) => string;
  readonly variant: (name: string) => string;
  readonly type: (name: string) => string;
}

export function namingPolicyOf(conversion: CaseConversion): NamingPolicy {
  return conversion === 'none' ? verbatimPolicy : snakeCasePolicy;
}

const verbatimPolicy: NamingPolicy = {
  plain: (name) => name,
  variant: (name) => name,
  type: (name) => name,
};

const snakeCasePolicy: NamingPolicy = { plain: snakeCase, variant: camelCase, type: pascalCase };

/**
 * The canonical spelling of tables, functions and columns.
 *
 * @example
 * ```ts
 * toSnakeCase('sentAt'); // 'sent_at'
 * ```
 */
export function snakeCase(name: string): string {
  return splitWords(name)
    .map((word) => word.toLowerCase())
    .join('_');
}

export function camelCase(name: string): string {
  return splitWords(name)
    .map((word, index) => (index === 0 ? word.toLowerCase() : capitalise(word)))
    .join('');
}

export function pascalCase(name: string): string {
  return splitWords(name).map(capitalise).join('');
}

/**
 * Splits at `_`, `-` and spaces, which are dropped, and wherever `startsWord` says so. Looks at
 * whole grapheme clusters, so that a letter keeps its combining marks.
 */
export function splitWords(name: string): string[] {
  const words: string[] = [];
  for (const part of name.split(/[_\- ]/)) {
    const clusters = graphemesOf(part);
    const kinds = clusters.map(kindOf);
    let word = '';
    clusters.forEach((cluster, index) => {
      if (index > 0 && startsWord(kinds, index)) {
        words.push(word);
        word = '';
      }
      word += cluster;
    });
    if (word !== '') words.push(word);
  }
  return words;
}

type ClusterKind = 'lower' | 'upper' | 'digit' | 'other';

/** A word starts where the kind changes, and at the last capital before small letters. */
function startsWord(kinds: readonly ClusterKind[], index: number): boolean {
  const before = kinds[index - 1];
  const here = kinds[index];
  if (before === 'lower') return here === 'upper' || here === 'digit';
  if (before === 'digit') return here === 'upper' || here === 'lower';
  if (before !== 'upper') return false;
  return here === 'digit' || (here === 'upper' && kinds[index + 1] === 'lower');
}

function kindOf(cluster: string): ClusterKind {
  if (cluster >= '0' && cluster <= '9' && cluster.length === 1) return 'digit';
  const lower = cluster.toLowerCase();
  const upper = cluster.toUpperCase();
  if (lower === upper) return 'other';
  if (cluster === upper) return 'upper';
  return cluster === lower ? 'lower' : 'other';
}

function graphemesOf(text: string): string[] {
  if (isAscii.test(text)) return [...text];
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
const isAscii = /^[\x00-\x7f]*$/;

function capitalise(word: string): string {
  const [first = '', ...rest] = word;
  return first.toUpperCase() + rest.join('').toLowerCase();
}
