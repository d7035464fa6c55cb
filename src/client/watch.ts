import type { Row, RowKey } from './client-schema.ts';
import type { RowChange } from './contents.ts';
import { guarded } from './guarded.ts';
import { sameValue } from './native-order.ts';
import { Observable, type Readable } from './observable.ts';
import type { Snapshot } from './page-snapshot.ts';
import type { ResultOrder } from './result-order.ts';
import type { SqlParameters } from './sql-parameters.ts';

/**
 * The rows of a query as they are now, for user interfaces. `isReady` stays true once the rows have
 * arrived; `isStale` is true while the connection is lost.
 *
 * @example
 * ```ts
 * const heroes: Readable<WatchedRows<{ nick: string }>> = client.watch('SELECT * FROM hero');
 * ```
 */
export interface WatchedRows<R> {
  /** Stays the same array, of the same objects, while nothing changes. */
  readonly rows: readonly R[];
  readonly isReady: boolean;
  readonly isStale: boolean;
  readonly error?: Error;
}

/**
 * How a watched query is shown. Sorting, limiting and selecting happen in the client, over the rows
 * that the server returns for the query.
 *
 * @example
 * ```ts
 * const newestFirst: WatchOptions<{ sentAt: number }> = {
 *   sort: (a, b) => b.sentAt - a.sentAt,
 *   limit: 50,
 * };
 * ```
 */
export interface WatchOptions<R, Out = R> {
  /** Values for the `:name`s of a SQL text. */
  readonly params?: SqlParameters | undefined;
  /** How long the rows are kept up to date after the last listener is removed; default 5,000. */
  readonly keepMillis?: number | undefined;
  readonly sort?: ((a: R, b: R) => number) | undefined;
  /** The most rows to show, counted after sorting. */
  readonly limit?: number | undefined;
  /** Rows to show until the server's arrive: see `preload`. */
  readonly initial?: Snapshot | undefined;
  /** Maps a row to the value that is shown; must give equal results for equal rows. */
  readonly select?: ((row: R) => Out) | undefined;
}

/**
 * A watched query: a store of its rows. `R` is a row of the query, `Out` the value shown for it.
 *
 * @example
 * ```ts
 * const heroes: WatchedQuery<{ nick: string }> = client.watch('SELECT * FROM hero');
 * await heroes.ready();
 * const stop = heroes.onChange((changes) => console.log(`${changes.length} rows changed`));
 * ```
 */
export interface WatchedQuery<Out, R = Out> extends Readable<WatchedRows<Out>> {
  /**
   * Reports inserted, updated and deleted rows, the first rows as inserts, just before listeners of
   * the store are called. Rows of an event table are reported and not kept. A listener here does
   * not keep the query alive: `subscribe` does.
   */
  onChange(listener: (changes: readonly RowChange<R>[]) => void): () => void;
  /**
   * The value for a server's render, and for the first render of a page that hydrates it: the rows
   * of the snapshot, or those that are cached; stale, as they are of another moment.
   */
  getInitial(): WatchedRows<Out>;
  /** Resolves when the rows have arrived, rejects when the server rejects the query. */
  ready(): Promise<void>;
}

/** The query set behind a watched query. */
export interface WatchedSet {
  /** Keys of the rows, each once. */
  keys(): Iterable<RowKey>;
  /** The row with this key; `undefined` if it is not, or no longer, a row of the query. */
  at(key: RowKey): Row | undefined;
  /** How often the row occurs in the result; more than once only if rows are computed. */
  copies(key: RowKey): number;
  /** `undefined` if there are no rows to compare with. */
  keyOf(row: Row): RowKey | undefined;
  /** The order that the query asks for, if any and if there are rows. */
  order(): ResultOrder | undefined;
  leave(): void;
}

interface WatchListener {
  failed(error: Error): void;
  /** The connection has ended permanently. */
  closed(error: Error): void;
}

/** The part of a client that a watched query needs. */
export interface WatchOwner {
  subscribe(listener: WatchListener): WatchedSet;
  /** Runs `run` when the query has been kept long enough without a listener. */
  after(millis: number, run: () => void): () => void;
  /** Called when the query is no longer needed. */
  gone(): void;
  report(error: unknown): void;
}

/** One watched query: subscribed while it has listeners, and for a while after. */
export class Watch implements WatchedQuery<Row> {
  readonly #value: Observable<WatchedRows<Row>>;
  readonly #owner: WatchOwner;
  readonly #changeListeners = new Set<(changes: readonly RowChange[]) => void>();
  /** The shown rows, in order of first appearance. */
  #shown = new Map<RowKey, Row>();
  /** How often shown rows occur, for those that occur more than once. */
  readonly #copies = new Map<RowKey, number>();
  /** Rows of a snapshot, shown until the server's have arrived. */
  #initial: readonly Row[] | undefined;
  /** The value shown of a snapshot; kept for parts of the page that hydrate later. */
  #begun: WatchedRows<Row> | undefined;
  #order: ResultOrder | undefined;
  #keepMillis: number;
  #set: WatchedSet | undefined;
  #cancelLeaving: (() => void) | undefined;

  constructor(owner: WatchOwner, keepMillis: number) {
    this.#owner = owner;
    this.#keepMillis = keepMillis;
    this.#value = new Observable<WatchedRows<Row>>(nothing, owner.report);
    // A query may be created without a listener ever being added.
    this.#leaveLater();
  }

  /** The longest requested time counts. */
  keepFor(millis: number): void {
    this.#keepMillis = Math.max(this.#keepMillis, millis);
  }

  readonly get = (): WatchedRows<Row> => this.#value.get();

  readonly subscribe = (changed: () => void): (() => void) => {
    this.#cancelLeaving?.();
    this.#cancelLeaving = undefined;
    const stop = this.#value.subscribe(changed);
    this.#set ??= this.#owner.subscribe({
      failed: (error) => this.#end(error),
      closed: (error) => {
        // Reports the error to those waiting for first rows; a query that has rows keeps them.
        if (!this.get().isReady) this.#value.set({ ...this.get(), error });
      },
    });
    return () => {
      stop();
      if (this.#value.listenerCount > 0 || this.#cancelLeaving !== undefined) return;
      this.#leaveLater();
    };
  };

  getInitial(): WatchedRows<Row> {
    const value = this.#begun ?? this.get();
    return { ...value, isStale: value.isReady };
  }

  onChange(listener: (changes: readonly RowChange[]) => void): () => void {
    const own = (changes: readonly RowChange[]) => listener(changes);
    this.#changeListeners.add(own);
    return () => this.#changeListeners.delete(own);
  }

  ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = this.get().isReady;
      let stop = () => {};
      if (isOver) resolve();
      stop = this.subscribe(() => {
        const { isReady, error } = this.get();
        if (error !== undefined) reject(error);
        else if (isReady) resolve();
        else return;
        isOver = true;
        stop();
      });
      if (isOver) stop();
    });
  }

  /** Shows rows of a snapshot, if it has any and the server's have not arrived. */
  begin(rows: () => readonly Row[] | undefined): void {
    if (this.get().isReady) return;
    this.#initial = rows();
    if (this.#initial === undefined) return;
    this.#begun = { rows: this.#initial, isReady: true, isStale: true };
    this.#value.set(this.#begun);
  }

  /** Drops the rows of the snapshot, which cannot be used. */
  forget(): void {
    if (this.#initial === undefined) return;
    this.#initial = undefined;
    this.#begun = undefined;
    this.#value.set(nothing);
  }

  /**
   * Rereads the rows with these keys, or all rows. Without changes the value stays the same object.
   */
  refresh(keys?: Iterable<RowKey>): void {
    const set = this.#set;
    if (set === undefined) return;
    const changes: RowChange[] = [];
    let isOther = this.#adopt(set, changes);
    for (const key of keys ?? new Set([...this.#shown.keys(), ...set.keys()])) {
      isOther = this.#look(set, key, changes) || isOther;
    }
    const { rows, isReady, isStale: wasStale } = this.get();
    // A prediction also changes rows while the connection is lost.
    const isStale = keys !== undefined && wasStale;
    if (!isOther && isReady && isStale === wasStale) return;
    // Its columns are known with the first rows, and may differ after a reconnect.
    if (keys === undefined || rows.length === 0) this.#order = set.order();
    this.#tell(changes);
    this.#value.set({ rows: isOther ? this.#rows() : rows, isReady: true, isStale });
  }

  /** Reports rows of an event table, which are not kept. */
  flash(rows: readonly Row[]): void {
    this.#tell(rows.map((row) => ({ kind: 'insert', row })));
  }

  /** Renames the key of a shown row, which keeps its place. */
  rename(from: RowKey, to: RowKey): void {
    const isMoved = this.#shown.has(from) && !this.#shown.has(to);
    if (!isMoved || this.#set?.at(from) !== undefined || this.#set?.at(to) === undefined) return;
    this.#shown = new Map([...this.#shown].map(([key, row]) => [key === from ? to : key, row]));
  }

  /** The connection was lost. */
  setStale(): void {
    const value = this.get();
    if (value.isReady && !value.isStale) this.#value.set({ ...value, isStale: true });
  }

  /** Treats the rows of a snapshot as the shown rows; returns true if some of them are gone. */
  #adopt(set: WatchedSet, changes: RowChange[]): boolean {
    const initial = this.#initial ?? [];
    this.#initial = undefined;
    for (const row of initial) {
      const key = set.keyOf(row);
      if (key === undefined) changes.push({ kind: 'delete', row });
      else if (this.#shown.has(key)) this.#copies.set(key, (this.#copies.get(key) ?? 1) + 1);
      else this.#shown.set(key, row);
    }
    return changes.length > 0;
  }

  /** Whether the row with this key, or the number of its copies, has changed. */
  #look(set: WatchedSet, key: RowKey, changes: RowChange[]): boolean {
    const old = this.#shown.get(key);
    const row = set.at(key);
    const copies = row === undefined ? 1 : set.copies(key);
    const hadCopies = this.#copies.get(key) ?? 1;
    if (copies !== hadCopies) {
      if (copies > 1) this.#copies.set(key, copies);
      else this.#copies.delete(key);
    }
    if (old !== undefined && row !== undefined && sameValue(old, row)) return copies !== hadCopies;
    if (row !== undefined) this.#shown.set(key, row);
    if (old === undefined) {
      if (row === undefined) return false;
      changes.push({ kind: 'insert', row });
    } else if (row === undefined) {
      this.#shown.delete(key);
      changes.push({ kind: 'delete', row: old });
    } else {
      changes.push({ kind: 'update', old, row });
    }
    return true;
  }

  #rows(): readonly Row[] {
    const rows =
      this.#copies.size === 0
        ? [...this.#shown.values()]
        : [...this.#shown].flatMap(([key, row]) => {
            return Array.from({ length: this.#copies.get(key) ?? 1 }, () => row);
          });
    if (this.#order === undefined) return rows;
    // The server sends no more than the limit; predicted rows may exceed it.
    return rows.sort(this.#order.compare).slice(0, this.#order.limit);
  }

  #tell(changes: readonly RowChange[]): void {
    if (changes.length === 0) return;
    for (const listener of [...this.#changeListeners]) {
      guarded(() => listener(changes), this.#owner.report);
    }
  }

  #end(error: Error): void {
    this.#set = undefined;
    this.#forget();
    this.#value.set({ ...this.get(), rows: [], isStale: false, error });
  }

  #leaveLater(): void {
    this.#cancelLeaving = this.#owner.after(this.#keepMillis, () => this.#leave());
  }

  #leave(): void {
    this.#cancelLeaving = undefined;
    this.#owner.gone();
    this.#set?.leave();
    this.#set = undefined;
    this.#forget();
    this.#value.set(nothing);
  }

  #forget(): void {
    this.#initial = undefined;
    this.#begun = undefined;
    this.#order = undefined;
    this.#shown.clear();
    this.#copies.clear();
  }
}

const nothing: WatchedRows<Row> = { rows: [], isReady: false, isStale: false };
