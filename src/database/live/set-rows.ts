import { type RowSet, rowCountOf } from '../../live/row-set.ts';
import type { RowsRead } from '../../live/rows-read.ts';
import { overBudget } from '../../sql/failure.ts';
import type { DatabaseCore } from '../core.ts';
import type { SharedRead } from './first-reads.ts';

/** One query whose rows are read. */
export interface QueryToRead {
  /** Queries with one key have the same rows; `undefined`: it shares with none. */
  readonly key: string | undefined;
  readonly begin: () => RowsRead;
}

/**
 * The rows of several queries at the commit at which it is made, read in slices. Whoever makes it
 * disposes of it.
 */
export class SetRows {
  readonly #core: DatabaseCore;
  readonly #queries: readonly QueryToRead[];
  readonly #rowsMax: number | undefined;
  /** Those that were begun. */
  readonly #shared: SharedRead[] = [];
  #at = 0;
  /** Some of its reads nobody had begun before. */
  #hasOwn = false;
  #isPaused = false;

  /** `rowsMax`: most rows that each query may have for its reader. */
  constructor(core: DatabaseCore, queries: readonly QueryToRead[], rowsMax?: number) {
    this.#core = core;
    this.#queries = queries;
    this.#rowsMax = rowsMax;
  }

  /** True when nothing is left to be read, maybe because others have read it. */
  get isReady(): boolean {
    return this.#shared.length === this.#queries.length && this.#shared.every(isDone);
  }

  /** Runs one slice. Throws `SqlFailure`, or `PinRevokedError`. */
  run(): 'done' | 'paused' {
    if (this.#slice() === 'paused') return 'paused';
    for (const { read } of this.#shared) requireWithin(this.#rowsMax, read.rows());
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

  /** Runs all slices that are left. */
  runAll(): void {
    while (this.run() === 'paused');
  }

  /** Of each query, to be handed out with this turn. */
  rows(): readonly (readonly RowSet[])[] {
    return this.#shared.map((shared) => shared.handOut());
  }

  dispose(): void {
    const { firstReads } = this.#core.live;
    if (this.#isPaused) firstReads.pausedCount -= 1;
    this.#isPaused = false;
    for (const shared of this.#shared.splice(0)) firstReads.letGo(shared);
  }

  get #mayPause(): boolean {
    return this.#isPaused || !this.#hasOwn || this.#core.live.firstReads.mayPause;
  }

  /** Has all that was not begun see the present rows. False: there is no room for a pause. */
  #pause(): boolean {
    if (!this.#mayPause) return false;
    for (let at = this.#shared.length; at < this.#queries.length; at++) this.#begun(at).read.pin();
    if (!this.#isPaused && this.#hasOwn) {
      this.#isPaused = true;
      this.#core.live.firstReads.pausedCount += 1;
    }
    return true;
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

/** Throws `SqlFailure` when a query has more rows than its reader may have. */
export function requireWithin(rowsMax: number | undefined, sets: readonly RowSet[]): void {
  if (rowsMax === undefined) return;
  if (sets.reduce((sum, set) => sum + rowCountOf(set), 0) <= rowsMax) return;
  throw overBudget(`The result has more than ${rowsMax} rows; narrow the WHERE clauses`);
}

function isDone({ read }: SharedRead): boolean {
  return read.isDone;
}
