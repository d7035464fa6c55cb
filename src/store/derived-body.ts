import type { Search } from '../search/search.ts';
import type { RefList } from './ref-list.ts';
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
