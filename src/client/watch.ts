import type { Row, RowKey } from './client-schema.ts';
import type { RowChange } from './contents.ts';
import { guarded } from './guarded.ts';
import { sameValue } from './native-order.ts';
import { Observable, type Readable } from './observable.ts';
import type { Snapshot } from './page-snapshot.ts';
import type { ResultOrder } from './result-order.ts';
import type { SqlParameters } from './sql-parameters.ts';

/**
 * The rows of a query as they are now, for user interfaces. `isReady` is true for good once the
 * rows were there; `isStale` while the connection is away.
 *
 * @example
 * ```ts
 * const heroes: Readable<WatchedRows<{ nick: string }>> = client.watch('SELECT * FROM hero');
 * ```
 */
export interface WatchedRows<R> {
  /** The same array, of the same objects, as long as nothing changes. */
  readonly rows: readonly R[];
  readonly isReady: boolean;
  readonly isStale: boolean;
  readonly error?: Error;
}

/**
 * How a watched query is shown. Sorting, cutting and selecting happen in the client, over what the
 * server says belongs to the query.
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
  /** How long the rows are kept up to date after the last listener left; 5,000 unless told. */
  readonly keepMillis?: number | undefined;
  readonly sort?: ((a: R, b: R) => number) | undefined;
  /** So many rows at most, of the sorted ones. */
  readonly limit?: number | undefined;
  /** Rows for the time before the server's: see `preload`. */
  readonly initial?: Snapshot | undefined;
  /** What is shown in the place of a row; must give equal results for equal rows. */
  readonly select?: ((row: R) => Out) | undefined;
}

/**
 * A watched query: a store of its rows. `R` is what the query gives, `Out` what is shown of it.
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
   * Tells which rows came, changed and went, the first ones as inserts, just before listeners of
   * the store are called. Rows of an event table are told and not kept. It does not keep the query
   * alive: `subscribe` does.
   */
  onChange(listener: (changes: readonly RowChange<R>[]) => void): () => void;
  /**
   * What a server renders, and a page that takes over from it renders first: the rows of the
   * snapshot, or those that are there; stale, as they are of another moment.
   */
  getInitial(): WatchedRows<Out>;
  /** Resolves when the rows are there, rejects when the server refuses the query. */
  ready(): Promise<void>;
}

/** The query set behind a watched query. */
export interface WatchedSet {
  /** Of the rows, each once. */
  keys(): Iterable<RowKey>;
  /** `undefined`: not, or no longer, a row of the query. */
  at(key: RowKey): Row | undefined;
  /** How often the row stands in the result; more than once only where rows are computed. */
  copies(key: RowKey): number;
  /** `undefined`: there are no rows to compare with. */
  keyOf(row: Row): RowKey | undefined;
  /** The order that the query asks for, if it does and there are rows. */
  order(): ResultOrder | undefined;
  leave(): void;
}

interface WatchListener {
  failed(error: Error): void;
  /** The connection is over for good. */
  closed(error: Error): void;
}

/** What a watched query needs of its client. */
export interface WatchOwner {
  subscribe(listener: WatchListener): WatchedSet;
  /** Runs something when the query has been kept long enough without a listener. */
  after(millis: number, run: () => void): () => void;
  /** Nobody listens any more. */
  gone(): void;
  report(error: unknown): void;
}

/** One watched query: subscribed to while somebody listens, and for a while after. */
export class Watch implements WatchedQuery<Row> {
  readonly #value: Observable<WatchedRows<Row>>;
  readonly #owner: WatchOwner;
  readonly #changeListeners = new Set<(changes: readonly RowChange[]) => void>();
  /** What is shown, in the order of its first appearance. */
  #shown = new Map<RowKey, Row>();
  /** Of the shown rows those that stand there more than once. */
  readonly #copies = new Map<RowKey, number>();
  /** Rows of a snapshot, shown until the server's are there. */
  #initial: readonly Row[] | undefined;
  /** What was shown of a snapshot; kept for parts of the page that come to life later. */
  #begun: WatchedRows<Row> | undefined;
  #order: ResultOrder | undefined;
  #keepMillis: number;
  #set: WatchedSet | undefined;
  #cancelLeaving: (() => void) | undefined;

  constructor(owner: WatchOwner, keepMillis: number) {
    this.#owner = owner;
    this.#keepMillis = keepMillis;
    this.#value = new Observable<WatchedRows<Row>>(nothing, owner.report);
    // Whoever asks for a query may never come to listen.
    this.#leaveLater();
  }

  /** The longest that anybody asks for counts. */
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
        // Whoever waits for the first rows will not get them; those who have some keep them.
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

  /** Shows rows of a snapshot, if there are any and none of the server. */
  begin(rows: () => readonly Row[] | undefined): void {
    if (this.get().isReady) return;
    this.#initial = rows();
    if (this.#initial === undefined) return;
    this.#begun = { rows: this.#initial, isReady: true, isStale: true };
    this.#value.set(this.#begun);
  }

  /** The snapshot is of no use. */
  forget(): void {
    if (this.#initial === undefined) return;
    this.#initial = undefined;
    this.#begun = undefined;
    this.#value.set(nothing);
  }

  /** Looks at the rows with these keys again, or at all. Unchanged ones give the same value. */
  refresh(keys?: Iterable<RowKey>): void {
    const set = this.#set;
    if (set === undefined) return;
    const changes: RowChange[] = [];
    let isOther = this.#adopt(set, changes);
    for (const key of keys ?? new Set([...this.#shown.keys(), ...set.keys()])) {
      isOther = this.#look(set, key, changes) || isOther;
    }
    const { rows, isReady, isStale: wasStale } = this.get();
    // A prediction changes rows also while the connection is away.
    const isStale = keys !== undefined && wasStale;
    if (!isOther && isReady && isStale === wasStale) return;
    // Its columns are known with the first rows, and may be others after a reconnect.
    if (keys === undefined || rows.length === 0) this.#order = set.order();
    this.#tell(changes);
    this.#value.set({ rows: isOther ? this.#rows() : rows, isReady: true, isStale });
  }

  /** Rows that come and are gone: of an event table. */
  flash(rows: readonly Row[]): void {
    this.#tell(rows.map((row) => ({ kind: 'insert', row })));
  }

  /** A row that was shown under one key is there under another one: it keeps its place. */
  rename(from: RowKey, to: RowKey): void {
    const isMoved = this.#shown.has(from) && !this.#shown.has(to);
    if (!isMoved || this.#set?.at(from) !== undefined || this.#set?.at(to) === undefined) return;
    this.#shown = new Map([...this.#shown].map(([key, row]) => [key === from ? to : key, row]));
  }

  /** The connection went away. */
  setStale(): void {
    const value = this.get();
    if (value.isReady && !value.isStale) this.#value.set({ ...value, isStale: true });
  }

  /** Takes the rows of a snapshot for those that were shown; true if some of them are gone. */
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

  /** Whether the row with this key is another one now, or stands there another number of times. */
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
    // The server gives no more than the limit; with predicted rows there may be some.
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
