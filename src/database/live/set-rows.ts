import { type RowSet, rowCountOf } from '../../live/row-set.ts';
import type { RowsRead } from '../../live/rows-read.ts';
import { resultTooLarge } from '../../sql/failure.ts';
import type { DatabaseCore } from '../core.ts';
import type { SharedRead } from './first-reads.ts';

/** One query whose rows are read. */
export interface QueryToRead {
  /** Queries with the same key have the same rows; `undefined` if it shares with none. */
  readonly key: string | undefined;
  readonly begin: () => RowsRead;
  /** Gives back the memory that was counted for it; others that share the read keep it. */
  readonly release: () => void;
}

/**
 * The rows of several queries at the commit at which it is created, read in slices. The code that
 * creates it must dispose of it.
 */
export class SetRows {
  readonly #core: DatabaseCore;
  readonly #queries: readonly QueryToRead[];
  /** The row limit of the reader, and what is left of it. */
  readonly #rowsMax: number;
  #rowsLeft: number;
  /** The reads that were begun. */
  readonly #shared: SharedRead[] = [];
  #at = 0;
  /** True if it was the first to begin some of its reads. */
  #hasOwn = false;
  #isPaused = false;

  /** `rowsMax` is the limit on the reader's rows, over all queries. */
  constructor(
    core: DatabaseCore,
    queries: readonly QueryToRead[],
    rowsMax = Number.POSITIVE_INFINITY,
  ) {
    this.#core = core;
    this.#queries = queries;
    this.#rowsMax = rowsMax;
    this.#rowsLeft = rowsMax;
  }

  /** True when nothing is left to read, perhaps because others have read it. */
  get isReady(): boolean {
    return this.#shared.length === this.#queries.length && this.#shared.every(isDone);
  }

  /** Runs one slice. Throws `SqlFailure`, or `PinRevokedError`. */
  run(): 'done' | 'paused' {
    if (this.#slice() === 'paused') return 'paused';
    this.#requireWithin(this.#shared.flatMap(({ read }) => read.rows()));
    return 'done';
  }

  #slice(): 'done' | 'paused' {
    const { clock, slices } = this.#core;
    const end = clock.monotonicMillis() + slices.millis;
    for (; this.#at < this.#queries.length; this.#at++) {
      const { read } = this.#begun(this.#at);
      if (read.isDone) continue;
      let isPaused = read.run() === 'paused';
      while (isPaused && !this.#mayPause) isPaused = read.run() === 'paused';
      const isOver = isPaused || clock.monotonicMillis() >= end;
      if (isOver && !this.isReady && this.#pause()) return 'paused';
    }
    return 'done';
  }

  /**
   * Adds rows that need not be read; they count against the reader's limit. Throws `SqlFailure`
   * when they exceed it.
   */
  alsoGets(sets: readonly RowSet[]): void {
    this.#rowsLeft -= countOf(sets);
    this.#requireWithin(this.isReady ? this.#shared.flatMap(({ read }) => read.rows()) : []);
  }

  /** Runs all remaining slices. */
  runAll(): void {
    while (this.run() === 'paused');
  }

  /** The rows of each query, to be handed out with this turn. */
  rows(): readonly (readonly RowSet[])[] {
    return this.#shared.map((shared) => shared.handOut());
  }

  dispose(): void {
    const { firstReads } = this.#core.live;
    if (this.#isPaused) firstReads.pausedCount -= 1;
    this.#isPaused = false;
    for (const shared of this.#shared.splice(0)) firstReads.letGo(shared);
    for (const { release } of this.#queries) release();
  }

  get #mayPause(): boolean {
    return this.#isPaused || !this.#hasOwn || this.#core.live.firstReads.mayPause;
  }

  /** Gives all queries not begun yet a snapshot of the current rows. False: no room to pause. */
  #pause(): boolean {
    if (!this.#mayPause) return false;
    for (let at = this.#shared.length; at < this.#queries.length; at++) this.#begun(at).read.pin();
    if (!this.#isPaused && this.#hasOwn) {
      this.#isPaused = true;
      this.#core.live.firstReads.pausedCount += 1;
    }
    return true;
  }

  #requireWithin(sets: readonly RowSet[]): void {
    if (countOf(sets) <= this.#rowsLeft) return;
    throw resultTooLarge(`${this.#rowsMax} rows`, 'narrow the WHERE clauses');
  }

  #begun(at: number): SharedRead {
    const known = this.#shared[at];
    if (known !== undefined) return known;
    const { firstReads } = this.#core.live;
    const { key, begin } = this.#queries[at] as QueryToRead;
    let isOwn = false;
    const shared = firstReads.take(key, this.#core.store.offset, () => {
      isOwn = true;
      return begin();
    });
    this.#hasOwn ||= isOwn;
    this.#shared.push(shared);
    return shared;
  }
}

function countOf(sets: readonly RowSet[]): number {
  return sets.reduce((sum, set) => sum + rowCountOf(set), 0);
}

function isDone({ read }: SharedRead): boolean {
  return read.isDone;
}
