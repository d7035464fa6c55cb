import { ServiceError } from '../../service/http.ts';
import { serviceErrorOf } from '../../service/load.ts';
import { reachability } from '../../service/reachability.ts';
import { Store } from '../../service/store.ts';
import type { Field } from '../../service/types.ts';
import type { Connection } from '../../shell/connection.ts';
import {
  countSql,
  type GridQuery,
  hasAnchors,
  isByKey,
  type Row,
  type Stretch,
  watchSql,
  windowSql,
} from './grid-query.ts';
import { type Read, readRows } from './row-reader.ts';

/** What the grid knows at a moment; a new object whenever something of it changed. */
export interface WindowState {
  /** How many rows the query has; `null`: not known yet. */
  readonly count: number | null;
  /** How many rows it has at least: so many were read. Counting may take longer than reading. */
  readonly countMin: number;
  /** Columns as the service answered them; empty at first. */
  readonly columns: readonly Field[];
  readonly error: ServiceError | null;
  /** Rows follow changes by a subscription; else they are read again from time to time. */
  readonly isLive: boolean;
}

const blockRows = 100;
const countColumn: Field = { name: 'n', type: { kind: 'integer', bits: 64, isSigned: false } };
/** Blocks that are kept: more than any window shows, so that memory stays bounded. */
const blocksMax = 40;
/** How often rows in view are read again at most, while they change. */
const freshMillis = 100;
/** How often the number of rows is asked for; less often where the query is slow. */
const countMillis = 1_500;
const costlyCountMillis = 8_000;
/** With the way there and back. */
const costlyMillis = 150;
const errorMillis = 2_000;

interface Block {
  readonly rows: readonly Row[];
  /** The row that it was read after or before, if it was. */
  readonly after: Row | null;
}

/**
 * The rows of a query around what is in view, in blocks. A block is found by the row before or
 * after it where that is known; only jumps count rows from the beginning. Rows in view follow a
 * subscription to their stretch of keys.
 */
export class RowWindow {
  readonly state = new Store<WindowState>({
    count: null,
    countMin: 0,
    columns: [],
    error: null,
    isLive: false,
  });
  readonly #database: string;
  readonly #query: GridQuery;
  readonly #blocks = new Map<number, Block>();
  readonly #stop = new AbortController();
  readonly #watched = { sql: '', end: () => {} };
  #connection: Connection | null = null;
  #view: readonly [first: number, last: number] = [0, 0];
  #isReading = false;
  #isStale = false;
  #freshAt = 0;
  #countAt = Number.NEGATIVE_INFINITY;
  #countEvery = countMillis;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(database: string, query: GridQuery) {
    this.#database = database;
    this.#query = query;
  }

  /** Reads until `close`. */
  open(): void {
    this.#timer = setInterval(() => this.#tick(), countMillis);
    void this.#read();
    void this.#count();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop.abort();
    this.#watched.end();
  }

  /** Rows in view follow by this connection from now on; they are read before there is one, too. */
  follow(connection: Connection | null): void {
    if (connection === this.#connection) return;
    this.#connection = connection;
    this.#watched.end();
    this.#watched.sql = '';
    this.#watched.end = () => {};
    this.#setLive(false);
    void this.#read();
  }

  /** The row with this number, if it is here. */
  rowAt(index: number): Row | undefined {
    return this.#blocks.get(Math.floor(index / blockRows))?.rows[index % blockRows];
  }

  /** These rows are in view, the last one included. */
  show(first: number, last: number): void {
    if (this.#view[0] === first && this.#view[1] === last) return;
    this.#view = [first, last];
    void this.#read();
  }

  /** Reads again what is in view: something changed it. */
  refresh(): void {
    this.#isStale = true;
    this.#countAt = Number.NEGATIVE_INFINITY;
    void this.#read();
    void this.#count();
  }

  /** Rows that are here, in their order. */
  loadedRows(): Row[] {
    return [...this.#blocks.keys()]
      .sort((one, other) => one - other)
      .flatMap((number) => this.#blocks.get(number)?.rows ?? []);
  }

  #tick(): void {
    if (document.hidden || reachability.get().isLost) return;
    if (this.state.get().error !== null || !this.state.get().isLive) this.#isStale = true;
    void this.#read();
    void this.#count();
  }

  /** One read at a time: what is missing first, then what is stale. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      for (let number = this.#next(); number !== null; number = this.#next()) {
        await this.#readBlock(number);
        if (this.#stop.signal.aborted) return;
      }
      this.#watch();
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isReading = false;
    }
  }

  #failed(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#isStale = true;
    this.state.set({ ...this.state.get(), error: serviceErrorOf(error) });
    const isFinal = error instanceof ServiceError && error.status >= 400 && error.status < 500;
    if (!isFinal) setTimeout(() => this.#stop.signal.aborted || this.#read(), errorMillis);
  }

  #next(): number | null {
    const [first, last] = this.#shownBlocks();
    for (let number = first; number <= last; number += 1) {
      if (!this.#blocks.has(number)) return number;
    }
    if (this.#isStale) this.#turnStale(first, last);
    return this.#stale.shift() ?? null;
  }

  /** Blocks in view that have to be read again. */
  readonly #stale: number[] = [];

  #turnStale(first: number, last: number): void {
    this.#isStale = false;
    this.#stale.length = 0;
    for (let number = first; number <= last; number += 1) this.#stale.push(number);
    // Others are read again when they come into view.
    for (const number of this.#blocks.keys()) {
      if (number < first || number > last) this.#blocks.delete(number);
    }
  }

  #shownBlocks(): readonly [number, number] {
    const { count } = this.state.get();
    const end = count === null ? 0 : Math.max(0, Math.ceil(count / blockRows) - 1);
    const [first, last] = this.#view.map((row) => Math.min(end, Math.floor(row / blockRows)));
    return [first ?? 0, last ?? 0];
  }

  async #readBlock(number: number): Promise<void> {
    const old = this.#blocks.get(number);
    const stretch = this.#stretchOf(number);
    const sql = windowSql(this.#query, stretch, blockRows);
    const answer = await this.#ask(sql, this.state.get().columns);
    const rows = stretch.kind === 'before' ? [...answer.rows].reverse() : answer.rows;
    if (stretch.kind === 'before' && rows.length < blockRows) {
      // Rows before it went away: it is found by counting.
      this.#blocks.clear();
      return;
    }
    const kept = old === undefined ? rows : rows.map(sameAs(old.rows));
    const isOther = old === undefined || !sameRows(old.rows, kept);
    const after = stretch.kind === 'after' ? stretch.row : null;
    this.#blocks.set(number, { rows: isOther ? kept : old.rows, after });
    this.#dropMisfit(number);
    this.#dropFar(number);
    const { columns, error, count, countMin } = this.state.get();
    if (!isOther && error === null) return;
    const isShort = rows.length < blockRows && (number === 0 || rows.length > 0);
    this.state.set({
      ...this.state.get(),
      columns: columns.length > 0 ? columns : answer.columns,
      error: null,
      countMin: Math.max(countMin, number * blockRows + rows.length),
      count: isShort ? number * blockRows + rows.length : count,
    });
  }

  /** The best way to find a block. */
  #stretchOf(number: number): Stretch {
    if (number === 0 || !hasAnchors(this.#query)) {
      return { kind: 'at', offset: number * blockRows };
    }
    const before = this.#blocks.get(number - 1)?.rows.at(-1);
    if (before !== undefined) return { kind: 'after', row: before };
    const own = this.#blocks.get(number)?.after;
    if (own !== undefined && own !== null) return { kind: 'after', row: own };
    const next = this.#blocks.get(number + 1)?.rows[0];
    if (next !== undefined) return { kind: 'before', row: next };
    return { kind: 'at', offset: number * blockRows };
  }

  /** The block after it was read after another row: it is read again when it is in view. */
  #dropMisfit(number: number): void {
    const next = this.#blocks.get(number + 1);
    const last = this.#blocks.get(number)?.rows.at(-1);
    if (next === undefined || next.after === null || last === undefined) return;
    if (JSON.stringify(next.after) !== JSON.stringify(last) && !this.#sameKey(next.after, last)) {
      this.#blocks.delete(number + 1);
    }
  }

  #sameKey(one: Row, other: Row): boolean {
    const { columns, primaryKey } = this.#query.table;
    const at = columns.findIndex(({ name }) => name === primaryKey);
    return isByKey(this.#query) && JSON.stringify(one[at]) === JSON.stringify(other[at]);
  }

  #dropFar(near: number): void {
    if (this.#blocks.size <= blocksMax) return;
    const far = [...this.#blocks.keys()].sort((a, b) => Math.abs(b - near) - Math.abs(a - near));
    for (const number of far.slice(0, this.#blocks.size - blocksMax)) this.#blocks.delete(number);
  }

  async #count(): Promise<void> {
    const now = performance.now();
    if (now - this.#countAt < this.#countEvery) return;
    this.#countAt = now;
    try {
      const isFirst = this.state.get().count === null;
      const { rows, micros } = await this.#ask(countSql(this.#query), isFirst ? [] : [countColumn]);
      this.#countEvery = micros / 1_000 > costlyMillis ? costlyCountMillis : countMillis;
      const count = Number(rows[0]?.[0] ?? 0);
      if (count === this.state.get().count) return;
      this.state.set({ ...this.state.get(), count });
      if (!isFirst) this.#isStale = true;
      void this.#read();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** What is read for the first time (its columns are not known) does not wait for a connection. */
  #ask(sql: string, columns: readonly Field[]): Promise<Read> {
    return readRows({
      database: this.#database,
      connection: this.#connection,
      sql,
      columns,
      signal: this.#stop.signal,
    });
  }

  /** Follows the stretch of keys in view. */
  #watch(): void {
    const connection = this.#connection;
    const isWatched = connection !== null && this.#query.table.kind === 'table';
    if (!isWatched || !isByKey(this.#query)) return;
    const [first, last] = this.#shownBlocks();
    const top = this.#blocks.get(first)?.rows[0] ?? null;
    const bottom = this.#blocks.get(last)?.rows ?? [];
    const isEnd = bottom.length < blockRows;
    const sql = watchSql(
      this.#query,
      first === 0 ? null : top,
      isEnd ? null : (bottom.at(-1) ?? null),
    );
    if (sql === this.#watched.sql) return;
    this.#watched.end();
    const query = connection.watch(sql, { keepMillis: 0 });
    const stopChanges = query.onChange(() => query.get().isReady && this.#changed());
    const stopState = query.subscribe(() => {
      const { isReady, isStale, error } = query.get();
      this.#setLive(isReady && !isStale && error === undefined);
    });
    this.#watched.sql = sql;
    this.#watched.end = () => {
      stopChanges();
      stopState();
    };
  }

  #setLive(isLive: boolean): void {
    // What happened while the connection was lost is not known.
    if (isLive && !this.state.get().isLive) this.#changed();
    if (isLive !== this.state.get().isLive) this.state.set({ ...this.state.get(), isLive });
  }

  #isAwaited = false;

  /** Something in view changed: reads it again, not more often than people can see. */
  #changed(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    const wait = Math.max(0, this.#freshAt + freshMillis - performance.now());
    setTimeout(() => {
      this.#isAwaited = false;
      if (this.#stop.signal.aborted) return;
      this.#freshAt = performance.now();
      this.#isStale = true;
      requestAnimationFrame(() => void this.#read());
    }, wait);
  }
}

/** Keeps a row that stayed equal the same object, so that it is not drawn again. */
function sameAs(old: readonly Row[]): (row: Row, at: number) => Row {
  return (row, at) => {
    const before = old[at];
    return before !== undefined && JSON.stringify(before) === JSON.stringify(row) ? before : row;
  };
}

function sameRows(one: readonly Row[], other: readonly Row[]): boolean {
  return one.length === other.length && one.every((row, at) => row === other[at]);
}
