import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import type { TableSpec } from '../schema/catalog.ts';
import { invalid, overBudget, SqlFailure } from '../sql/failure.ts';
import type { Rights, StatementCaller } from '../sql/rights.ts';
import type { SqlSchema, SqlTables } from '../sql/schema.ts';
import { StatementCache } from '../sql/statement-cache.ts';
import type { RowList, TableChange } from '../store/change-set.ts';
import { frameOf, type LiveFragment } from './fragment.ts';
import type { Keep, Reread, WholeRead } from './kept-stages.ts';
import type { Scan } from './live-operator.ts';
import type { LiveQuery } from './live-query.ts';
import { LiveSchema } from './live-schema.ts';
import type { LiveFailure, LiveUpdate, RowChanges } from './live-update.ts';
import {
  type AskedQuery,
  type PreparedQuery,
  prepareFull,
  prepareSubscription,
} from './prepared-query.ts';
import type { QueryDialect } from './query-dialect.ts';
import { type MemoryBounds, QueryMemory } from './query-memory.ts';
import { RereadTime } from './reread-time.ts';
import { type ComputedChanges, Reruns } from './reruns.ts';
import { rowDifference } from './row-bag.ts';
import type { RowSet } from './row-set.ts';
import { type SourceKey, sourceChangesOf, sourceOfView } from './source-changes.ts';
import { type FragmentHits, WatchIndex } from './watch-index.ts';

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
  readonly tablesFor: (caller: StatementCaller) => SqlTables;
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
  /** Of those: read again as a whole, for want of an incremental form or of what was kept. */
  reruns: number;
}

/** The bounds are instead of those of `limits.ts`, for tests. */
export interface LiveOptions extends Partial<MemoryBounds> {
  readonly schema: SqlSchema;
  /** Milliseconds that never go back. */
  readonly now: () => number;
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
  readonly #memory: QueryMemory;
  readonly #rereadTime: RereadTime;
  readonly #frame = frameOf([]);
  #prepared = new StatementCache<PreparedQuery>();
  #schema: LiveSchema;
  #lastNumber = 0;
  /** When the present commit's evaluation began. */
  #startedAt = 0;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#schema = new LiveSchema(options.schema);
    this.#memory = new QueryMemory(options);
    this.#rereadTime = new RereadTime(options.now);
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

  /**
   * Checks a query that is to be watched; `sql` is trimmed. What the narrow dialect takes is the
   * same query in the full one. Throws `SqlFailure`.
   */
  prepare(sql: string, rights: Rights, dialect: QueryDialect = 'subscription'): PreparedQuery {
    const key = `${dialect} ${keyOf(sql, rights, undefined)}`;
    const known = this.#prepared.get(key);
    if (known !== undefined) return known;
    const made = prepareIn(dialect, { sql, rights, schema: this.#schema }, true);
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
    return this.#memory.bytes;
  }

  /**
   * Watches a query once more. Its views are evaluated and held by the caller of this; `whole` is
   * for reading what is kept of it. Throws `SqlFailure`, also when queries take all memory that
   * they may.
   */
  add(query: PreparedQuery, identity: bigint, whole: WholeRead): LiveQuery {
    const key = keyOfQuery(query, identity);
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      known.useCount += 1;
      return known;
    }
    this.#lastNumber += 1;
    const { sql, rights, views, schema, dialect, table } = query;
    const operator = query.operatorFor(identity);
    const made: LiveQuery = {
      number: this.#lastNumber,
      ...{ key, sql, rights, identity, dialect, table, operator, views, schema },
      useCount: 1,
      bytes: 0,
    };
    operator.open(whole, (bytes) => this.#memory.requireRoom(made, bytes));
    this.#charge(made);
    this.#byKey.set(key, made);
    this.#watch(made);
    return made;
  }

  /** Watches a query once less. */
  release(query: LiveQuery): void {
    query.useCount -= 1;
    if (query.useCount > 0) return;
    this.#byKey.delete(query.key);
    this.#unwatch(query);
    this.#memory.giveBack(query);
  }

  /** The query as it is to be read now. Throws `SqlFailure` when it cannot be, see above. */
  preparedAgain({ sql, rights, dialect }: LiveQuery): PreparedQuery {
    return this.prepare(sql, rights, dialect);
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
    const queries = new Set<LiveQuery>();
    if (!this.#reruns.isEmpty) this.#reruns.collect(sourcesOf(changes), changes, queries);
    for (const fragment of hits.keys()) queries.add(this.#ownerOf(fragment));
    if (queries.size === 0) return nothing;
    this.#startedAt = this.#options.now();
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
    const { number } = query;
    try {
      const found = this.#changesOf(query, hits, changes);
      this.counters.evaluations += 1;
      this.#charge(query);
      if (found.length === 0) return undefined;
      const { name: table, id: tableId } = query.table;
      return { query: number, table, tableId, changes: found };
    } catch (error) {
      if (!(error instanceof SqlFailure)) throw error;
      return { query: number, error: executingText(error.message, query.sql) };
    }
  }

  #changesOf(
    query: LiveQuery,
    hits: ReadonlyMap<LiveFragment, FragmentHits>,
    changes: CommittedChanges,
  ): readonly RowChanges[] {
    const tables = () => changes.tablesFor(query);
    const reread: Reread = (read) => {
      this.#requireTime(rereadsText);
      this.counters.reruns += 1;
      return this.#rereadTime.run({ identity: query.identity, tables }, read);
    };
    const scan: Scan = (table, read) => {
      this.#noteScan(table);
      if (query.dialect === 'subscription') read();
      else this.#rereadTime.run({ identity: query.identity, tables }, read);
    };
    const around = { frame: this.#frame, tables, scan, reread };
    if (query.schema === this.#schema) return query.operator.changes(hits, around);
    const before = query.operator.rows();
    this.#renew(query, before);
    const { operator } = query;
    if (before === undefined) return operator.changes(this.#collect(changes), around);
    const keep: Keep = (bytes) => this.#memory.requireRoom(query, bytes);
    reread((whole) => operator.open(whole, keep));
    const after = present(operator.rows(), 'the rows of a query that keeps them');
    const change = rowDifference(before, after);
    return change === undefined ? [] : [change];
  }

  /** The first queries of a commit may be slow; what would make it slower and slower fails. */
  #noteScan({ name }: TableSpec): void {
    this.counters.scans += 1;
    this.#requireTime(
      `Keeping the query up to date takes too long: no index finds the rows of \`${name}\` that ` +
        'are joined; add an index on its column',
    );
  }

  #requireTime(refusal: string): void {
    if (this.#options.now() - this.#startedAt <= limits.liveScanMillisMax) return;
    throw overBudget(refusal);
  }

  /**
   * Compiles a query for the present schema. Throws `SqlFailure` when that cannot be. What is kept
   * of it is to be read anew.
   */
  #renew(query: LiveQuery, kept: RowSet | undefined): void {
    const prepared = this.preparedAgain(query);
    const operator = prepared.operatorFor(query.identity);
    if (prepared.isKept !== (kept !== undefined) || prepared.table.name !== query.table.name) {
      throw invalid('The program was updated, and the query means something else; subscribe again');
    }
    this.#unwatch(query);
    query.operator = operator;
    query.schema = this.#schema;
    this.#watch(query);
    this.#charge(query);
  }

  #charge(query: LiveQuery): void {
    this.#memory.charge(query, textBytes(query) + query.operator.bytes);
  }

  #watch(query: LiveQuery): void {
    for (const fragment of query.operator.fragments) {
      this.#watched.add(fragment);
      this.#owners.set(fragment, query);
    }
    this.#reruns.add(query);
  }

  #unwatch(query: LiveQuery): void {
    for (const fragment of query.operator.fragments) {
      this.#watched.remove(fragment);
      this.#owners.delete(fragment);
    }
    this.#reruns.delete(query);
  }

  #ownerOf(fragment: LiveFragment): LiveQuery {
    return present(this.#owners.get(fragment), 'the query of a fragment that is watched');
  }
}

/** The same for an answer that is given once (`isWatched`: false). Throws `SqlFailure`. */
export function prepareIn(
  dialect: QueryDialect,
  asked: AskedQuery,
  isWatched: boolean,
): PreparedQuery {
  if (dialect === 'subscription') return prepareSubscription(asked, isWatched);
  try {
    return prepareSubscription(asked, isWatched);
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    return prepareFull(asked, isWatched);
  }
}

function sourcesOf({ tables, views }: CommittedChanges): SourceKey[] {
  return [
    ...tables.map(({ tableId }) => tableId),
    ...views.map(({ viewId, sender }) => sourceOfView(viewId, sender)),
  ];
}

const rereadsText =
  'Keeping the query up to date takes too long: the queries of this commit that read whole ' +
  'tables again have used up their time';

/** Memory of a query beside its operator: its texts, and its places in maps. */
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
