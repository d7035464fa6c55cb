import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import type { TableSpec } from '../schema/catalog.ts';
import { overBudget, SqlFailure } from '../sql/failure.ts';
import type { Rights } from '../sql/rights.ts';
import type { SqlSchema, SqlTables } from '../sql/schema.ts';
import { StatementCache } from '../sql/statement-cache.ts';
import type { RowList, TableChange } from '../store/change-set.ts';
import { filterChanges } from './evaluate-filter.ts';
import { joinChanges } from './evaluate-join.ts';
import { frameOf, type LiveFragment } from './fragment.ts';
import { LiveSchema } from './live-schema.ts';
import type { LiveFailure, LiveUpdate, RowChanges } from './live-update.ts';
import { PreparedQuery } from './prepared-query.ts';
import { type ComputedChanges, Reruns } from './reruns.ts';
import type { RowSet } from './row-set.ts';
import { type SourceKey, sourceChangesOf, sourceOfView } from './source-changes.ts';
import { type FragmentHits, WatchIndex } from './watch-index.ts';

/** A query that somebody watches, shared by all for whom it has the same rows. */
export interface LiveQuery {
  readonly number: number;
  readonly key: string;
  readonly sql: string;
  readonly rights: Rights;
  /** For whom it was compiled first; who else shares it does not matter to its rows. */
  readonly identity: bigint;
  fragments: readonly LiveFragment[];
  /** Views that it reads; they are held as long as it is watched. */
  views: readonly number[];
  schema: LiveSchema;
  useCount: number;
}

/** What one commit did to the rows of a view. */
export interface LiveViewChange {
  readonly viewId: number;
  readonly sender: bigint | undefined;
  readonly inserts: RowList;
  readonly deletes: RowList;
}

export interface CommittedChanges extends ComputedChanges {
  readonly tables: readonly TableChange[];
  readonly views: readonly LiveViewChange[];
  /** The rows of tables and views as a caller sees them after the commit. */
  readonly tablesFor: (identity: bigint) => SqlTables;
}

export interface Evaluated {
  /** By ascending number of the query. */
  readonly updates: readonly LiveUpdate[];
  /** These queries are to be removed. */
  readonly failures: readonly LiveFailure[];
}

/** Plain counters, for metrics. */
export interface LiveCounters {
  /** Commits that some query was evaluated for. */
  commits: number;
  /** Queries evaluated, each time. */
  evaluations: number;
  /** Of those: relations read as a whole, because no index finds their rows. */
  scans: number;
  /** Of those: queries asked afresh, because they have no incremental form. */
  reruns: number;
}

export interface LiveOptions {
  readonly schema: SqlSchema;
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** Instead of that of `limits.ts`, for tests. */
  readonly bytesMax?: number;
}

/**
 * The queries of one database that are watched. Each is there once, however many watch it, and is
 * evaluated right after each commit that may concern it, before anything else is written: what it
 * gives is the difference between its rows before and after, as bags.
 *
 * Plans outlive a change of the schema; they are made anew when they are needed next. What cannot
 * be made anew, such as a join whose index is gone, fails then.
 */
export class LiveQueries {
  readonly counters: LiveCounters = { commits: 0, evaluations: 0, scans: 0, reruns: 0 };
  readonly #options: LiveOptions;
  readonly #byKey = new Map<string, LiveQuery>();
  readonly #watched = new WatchIndex();
  readonly #owners = new Map<LiveFragment, LiveQuery>();
  readonly #reruns = new Reruns();
  readonly #frame = frameOf([]);
  #prepared = new StatementCache<PreparedQuery>();
  #schema: LiveSchema;
  #lastNumber = 0;
  /** When the present commit's evaluation began. */
  #startedAt = 0;
  #bytes = 0;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#schema = new LiveSchema(options.schema);
  }

  /** Distinct queries. */
  get count(): number {
    return this.#byKey.size;
  }

  get schema(): LiveSchema {
    return this.#schema;
  }

  /** Goes over to another version of the schema. */
  replaceSchema(schema: SqlSchema): void {
    this.#schema = new LiveSchema(schema);
    this.#prepared = new StatementCache();
  }

  /** Checks a query that is to be watched; `sql` is trimmed. Throws `SqlFailure`. */
  prepare(sql: string, rights: Rights): PreparedQuery {
    const key = keyOf(sql, rights, undefined);
    const known = this.#prepared.get(key);
    if (known !== undefined) return known;
    const made = new PreparedQuery(sql, rights, this.#schema, true);
    this.#prepared.put(key, made);
    return made;
  }

  /** What tells the query apart from all others, as the caller sees it. */
  keyOf(query: PreparedQuery, identity: bigint): string {
    return keyOfQuery(query, identity);
  }

  /** The query if somebody watches it already, as the caller sees it. */
  find(query: PreparedQuery, identity: bigint): LiveQuery | undefined {
    return this.#byKey.get(keyOfQuery(query, identity));
  }

  /** Memory of all queries, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Watches a query once more; `rows` are its rows now. Its views are evaluated and held by the
   * caller of this. Throws `SqlFailure` when queries take all memory that they may.
   */
  add(query: PreparedQuery, identity: bigint, rows: readonly RowSet[]): LiveQuery {
    const key = keyOfQuery(query, identity);
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      known.useCount += 1;
      return known;
    }
    this.#lastNumber += 1;
    const { sql, rights, views, schema } = query;
    const fragments = query.fragmentsFor(identity);
    const made: LiveQuery = {
      number: this.#lastNumber,
      ...{ key, sql, rights, identity, fragments, views, schema },
      useCount: 1,
    };
    this.#requireRoom(fragments.reduce((sum, { bytes }) => sum + bytes, textBytes(made)));
    this.#byKey.set(key, made);
    this.#watch(made);
    this.#reruns.add(made, rows);
    return made;
  }

  /** Watches a query once less. */
  release(query: LiveQuery): void {
    query.useCount -= 1;
    if (query.useCount > 0) return;
    this.#byKey.delete(query.key);
    this.#unwatch(query);
    this.#reruns.delete(query);
  }

  /** The query as it is to be read now. Throws `SqlFailure` when it cannot be, see above. */
  preparedAgain({ sql, rights }: LiveQuery): PreparedQuery {
    return this.prepare(sql, rights);
  }

  /** The queries that read the rows of a view for a caller, `undefined`: for all. */
  readersOf(viewId: number, sender: bigint | undefined): readonly LiveQuery[] {
    return [...this.#byKey.values()].filter(
      ({ views, identity }) =>
        views.includes(viewId) && (sender === undefined || identity === sender),
    );
  }

  /**
   * What a commit changed, which is in the tables and in the instances of views already. Nothing
   * may have been written since.
   */
  evaluate(changes: CommittedChanges): Evaluated {
    if (this.#byKey.size === 0) return nothing;
    const hits = this.#collect(changes);
    const reruns = this.#reruns.affectedBy(changes);
    if (hits.size === 0 && reruns.length === 0) return nothing;
    this.#startedAt = this.#options.now();
    const queries = new Set(reruns);
    for (const fragment of hits.keys()) queries.add(this.#ownerOf(fragment));
    this.counters.commits += 1;
    const updates: LiveUpdate[] = [];
    const failures: LiveFailure[] = [];
    for (const query of [...queries].sort((a, b) => a.number - b.number)) {
      const update = this.#evaluateQuery(query, hits, changes);
      if (update === undefined) continue;
      if ('error' in update) failures.push(update);
      else updates.push(update);
    }
    return { updates, failures };
  }

  #requireRoom(bytes: number): void {
    const { bytesMax = limits.liveQueryBytesMax } = this.#options;
    if (this.#bytes + bytes <= bytesMax) return;
    throw overBudget(
      `The database watches ${this.#byKey.size} different queries and has no memory for more; ` +
        'unsubscribe from some, or let one query cover several of them',
    );
  }

  #collect({ tables, views }: CommittedChanges): Map<LiveFragment, FragmentHits> {
    const hits = new Map<LiveFragment, FragmentHits>();
    for (const change of tables) this.#collectSource(change.tableId, change.tableId, change, hits);
    for (const change of views) {
      const source = sourceOfView(change.viewId, change.sender);
      this.#collectSource(source, change.viewId, change, hits);
    }
    return hits;
  }

  #collectSource(
    source: SourceKey,
    tableId: number,
    change: { readonly inserts: RowList; readonly deletes: RowList },
    hits: Map<LiveFragment, FragmentHits>,
  ): void {
    if (!this.#watched.has(source)) return;
    const table = this.#schema.table(tableId);
    if (table === undefined) return;
    const { shape } = this.#schema.layoutOf(table);
    this.#watched.collect(source, sourceChangesOf(change, shape), shape, hits);
  }

  #evaluateQuery(
    query: LiveQuery,
    hits: ReadonlyMap<LiveFragment, FragmentHits>,
    changes: CommittedChanges,
  ): LiveUpdate | LiveFailure | undefined {
    try {
      let found = hits;
      if (query.schema !== this.#schema) {
        this.#renew(query);
        found = this.#collect(changes);
      }
      if (this.#reruns.has(query)) return this.#rerun(query, changes);
      return this.#updateOf(query, this.#differences(query, found, changes));
    } catch (error) {
      if (!(error instanceof SqlFailure)) throw error;
      return { query: query.number, error: executingText(error.message, query.sql) };
    }
  }

  #updateOf(query: LiveQuery, changes: readonly RowChanges[]): LiveUpdate | undefined {
    this.counters.evaluations += 1;
    const [fragment] = query.fragments;
    if (changes.length === 0 || fragment === undefined) return undefined;
    const { name: table, id: tableId } = fragment.table;
    return { query: query.number, table, tableId, changes };
  }

  #rerun(query: LiveQuery, { tablesFor }: CommittedChanges): LiveUpdate | undefined {
    this.counters.reruns += 1;
    const tables = tablesFor(query.identity);
    const change = this.#reruns.run(query, this.preparedAgain(query), tables);
    return this.#updateOf(query, change === undefined ? [] : [change]);
  }

  #differences(
    query: LiveQuery,
    hits: ReadonlyMap<LiveFragment, FragmentHits>,
    { tablesFor }: CommittedChanges,
  ): RowChanges[] {
    const changes: RowChanges[] = [];
    for (const fragment of query.fragments) {
      const hit = hits.get(fragment);
      if (hit === undefined) continue;
      const change = this.#changesOf(fragment, hit, () => tablesFor(query.identity));
      if (change !== undefined) changes.push(change);
    }
    return changes;
  }

  #changesOf(
    fragment: LiveFragment,
    hit: FragmentHits,
    tablesOf: () => SqlTables,
  ): RowChanges | undefined {
    const frame = this.#frame;
    if (fragment.join === undefined) return filterChanges(fragment, hit, frame);
    const tables = tablesOf();
    const onScan = (table: TableSpec): void => this.#noteScan(table);
    return joinChanges(fragment, hit, { frame, tables, onScan });
  }

  /** The first queries of a commit may be slow; what would make it slower and slower fails. */
  #noteScan({ name }: TableSpec): void {
    this.counters.scans += 1;
    if (this.#options.now() - this.#startedAt <= limits.liveScanMillisMax) return;
    throw overBudget(
      `Keeping the query up to date takes too long: no index finds the rows of \`${name}\` that ` +
        'are joined; add an index on its column',
    );
  }

  /** Compiles a query for the present schema. Throws `SqlFailure` when that cannot be. */
  #renew(query: LiveQuery): void {
    const prepared = this.preparedAgain(query);
    this.#unwatch(query);
    query.fragments = prepared.fragmentsFor(query.identity);
    query.schema = this.#schema;
    this.#watch(query);
  }

  #watch(query: LiveQuery): void {
    for (const fragment of query.fragments) {
      this.#watched.add(fragment);
      this.#owners.set(fragment, query);
      this.#bytes += fragment.bytes;
    }
    this.#bytes += textBytes(query);
  }

  #unwatch(query: LiveQuery): void {
    for (const fragment of query.fragments) {
      this.#watched.remove(fragment);
      this.#owners.delete(fragment);
      this.#bytes -= fragment.bytes;
    }
    this.#bytes -= textBytes(query);
  }

  #ownerOf(fragment: LiveFragment): LiveQuery {
    return present(this.#owners.get(fragment), 'the query of a fragment that is watched');
  }
}

/** Memory of a query beside its fragments: its texts, and its places in maps. */
function textBytes({ sql }: LiveQuery): number {
  return 200 + 3 * sql.length;
}

const nothing: Evaluated = { updates: [], failures: [] };

/** What clients read of a query that failed. */
export function executingText(message: string, sql: string): string {
  return `${message}, executing: \`${sql}\``;
}

function keyOfQuery(query: PreparedQuery, identity: bigint): string {
  return keyOf(query.sql, query.rights, query.isOfCaller ? identity : undefined);
}

function keyOf(sql: string, rights: Rights, identity: bigint | undefined): string {
  return `${rights.key} ${identity === undefined ? '' : identity.toString(16)} ${sql}`;
}
