import type { TextIndex } from '../search/text-index.ts';
import { wordRules } from '../search/word-rules.ts';
import type { BodyImage, BodyLoad, ImageStep } from './derived-body.ts';
import { type ImageReader, type ImageWriter, varintBytesMax, wordBytesMax } from './image-bytes.ts';
import { ascending, rankRefs, readRefs, writeRanks } from './image-refs.ts';
import { RefList } from './ref-list.ts';
import type { RefQueue } from './ref-queue.ts';
import type { RowRanks } from './row-ranks.ts';
import type { RowRef } from './row-ref.ts';

/**
 * The words of a column in a snapshot:
 *
 * ```
 * head     rules of words, words of all texts
 * entry    word, rows that have it: some of them, in ascending order
 * ```
 *
 * A word can have several entries, and they come in no order.
 */
export class TextImage implements BodyImage {
  readonly #index: TextIndex;
  readonly #length: number;
  readonly #words: Iterator<string, void>;
  readonly #refs = new Int32Array(refsOfEntry);
  #word: string | undefined;
  /** The last row of the word that was written. */
  #after = 0;

  constructor(index: TextIndex) {
    this.#index = index;
    this.#length = index.length;
    this.#words = index.words();
  }

  writeHead(into: ImageWriter): void {
    into.varint(wordRules());
    into.varint(this.#length);
  }

  write(into: ImageWriter, ranks: RowRanks, countMax: number): ImageStep {
    for (let left = countMax; left > 0; ) {
      const word = this.#word ?? this.#words.next().value;
      if (word === undefined) return 'done';
      this.#word = word;
      if (into.room < wordBytesMax(word) + (1 + refsOfEntry) * varintBytesMax) return 'full';
      left -= 1 + this.#writeEntry(into, ranks, word);
    }
    return 'more';
  }

  /** Returns the number of rows that were looked at. */
  #writeEntry(into: ImageWriter, ranks: RowRanks, word: string): number {
    const found = this.#index.rowsAfter(word, this.#after, this.#refs);
    const isLast = found < refsOfEntry;
    this.#word = isLast ? undefined : word;
    this.#after = isLast ? 0 : (this.#refs[found - 1] as number);
    const count = rankRefs(this.#refs.subarray(0, found), ranks);
    if (count === 0) return found;
    into.word(word);
    writeRanks(into, this.#refs, count);
    return found;
  }
}

const refsOfEntry = 512;

export class TextLoad implements BodyLoad {
  readonly #index: TextIndex;
  readonly #rows: RefQueue;
  readonly #textOf: (ref: RowRef) => string;
  readonly #found = new RefList();

  constructor(index: TextIndex, rows: RefQueue, textOf: (ref: RowRef) => string) {
    this.#index = index;
    this.#rows = rows;
    this.#textOf = textOf;
  }

  readHead(from: ImageReader): boolean {
    const rules = from.varint();
    const length = from.below(Number.MAX_SAFE_INTEGER, 'the number of words');
    this.#index.count(this.#rows.end, length);
    return rules === wordRules();
  }

  read(from: ImageReader): void {
    while (!from.isAtEnd) {
      const word = from.word();
      readRefs(from, this.#rows, this.#found);
      this.#index.load(word, ascending(this.#found.take()));
    }
  }

  complete(ref: RowRef): void {
    this.#index.complete(ref, this.#textOf(ref));
  }

  finish(): void {}
}
