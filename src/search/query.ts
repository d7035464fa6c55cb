/**
 * The text of a search, as people type it into a box.
 *
 * ```
 * query  := terms {'OR' terms}          terms := term {['AND'] term}
 * term   := {'NOT' | '-'} item          item  := '(' query ')' | '"' words '"' | words ['*']
 * ```
 *
 * Operators are upper case. No text is an error unless it is too long: quotes and parentheses that
 * are not closed end with the text, and what has no meaning where it is, is left out. Several words
 * without a blank between them (`wi-fi`) are a phrase.
 */
import { searchLimits } from '../search-limits.ts';
import { eachWord, isOfRun } from './words.ts';

export interface QueryWord {
  /** As it is written, folded. */
  readonly word: string;
  /** It matches all words that start with it. */
  readonly isPrefix: boolean;
}

export type QueryNode =
  /** A position in the list of words. */
  | { readonly kind: 'word'; readonly word: number }
  /** Words at these distances from each other; the first has the offset 0. */
  | { readonly kind: 'phrase'; readonly words: readonly PhraseWord[] }
  | { readonly kind: 'all' | 'any'; readonly parts: readonly QueryNode[] }
  | { readonly kind: 'not'; readonly part: QueryNode };

export interface PhraseWord {
  readonly word: number;
  readonly offset: number;
}

export interface ParsedQuery {
  /** Each once. */
  readonly words: readonly QueryWord[];
  /** `undefined`: no text matches. */
  readonly root: QueryNode | undefined;
}

export type QueryFault = 'too long' | 'too many words' | 'too deep';

/** Thrown for a query beyond its bounds. */
export class QueryError extends Error {
  readonly fault: QueryFault;

  constructor(fault: QueryFault) {
    super(faultTexts[fault]);
    this.fault = fault;
  }
}

const faultTexts: Readonly<Record<QueryFault, string>> = {
  'too long': `The text of a search has more than ${searchLimits.searchQueryLengthMax} characters`,
  'too many words': `The text of a search has more than ${searchLimits.searchQueryWordsMax} words`,
  'too deep':
    `The text of a search has more than ${searchLimits.searchQueryDepthMax} parentheses ` +
    'or NOTs inside each other',
};

/** Throws `QueryError`. */
export function parseQuery(text: string): ParsedQuery {
  if (text.length > searchLimits.searchQueryLengthMax) throw new QueryError('too long');
  return new Parser(text).parse();
}

type Token =
  | { readonly kind: '(' | ')' | 'AND' | 'OR' | 'NOT' }
  /** What a pair of quotes or blanks encloses. */
  | { readonly kind: 'words'; readonly text: string };

const tokenPattern = /([()])|"([^"]*)"?|(-(?=[^\s)]))|([^\s()"]+)/gu;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const found of text.matchAll(tokenPattern)) {
    const [, parenthesis, quoted, minus, bare] = found;
    // A hyphen inside a word excludes nothing.
    const isInside = found.index === end && tokens.at(-1)?.kind === 'words';
    end = found.index + found[0].length;
    if (parenthesis === '(' || parenthesis === ')') tokens.push({ kind: parenthesis });
    else if (quoted !== undefined) tokens.push({ kind: 'words', text: quoted });
    else if (minus !== undefined) {
      if (!isInside) tokens.push({ kind: 'NOT' });
    } else if (bare === 'AND' || bare === 'OR' || bare === 'NOT') tokens.push({ kind: bare });
    else tokens.push({ kind: 'words', text: bare ?? '' });
  }
  return tokens;
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #words: QueryWord[] = [];
  readonly #numbers = new Map<string, number>();
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  parse(): ParsedQuery {
    const parts: QueryNode[] = [];
    while (this.#at < this.#tokens.length) {
      const part = this.#any(0);
      if (part !== undefined) parts.push(part);
      // A closing parenthesis that nothing has opened.
      if (this.#at < this.#tokens.length) this.#at++;
    }
    return { words: this.#words, root: joined('all', parts) };
  }

  #any(depth: number): QueryNode | undefined {
    const parts: QueryNode[] = [];
    do {
      const part = this.#all(depth);
      if (part !== undefined) parts.push(part);
    } while (this.#accept('OR'));
    return joined('any', parts);
  }

  #all(depth: number): QueryNode | undefined {
    const parts: QueryNode[] = [];
    for (let kind = this.#next; kind !== undefined; kind = this.#next) {
      if (kind === ')' || kind === 'OR') break;
      if (this.#accept('AND')) continue;
      const part = this.#term(depth);
      if (part !== undefined) parts.push(part);
    }
    return joined('all', parts);
  }

  #term(depth: number): QueryNode | undefined {
    if (depth > searchLimits.searchQueryDepthMax) throw new QueryError('too deep');
    if (this.#accept('NOT')) {
      const kind = this.#next;
      if (kind === undefined || kind === ')' || kind === 'OR' || kind === 'AND') return undefined;
      const part = this.#term(depth + 1);
      return part && { kind: 'not', part };
    }
    if (this.#accept('(')) {
      const inside = this.#any(depth + 1);
      this.#accept(')');
      return inside;
    }
    const token = this.#tokens[this.#at++];
    return token?.kind === 'words' ? this.#phrase(token.text) : undefined;
  }

  get #next(): Token['kind'] | undefined {
    return this.#tokens[this.#at]?.kind;
  }

  #accept(kind: Token['kind']): boolean {
    if (this.#next !== kind) return false;
    this.#at++;
    return true;
  }

  #phrase(text: string): QueryNode | undefined {
    const words: PhraseWord[] = [];
    for (const { offset, ...word } of wordsOf(text)) {
      if (words.length >= searchLimits.searchQueryWordsMax) throw new QueryError('too many words');
      words.push({ word: this.#numberOf(word), offset });
    }
    const [first, second] = words;
    if (first === undefined) return undefined;
    return second === undefined ? { kind: 'word', word: first.word } : { kind: 'phrase', words };
  }

  #numberOf(word: QueryWord): number {
    const key = `${word.isPrefix ? '*' : ' '}${word.word}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#words.length;
    if (number >= searchLimits.searchQueryWordsMax) throw new QueryError('too many words');
    this.#numbers.set(key, number);
    this.#words.push(word);
    return number;
  }
}

/** The last letter of a run without spaces is a part of the pair before it, or the start of one. */
function wordsOf(text: string): (QueryWord & { readonly offset: number })[] {
  const words: (QueryWord & { readonly offset: number })[] = [];
  let pairEnd = -1;
  let offset = 0;
  eachWord(text, (word, from, to) => {
    const isRun = isOfRun(text, from);
    const isSingle = isRun && [...text.slice(from, to)].length === 1;
    if (to !== pairEnd) words.push({ word, isPrefix: isSingle || text[to] === '*', offset });
    pairEnd = isRun ? to : -1;
    offset++;
  });
  return words;
}

function joined(kind: 'all' | 'any', parts: readonly QueryNode[]): QueryNode | undefined {
  return parts.length > 1 ? { kind, parts } : parts[0];
}
