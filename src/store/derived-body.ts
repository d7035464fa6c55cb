import type { Search } from '../search/search.ts';
import type { ImageReader, ImageWriter } from './image-bytes.ts';
import type { RefList } from './ref-list.ts';
import type { RefQueue } from './ref-queue.ts';
import type { RowRanks } from './row-ranks.ts';
import type { RowRef } from './row-ref.ts';
import type { VectorRuler } from './vector-distance.ts';

/**
 * The structure behind a derived index: it finds rows by what it derives from one column. Each kind
 * has a file of its own with a class that implements this; `derived-index.ts` chooses it.
 *
 * A body holds refs of visible rows only. Rows never change in place: a body reads its column from
 * the heap, and can read it again as long as it holds the ref.
 */
export interface DerivedBody {
  /** Bytes held. */
  readonly bytes: number;
  /** The stored row is visible already. */
  add(ref: RowRef): void;
  /**
   * Adds all visible rows to an empty structure, for kinds that do so faster than one by one.
   */
  fill?(): void;
  /** Removes a row that is in the index; its bytes are still those it was added with. */
  remove(ref: RowRef): void;
  /**
   * A row was replaced by another, which is often the same in the column: a kind for which adding
   * is slow can look. Both can be read.
   */
  replace(old: RowRef, ref: RowRef): void;
  /**
   * Appends rows, among them all that fulfil the request, each at least once, in unspecified order.
   * False if it cannot say which: then they are all rows of the table.
   */
  collect(request: DerivedRequest, into: RefList): boolean;
  /**
   * A request that finds the row and is like those that people make, to learn how many others it
   * finds; `undefined` if there is none.
   */
  requestFor(ref: RowRef): DerivedRequest | undefined;
  /**
   * Begins to write its entries for a snapshot of the rows that it has now. Absent: the kind is
   * always built from rows.
   */
  image?(): BodyImage;
  /** Begins to fill an empty structure from such an image, of these rows. */
  load?(rows: RefQueue): BodyLoad;
  /** Whether another structure of the kind, of the same rows, holds the same: for `verify`. */
  holdsSame?(other: DerivedBody): boolean;
}

/**
 * The entries of a structure on their way into a snapshot, a few at a time between transactions,
 * while rows come and go. Rows are named by their numbers in the snapshot; others are left out.
 *
 * An image need not have all entries of rows that are deleted while it is written: a snapshot names
 * those rows, and `BodyLoad.complete` adds what is missing. It has all entries of all others.
 */
export interface BodyImage {
  /** What was so when it was begun; at most `imageHeadBytesMax` bytes. */
  writeHead(into: ImageWriter): void;
  /** Writes about `countMax` entries; `full`: it goes on in another piece. */
  write(into: ImageWriter, ranks: RowRanks, countMax: number): ImageStep;
  /** It is not written on. */
  end?(): void;
}

export type ImageStep = 'more' | 'full' | 'done';

export const imageHeadBytesMax = 256;

/**
 * Fills an empty structure from an image. All methods throw `ImageError` for bytes that make no
 * sense; the structure is then dropped.
 */
export interface BodyLoad {
  /** False: the image was written by other rules, and is of no use. */
  readHead(from: ImageReader): boolean;
  /** The next piece. */
  read(from: ImageReader): void;
  /** Adds the entries of a row that the image lacks, if any. */
  complete(ref: RowRef): void;
  /** All pieces were read, and all rows completed that were named. */
  finish(): void;
}

/** What an index is asked, by its kind. */
export type DerivedRequest = InvertedRequest | TextRequest | NearestRequest;

/** Rows that a search can match. */
export interface TextRequest {
  readonly kind: 'text';
  readonly search: Search;
}

/** Rows whose array has one of the elements (`any`), or each of them (`all`). */
export interface InvertedRequest {
  readonly kind: 'inverted';
  readonly match: 'any' | 'all';
  /** Encoded elements. */
  readonly elements: readonly Uint8Array[];
}

/** The rows with the nearest vectors that a search finds which keeps `width` on its way. */
export interface NearestRequest {
  readonly kind: 'nearest';
  readonly ruler: VectorRuler;
  readonly width: number;
}
