import type { BodyImage, BodyLoad, ImageStep } from './derived-body.ts';
import { HashPairs } from './hash-pairs.ts';
import { ImageError, type ImageReader, type ImageWriter, varintBytesMax } from './image-bytes.ts';
import { ascending, rankRefs, readRefs, writeRanks } from './image-refs.ts';
import { RefList } from './ref-list.ts';
import type { RefQueue } from './ref-queue.ts';
import type { RowRanks } from './row-ranks.ts';
import { noRow, type RowRef, rowRef } from './row-ref.ts';

/** The pairs of an inverted index, as its image needs them. */
export interface InvertedPairs {
  /** Appends pairs behind this one, `countMax` or a few more; `noRow`: from the first one on. */
  pairsAfter(hash: number, ref: RowRef, into: HashPairs, countMax: number): void;
  /** Adds a pair behind all others. */
  addLast(hash: number, ref: RowRef): void;
  /** Adds the pairs of a row that are not there. */
  complete(ref: RowRef): void;
}

/**
 * The hashes of elements in a snapshot, in ascending order:
 *
 * ```
 * entry    difference to the hash of the entry before, rows that have it
 * ```
 *
 * Each piece begins at 0. A hash with many rows has several entries, and the rows of the next one
 * are behind those of the one before.
 */
export class InvertedImage implements BodyImage {
  readonly #index: InvertedPairs;
  readonly #pairs = new HashPairs(pairsAtOnce);
  readonly #rows = new Int32Array(rowsOfEntry);
  /** The pair that was written last, and the number of its row. */
  #hash = 0;
  #ref: RowRef = noRow;
  #number = -1;
  /** The hash before in this piece. */
  #piece: ImageWriter | undefined;
  #before = 0;

  constructor(index: InvertedPairs) {
    this.#index = index;
  }

  writeHead(into: ImageWriter): void {
    into.varint(hashRules);
  }

  write(into: ImageWriter, ranks: RowRanks, countMax: number): ImageStep {
    if (this.#piece !== into) [this.#piece, this.#before] = [into, 0];
    const pairs = this.#pairs;
    pairs.clear();
    this.#index.pairsAfter(this.#hash, this.#ref, pairs, Math.min(countMax, pairsAtOnce));
    for (let at = 0; at < pairs.length; ) {
      if (into.room < (2 + rowsOfEntry) * varintBytesMax) return 'full';
      at += this.#writeEntry(into, ranks, at);
    }
    return pairs.length === 0 ? 'done' : 'more';
  }

  /** Writes pairs of one hash from `from` on, and returns how many it looked at. */
  #writeEntry(into: ImageWriter, ranks: RowRanks, from: number): number {
    const pairs = this.#pairs;
    const hash = pairs.hashAt(from);
    let end = from;
    while (end < pairs.length && pairs.hashAt(end) === hash && end - from < rowsOfEntry) {
      this.#rows[end - from] = pairs.refAt(end);
      end++;
    }
    if (hash !== this.#hash) this.#number = -1;
    this.#hash = hash;
    this.#ref = pairs.refAt(end - 1);
    const count = rankRefs(this.#rows.subarray(0, end - from), ranks);
    if (count === 0) return end - from;
    into.varint(hash - this.#before);
    writeRanks(into, this.#rows, count, this.#number);
    this.#before = hash;
    this.#number = this.#rows[count - 1] as number;
    return end - from;
  }
}

/** To be raised when elements get other hashes. */
const hashRules = 1;
const rowsOfEntry = 512;
const pairsAtOnce = 512;

export class InvertedLoad implements BodyLoad {
  readonly #index: InvertedPairs;
  readonly #rows: RefQueue;
  /** The rows of the hash that was read last. */
  readonly #found = new RefList();
  #hash = -1;
  #number = -1;

  constructor(index: InvertedPairs, rows: RefQueue) {
    this.#index = index;
    this.#rows = rows;
  }

  readHead(from: ImageReader): boolean {
    return from.varint() === hashRules;
  }

  read(from: ImageReader): void {
    for (let before = 0; !from.isAtEnd; ) {
      const hash = before + from.below(2 ** 32 - before, 'the difference of two hashes');
      if (hash < this.#hash) throw new ImageError('hashes do not ascend');
      if (hash > this.#hash) this.#next(hash);
      this.#number = readRefs(from, this.#rows, this.#found, this.#number);
      before = hash;
    }
  }

  complete(ref: RowRef): void {
    this.#next(-1);
    this.#index.complete(ref);
  }

  finish(): void {
    this.#next(-1);
  }

  /** Adds the pairs of the hash that was read last. */
  #next(hash: number): void {
    for (const ref of ascending(this.#found.take())) {
      this.#index.addLast(this.#hash, rowRef(ref));
    }
    this.#hash = hash;
    this.#number = -1;
  }
}
