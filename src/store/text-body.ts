import { assert } from '../assert.ts';
import type { DerivedIndexOption } from '../schema/definition.ts';
import { type Language, languageOf } from '../schema/languages.ts';
import { Search } from '../search/search.ts';
import { TextIndex } from '../search/text-index.ts';
import { eachWord } from '../search/words.ts';
import { readCount } from '../values/layout.ts';
import { readUtf8 } from '../values/utf8.ts';
import type { BodyImage, BodyLoad, DerivedBody, DerivedRequest } from './derived-body.ts';
import type { RefList } from './ref-list.ts';
import type { RefQueue } from './ref-queue.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import { type RowRef, rowRef } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';
import { TextImage, TextLoad } from './text-image.ts';

/** The words of a string column: finds the rows that can match a search. */
export class TextBody implements DerivedBody {
  readonly #heap: RowHeap;
  readonly #shape: RowShape;
  readonly #column: number;
  readonly #language: Language;
  readonly index: TextIndex;

  constructor({ heap, shape, column, options }: TextBodyParts) {
    this.#heap = heap;
    this.#shape = shape;
    this.#column = column;
    this.#language = languageOf(options);
    this.index = new TextIndex(this.#language);
  }

  get bytes(): number {
    return this.index.bytes;
  }

  add(ref: RowRef): void {
    this.index.add(ref, this.#textOf(ref));
  }

  remove(ref: RowRef): void {
    this.index.remove(ref, this.#textOf(ref));
  }

  replace(old: RowRef, ref: RowRef): void {
    this.remove(old);
    this.add(ref);
  }

  collect(request: DerivedRequest, into: RefList): boolean {
    assert(request.kind === 'text', 'an index of words is asked with a search');
    const refs = this.index.candidates(request.search);
    if (refs === undefined) return false;
    for (const ref of refs) into.push(rowRef(ref));
    return true;
  }

  /** By the last of its words. */
  requestFor(ref: RowRef): DerivedRequest | undefined {
    let last: string | undefined;
    eachWord(this.#textOf(ref), (word) => {
      last = word;
    });
    return last === undefined
      ? undefined
      : { kind: 'text', search: new Search(`"${last}"`, this.#language) };
  }

  image(): BodyImage {
    return new TextImage(this.index);
  }

  load(rows: RefQueue): BodyLoad {
    return new TextLoad(this.index, rows, (ref) => this.#textOf(ref));
  }

  holdsSame(other: DerivedBody): boolean {
    return other instanceof TextBody && this.index.holdsSame(other.index);
  }

  #textOf(ref: RowRef): string {
    const page = this.#heap.pageOf(ref);
    const at = this.#shape.startOf(page, offsetOf(ref), this.#column);
    const text = readUtf8(page, at + 4, at + 4 + readCount(page, at));
    assert(text !== undefined, 'a stored text is valid');
    return text;
  }
}

interface TextBodyParts {
  readonly heap: RowHeap;
  readonly shape: RowShape;
  readonly column: number;
  readonly options: readonly DerivedIndexOption[];
}
