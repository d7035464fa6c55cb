import type { Language } from '../schema/languages.ts';
import { type Stemmer, stemmerOf } from './language.ts';
import {
  bytesOf,
  countOf,
  intersection,
  type Postings,
  refsAfter,
  union,
  unionOfRefs,
  withoutRef,
  withRef,
  withRefs,
} from './postings.ts';
import type { QueryNode } from './query.ts';
import type { TextStatistics } from './rank.ts';
import type { Search } from './search.ts';
import { WordMap } from './word-map.ts';
import { eachWord } from './words.ts';

/** What a word takes beside its characters and its rows: a string and its place in a map. */
const wordBytes = 72;
/** What a word that differs from its stem takes for being found by it. */
const inflectedBytes = 96;

/**
 * The rows of each word of a column. It says which rows can match a search, never a row too few:
 * where words are in a row, and how often, is read from the row. The statistics of BM25 are exact.
 * Searches are in its language, or in `simple`.
 */
export class TextIndex {
  readonly language: Language;
  readonly #stem: Stemmer | undefined;
  readonly #rows = new WordMap<Postings>();
  /** By stems, the words that differ from theirs. */
  readonly #inflected = new WordMap<string | readonly string[]>();
  #documents = 0;
  #length = 0;
  #bytes = 0;

  constructor(language: Language) {
    this.language = language;
    this.#stem = stemmerOf(language);
  }

  /** Bytes held, about. */
  get bytes(): number {
    return this.#bytes;
  }

  add(ref: number, text: string): void {
    this.#documents++;
    eachWord(text, (word) => {
      this.#length++;
      this.#addRow(word, ref);
    });
  }

  /** The text is that with which the row was added. */
  remove(ref: number, text: string): void {
    this.#documents--;
    eachWord(text, (word) => {
      this.#length--;
      const before = this.#rows.get(word);
      // A word that the text has twice.
      if (before === undefined) return;
      const bytes = bytesOf(before);
      const after = withoutRef(before, ref);
      this.#bytes -= bytes;
      if (after === undefined) {
        this.#removeWord(word);
        return;
      }
      this.#bytes += bytesOf(after);
      if (after !== before) this.#rows.set(word, after);
    });
  }

  /** Words of all texts. */
  get length(): number {
    return this.#length;
  }

  /** The words there are, while texts come and go: one that stays comes at least once. */
  *words(): Generator<string, void, void> {
    for (const [word] of this.#rows.entries()) yield word;
  }

  /** Writes rows of a word behind `after` to `into`, ascending, and returns their number. */
  rowsAfter(word: string, after: number, into: Int32Array): number {
    const postings = this.#rows.get(word);
    return postings === undefined ? 0 : refsAfter(postings, after, into);
  }

  /** Whether it has the words and rows of another one. */
  holdsSame(other: TextIndex): boolean {
    const isCounted = this.#documents === other.#documents && this.#length === other.#length;
    if (!isCounted || this.#rows.size !== other.#rows.size) return false;
    for (const [word, postings] of this.#rows.entries()) {
      const [own, others] = [union([postings]), union([other.#rows.get(word) ?? []])];
      if (own.length !== others.length || own.some((ref, at) => ref !== others[at])) return false;
    }
    return true;
  }

  /** Adds a word of texts that are counted with `count`; `refs` ascend. */
  load(word: string, refs: Int32Array): void {
    if (refs.length === 0) return;
    const before = this.#rows.get(word);
    const bytes = before === undefined ? 0 : bytesOf(before);
    const after = withRefs(before, refs);
    if (before === undefined) this.#addWord(word, after);
    else if (after !== before) this.#rows.set(word, after);
    this.#bytes += bytesOf(after) - bytes;
  }

  /** Adds words of a text that `load` has left out; the text is counted with `count`. */
  complete(ref: number, text: string): void {
    eachWord(text, (word) => this.#addRow(word, ref));
  }

  /** Counts texts that have `length` words together. */
  count(documents: number, length: number): void {
    this.#documents += documents;
    this.#length += length;
  }

  /**
   * Rows among which are all that match, in ascending order; `undefined`: any row can match, since
   * the query asks only what is not there.
   */
  candidates(search: Search): Int32Array | undefined {
    const { root } = search.query;
    return root === undefined ? new Int32Array(0) : this.#rowsOf(root, search);
  }

  /** How many rows `candidates` returns at most; `undefined`: any. */
  countMax(search: Search): number | undefined {
    const { root } = search.query;
    return root === undefined ? 0 : this.#countOf(root, search);
  }

  /** Of all rows, for `search`. */
  statistics(search: Search): TextStatistics {
    const counts = search.query.words.map((_, word) => union(this.#postings(word, search)).length);
    return { documents: this.#documents, words: this.#length, counts };
  }

  #addRow(word: string, ref: number): void {
    const before = this.#rows.get(word);
    if (before === undefined) {
      this.#addWord(word, ref);
      return;
    }
    const bytes = bytesOf(before);
    const after = withRef(before, ref);
    if (after !== before) this.#rows.set(word, after);
    this.#bytes += bytesOf(after) - bytes;
  }

  #addWord(word: string, rows: Postings): void {
    const own = detached(word);
    this.#rows.set(own, rows);
    this.#bytes += wordBytes + own.length;
    const stem = this.#stem?.(own) ?? own;
    if (stem === own) return;
    const others = this.#inflected.get(stem);
    this.#bytes += inflectedBytes;
    if (others === undefined) this.#inflected.set(detached(stem), own);
    else this.#inflected.set(stem, typeof others === 'string' ? [others, own] : [...others, own]);
  }

  #removeWord(word: string): void {
    this.#rows.delete(word);
    this.#bytes -= wordBytes + word.length;
    const stem = this.#stem?.(word) ?? word;
    if (stem === word) return;
    const others = this.#inflected.get(stem) ?? [];
    this.#bytes -= inflectedBytes;
    const left = typeof others === 'string' ? [] : others.filter((other) => other !== word);
    const [first, second] = left;
    if (first === undefined) this.#inflected.delete(stem);
    else this.#inflected.set(stem, second === undefined ? first : left);
  }

  /** Of the words of the column that a word of a query stands for. */
  #postings(number: number, { query, language }: Search): Postings[] {
    const wanted = query.words[number];
    if (wanted === undefined) return [];
    if (wanted.isPrefix) return this.#rows.startingWith(wanted.word);
    return this.#wordsOf(wanted.word, language).flatMap((word) => this.#rows.get(word) ?? []);
  }

  /** Words with the same stem, or the word itself where stems do not count. */
  #wordsOf(word: string, language: Language): readonly string[] {
    if (this.#stem === undefined || language !== this.language) return [word];
    const stem = this.#stem(word);
    const others = this.#inflected.get(stem) ?? [];
    // A stem can be a word that has another one.
    const own = this.#stem(stem) === stem ? [stem] : [];
    return own.concat(others);
  }

  #rowsOf(node: QueryNode, search: Search): Int32Array | undefined {
    switch (node.kind) {
      case 'word':
        return union(this.#postings(node.word, search));
      case 'phrase':
        return this.#rowsOfAll(
          node.words.map(({ word }) => ({ kind: 'word', word })),
          search,
        );
      case 'all':
        return this.#rowsOfAll(node.parts, search);
      case 'any': {
        const lists: Int32Array[] = [];
        for (const part of node.parts) {
          const list = this.#rowsOf(part, search);
          if (list === undefined) return undefined;
          lists.push(list);
        }
        return unionOfRefs(lists);
      }
      case 'not':
        return undefined;
    }
  }

  /** The rarest part comes first, so that lists are short. */
  #rowsOfAll(parts: readonly QueryNode[], search: Search): Int32Array | undefined {
    const counted = parts
      .map((part) => ({ part, count: this.#countOf(part, search) }))
      .filter(({ count }) => count !== undefined)
      .sort((a, b) => (a.count ?? 0) - (b.count ?? 0));
    let rows: Int32Array | undefined;
    for (const { part } of counted) {
      if (rows?.length === 0) break;
      const more = this.#rowsOf(part, search);
      if (more === undefined) continue;
      rows = rows === undefined ? more : intersection(rows, more);
    }
    return rows;
  }

  #countOf(node: QueryNode, search: Search): number | undefined {
    switch (node.kind) {
      case 'word':
        return this.#postings(node.word, search).reduce<number>(
          (sum, one) => sum + countOf(one),
          0,
        );
      case 'phrase':
        return this.#smallest(
          node.words.map(({ word }) => ({ kind: 'word', word })),
          search,
        );
      case 'all':
        return this.#smallest(node.parts, search);
      case 'any': {
        let sum = 0;
        for (const part of node.parts) {
          const count = this.#countOf(part, search);
          if (count === undefined) return undefined;
          sum += count;
        }
        return sum;
      }
      case 'not':
        return undefined;
    }
  }

  #smallest(parts: readonly QueryNode[], search: Search): number | undefined {
    const counts = parts.map((part) => this.#countOf(part, search));
    const known = counts.filter((count) => count !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }
}

/** Longer parts of a text are kept by the machine as views of it, and would hold the whole text. */
const viewUnitsMin = 13;

function detached(word: string): string {
  return word.length < viewUnitsMin ? word : word.split('').join('');
}
