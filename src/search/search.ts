import type { Language } from '../schema/languages.ts';
import { searchLimits } from '../search-limits.ts';
import { type Stemmer, stemmerOf } from './language.ts';
import { type ParsedQuery, type PhraseWord, parseQuery, type QueryNode } from './query.ts';
import { scoreOf, type TextStatistics } from './rank.ts';
import { eachWord } from './words.ts';

const none: readonly number[] = [];

/**
 * A query, compiled for texts of one language. It looks at a text once, word by word, and keeps
 * what it found until it looks at the next.
 */
export class Search {
  readonly query: ParsedQuery;
  readonly language: Language;
  readonly stem: Stemmer | undefined;
  /** Of the words of the query, by what words of texts are compared by. */
  readonly #byStem = new Map<string, number[]>();
  readonly #prefixes: readonly { readonly word: string; readonly number: number }[];
  /** First characters of words that can be words of the query. */
  readonly #firsts = new Set<number>();
  /** Numbers of the words of the query that a word of a text is. */
  readonly #known = new Map<string, readonly number[]>();
  readonly #phrases: (readonly PhraseWord[])[] = [];
  /** Words that count for the rank, because they are not excluded. */
  readonly #isWanted: boolean[];
  /** Words that are looked for by themselves, so that each of them is marked. */
  readonly #isAlone: boolean[];
  readonly #counts: Int32Array;
  /** Where words of phrases are, counted in words. */
  readonly #places: readonly (number[] | undefined)[];
  #length = 0;

  /** Throws `QueryError`. */
  constructor(text: string, language: Language) {
    this.query = parseQuery(text);
    this.language = language;
    this.stem = stemmerOf(language);
    const { words, root } = this.query;
    for (const [number, { word, isPrefix }] of words.entries()) {
      this.#firsts.add(word.charCodeAt(0));
      if (isPrefix) continue;
      const key = this.stem?.(word) ?? word;
      this.#byStem.set(key, [...(this.#byStem.get(key) ?? []), number]);
    }
    this.#prefixes = words.flatMap(({ word, isPrefix }, number) =>
      isPrefix ? [{ word, number }] : [],
    );
    this.#isWanted = words.map(() => false);
    this.#isAlone = words.map(() => false);
    this.#counts = new Int32Array(words.length);
    const inPhrases = new Set<number>();
    if (root !== undefined) this.#note(root, true, inPhrases);
    this.#places = words.map((_, number) => (inPhrases.has(number) ? [] : undefined));
  }

  matches(text: string): boolean {
    const { root } = this.query;
    if (root === undefined) return false;
    this.look(text);
    return this.#holds(root);
  }

  /** BM25 of a text that matches; 0 of others. */
  rank(text: string, statistics: TextStatistics): number {
    if (!this.matches(text)) return 0;
    return scoreOf(
      { counts: this.#counts, isWanted: this.#isWanted, length: this.#length },
      statistics,
    );
  }

  /** Counts the words of a text: those of the query by number, and all. */
  look(text: string): { readonly counts: Int32Array; readonly length: number } {
    this.#counts.fill(0);
    for (const places of this.#places) if (places !== undefined) places.length = 0;
    let at = 0;
    eachWord(text, (word) => {
      if (this.#firsts.has(word.charCodeAt(0))) {
        for (const number of this.numbersOf(word)) {
          this.#counts[number] = (this.#counts[number] ?? 0) + 1;
          this.#places[number]?.push(at);
        }
      }
      at++;
    });
    this.#length = at;
    return { counts: this.#counts, length: at };
  }

  /** The text with what was found between `before` and `after`. */
  marked(text: string, before: string, after: string): string {
    let marked = '';
    let end = 0;
    for (const { from, to } of this.marks(text)) {
      marked += text.slice(end, from) + before + text.slice(from, to) + after;
      end = to;
    }
    return marked + text.slice(end);
  }

  /** Where the words of the query are, in the order of the text; parts that overlap are one. */
  marks(text: string): readonly { readonly from: number; readonly to: number }[] {
    this.look(text);
    const places = new Set<number>();
    for (const phrase of this.#phrases) {
      for (const start of this.#startsOf(phrase)) {
        for (const { offset } of phrase) places.add(start + offset);
      }
    }
    const marks: { from: number; to: number }[] = [];
    let at = 0;
    eachWord(text, (word, from, to) => {
      const isAlone =
        this.#firsts.has(word.charCodeAt(0)) &&
        this.numbersOf(word).some((number) => this.#isAlone[number] === true);
      if (isAlone || places.has(at)) {
        const last = marks.at(-1);
        if (last !== undefined && from < last.to) last.to = Math.max(last.to, to);
        else marks.push({ from, to });
      }
      at++;
    });
    return marks;
  }

  /** Numbers of the words of the query that a word is. */
  numbersOf(word: string): readonly number[] {
    const known = this.#known.get(word);
    if (known !== undefined) return known;
    const same = this.#byStem.get(this.stem?.(word) ?? word) ?? none;
    const begun = this.#prefixes.filter((prefix) => word.startsWith(prefix.word));
    const numbers = begun.length === 0 ? same : [...same, ...begun.map(({ number }) => number)];
    if (this.#known.size >= searchLimits.searchStemsKeptMax) this.#known.clear();
    this.#known.set(word, numbers);
    return numbers;
  }

  #note(node: QueryNode, isWanted: boolean, inPhrases: Set<number>): void {
    switch (node.kind) {
      case 'word':
        if (!isWanted) return;
        this.#isWanted[node.word] = true;
        this.#isAlone[node.word] = true;
        return;
      case 'phrase':
        for (const { word } of node.words) {
          inPhrases.add(word);
          if (isWanted) this.#isWanted[word] = true;
        }
        if (isWanted) this.#phrases.push(node.words);
        return;
      case 'not':
        this.#note(node.part, !isWanted, inPhrases);
        return;
      case 'all':
      case 'any':
        for (const part of node.parts) this.#note(part, isWanted, inPhrases);
    }
  }

  #holds(node: QueryNode): boolean {
    switch (node.kind) {
      case 'word':
        return (this.#counts[node.word] ?? 0) > 0;
      case 'phrase':
        return this.#startsOf(node.words, 1).length > 0;
      case 'not':
        return !this.#holds(node.part);
      case 'all':
        return node.parts.every((part) => this.#holds(part));
      case 'any':
        return node.parts.some((part) => this.#holds(part));
    }
  }

  /** Where a phrase begins, at most `countMax` places. */
  #startsOf(phrase: readonly PhraseWord[], countMax = Number.POSITIVE_INFINITY): number[] {
    const starts: number[] = [];
    const [first, ...others] = phrase;
    if (first === undefined) return starts;
    for (const start of this.#places[first.word] ?? []) {
      if (starts.length >= countMax) break;
      if (others.every(({ word, offset }) => this.#isAt(word, start + offset))) starts.push(start);
    }
    return starts;
  }

  #isAt(word: number, place: number): boolean {
    const places = this.#places[word] ?? [];
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((places[middle] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    return places[low] === place;
  }
}
