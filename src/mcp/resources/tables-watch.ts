import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { findDatabase, type OpenDatabase } from '../open-database.ts';
import type { McpSession } from '../session.ts';
import type { TableAddress } from './address.ts';
import { readableTables, rowsQuery } from './table-rows.ts';
import { TablesConnection } from './tables-connection.ts';
import type { WatchedPart } from './watched-part.ts';

export interface TablesWatchOptions {
  readonly session: McpSession;
  /** The database, as the URIs name it. */
  readonly target: string;
  /** What of it, by the URIs of the resources. */
  readonly addresses: ReadonlyMap<string, TableAddress>;
  readonly changed: (uri: string) => void;
  /** They could not be looked for again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Watches tables of one database: a live query of exactly what each of their resources shows, over
 * one connection with the rights of the caller.
 *
 * When the connection ends, or rights or tables are others than they were, it is opened anew, and
 * all of the tables count as changed, because nobody knows what happened in between. What should be
 * there and cannot be watched is tried again, ever more rarely.
 */
export class TablesWatch implements WatchedPart {
  readonly #options: TablesWatchOptions;
  readonly #addresses: Map<string, TableAddress>;
  #connection: TablesConnection | undefined;
  /** What it was opened with; `undefined`: the database was not there for the caller. */
  #found: OpenDatabase | undefined;
  #retryMillis: number = limits.watchRetryMillisMin;
  #retry: NodeJS.Timeout | undefined;
  /** `stale`: while it was opened, something changed. */
  #state: 'opening' | 'stale' | 'open' | 'closed' = 'opening';

  constructor(options: TablesWatchOptions) {
    this.#options = options;
    this.#addresses = new Map(options.addresses);
  }

  /** What cannot be watched now is not watched later either: the client knows that it is not. */
  async open(): Promise<readonly string[]> {
    let { watched } = await this.#connect();
    while (this.#isStale) {
      this.#state = 'opening';
      ({ watched } = await this.#connect());
    }
    if (!this.#isClosed) this.#state = 'open';
    for (const uri of this.#addresses.keys()) {
      if (!watched.includes(uri)) this.#addresses.delete(uri);
    }
    return watched;
  }

  examine(database?: bigint): void {
    if (this.#state !== 'open') {
      if (this.#state === 'opening') this.#state = 'stale';
      return;
    }
    const { session, target } = this.#options;
    const found = findDatabase(target, session);
    const isSame =
      found?.handle === this.#found?.handle &&
      found?.caller.rights.key === this.#found?.caller.rights.key;
    if (!isSame || (found !== undefined && found.database.identity === database)) this.#reopen();
  }

  close(): void {
    this.#state = 'closed';
    clearTimeout(this.#retry);
    this.#connection?.close();
  }

  #reopen(): void {
    const { changed, failed } = this.#options;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#connect().then(({ queries, watched, connection }) => {
      if (this.#isClosed || connection !== this.#connection) return;
      if (watched.length < queries) this.#retryLater();
      else this.#retryMillis = limits.watchRetryMillisMin;
      for (const uri of this.#addresses.keys()) changed(uri);
    }, failed);
  }

  get #isStale(): boolean {
    return this.#state === 'stale';
  }

  get #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #retryLater(): void {
    if (this.#isClosed || this.#retry !== undefined) return;
    this.#retry = setTimeout(() => this.#reopen(), this.#retryMillis).unref();
    this.#retryMillis = Math.min(2 * this.#retryMillis, limits.watchRetryMillisMax);
  }

  /** `queries`: how many there are to watch; as many are `watched`, unless some are refused. */
  async #connect() {
    const { session, target, changed } = this.#options;
    const found = findDatabase(target, session);
    this.#found = found;
    this.#connection?.close();
    this.#connection = undefined;
    if (found === undefined) return nothing;
    try {
      const queries = await this.#queriesIn(found);
      if (queries.size === 0 || this.#isClosed || this.#found !== found) return nothing;
      const lost = () => {
        if (this.#connection === connection) this.#retryLater();
      };
      const connection = new TablesConnection(found, { queries, changed, lost });
      this.#connection = connection;
      return { queries: queries.size, watched: await connection.opened, connection };
    } catch (error) {
      // It does not serve; when it does again, that is a change of the database.
      if (error instanceof Refusal) return nothing;
      throw error;
    }
  }

  async #queriesIn({ handle, caller: { rights } }: OpenDatabase) {
    const tables = readableTables((await handle.describe()).definition, rights);
    const queries = new Map<string, string>();
    for (const [uri, address] of this.#addresses) {
      const query = rowsQuery(tables, address, rights);
      if (query !== undefined) queries.set(uri, query);
    }
    return queries;
  }
}

const noUris: readonly string[] = [];
const nothing = { queries: 0, watched: noUris, connection: undefined };
