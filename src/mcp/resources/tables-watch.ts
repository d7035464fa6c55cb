import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { findDatabase, type OpenDatabase } from '../open-database.ts';
import type { McpSession } from '../session.ts';
import type { TableAddress } from './address.ts';
import { readableTables, rowsQuery } from './table-rows.ts';
import { TablesConnection } from './tables-connection.ts';
import type { WatchedPart } from './watched-part.ts';

export interface TablesWatchOptions {
  readonly session: McpSession;
  /** The database, as named in the URIs. */
  readonly target: string;
  /** The watched tables, by resource URI. */
  readonly addresses: ReadonlyMap<string, TableAddress>;
  readonly changed: (uri: string) => void;
  /** Called when the tables cannot be looked up again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Watches tables of one database: one live query per resource, which returns exactly what the
 * resource shows, over one connection with the caller's rights.
 *
 * When the connection ends, or rights or tables change, it is opened again, and all tables count as
 * changed, because updates may have been missed. Tables that cannot be watched for now are retried
 * with increasing delay.
 */
export class TablesWatch implements WatchedPart {
  readonly #options: TablesWatchOptions;
  readonly #addresses: Map<string, TableAddress>;
  #connection: TablesConnection | undefined;
  /** The database it was opened with; `undefined`: the caller could not find it. */
  #found: OpenDatabase | undefined;
  #retryMillis: number = limits.watchRetryMillisMin;
  #retry: NodeJS.Timeout | undefined;
  /** `stale`: something changed during opening. */
  #state: 'opening' | 'stale' | 'open' | 'closed' = 'opening';

  constructor(options: TablesWatchOptions) {
    this.#options = options;
    this.#addresses = new Map(options.addresses);
  }

  /** Opens the watch. Tables that cannot be watched now never are: the client knows the others. */
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

  examine(database?: DatabaseIdentity): void {
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

  /** Connects. `queries` is the number of queries; fewer are `watched` if some are rejected. */
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
      // When the database serves again, that counts as a change of it.
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
