import type { Row } from './client-schema.ts';
import { Observable, type Readable } from './observable.ts';

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

/** The query set behind a watched query. */
export interface WatchedSet {
  /** Each row once. */
  rows(): Iterable<Row>;
  leave(): void;
}

interface WatchListener {
  applied(): void;
  failed(error: Error): void;
  /** The connection is over for good. */
  closed(error: Error): void;
}

/** What a watched query needs of its client. */
export interface WatchOptions {
  subscribe(listener: WatchListener): WatchedSet;
  /** Runs something when the query has been kept long enough without a listener. */
  after(run: () => void): () => void;
  /** Nobody listens any more. */
  gone(): void;
  report(error: unknown): void;
}

/** One watched query: subscribed to while somebody listens, and for a while after. */
export class Watch implements Readable<WatchedRows<Row>> {
  readonly #value: Observable<WatchedRows<Row>>;
  readonly #options: WatchOptions;
  #set: WatchedSet | undefined;
  #cancelLeaving: (() => void) | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#value = new Observable<WatchedRows<Row>>(nothing, options.report);
    this.get = this.get.bind(this);
    this.subscribe = this.subscribe.bind(this);
    // Whoever asks for a query may never come to listen.
    this.#cancelLeaving = options.after(() => this.#leave());
  }

  get(): WatchedRows<Row> {
    return this.#value.get();
  }

  subscribe(changed: () => void): () => void {
    this.#cancelLeaving?.();
    this.#cancelLeaving = undefined;
    const stop = this.#value.subscribe(changed);
    this.#set ??= this.#options.subscribe({
      applied: () => this.refresh(false),
      failed: (error) => {
        this.#set = undefined;
        this.#value.set({ ...this.get(), rows: [], isStale: false, error });
      },
      closed: (error) => {
        // Rows that were there stay readable; whoever waits for the first ones waits in vain.
        if (this.get().isReady) this.setStale(true);
        else this.#value.set({ ...this.get(), error });
      },
    });
    return () => {
      stop();
      if (this.#value.listenerCount > 0 || this.#cancelLeaving !== undefined) return;
      this.#cancelLeaving = this.#options.after(() => this.#leave());
    };
  }

  /** Takes the rows as they are now. Unchanged ones give the same value again. */
  refresh(isStale: boolean): void {
    const { rows, isReady, isStale: wasStale } = this.get();
    const now = [...(this.#set?.rows() ?? [])];
    const isSame = now.length === rows.length && now.every((row, at) => row === rows[at]);
    if (isSame && isReady && isStale === wasStale) return;
    this.#value.set({ rows: isSame ? rows : now, isReady: true, isStale });
  }

  /** The connection went away or came back. */
  setStale(isStale: boolean): void {
    const value = this.get();
    if (value.isReady && value.isStale !== isStale) this.#value.set({ ...value, isStale });
  }

  #leave(): void {
    this.#cancelLeaving = undefined;
    this.#options.gone();
    this.#set?.leave();
    this.#set = undefined;
    this.#value.set(nothing);
  }
}

const nothing: WatchedRows<Row> = { rows: [], isReady: false, isStale: false };
