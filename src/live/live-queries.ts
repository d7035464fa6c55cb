import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import type { TableSpec } from '../schema/catalog.ts';
import type { TableId, ViewId } from '../schema/ids.ts';
import { invalid, overBudget, SqlFailure } from '../sql/failure.ts';
import type { Rights, StatementCaller } from '../sql/rights.ts';
import type { SqlSchema, SqlTables } from '../sql/schema.ts';
import { StatementCache } from '../sql/statement-cache.ts';
import type { RowList, TableChange } from '../store/change-set.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import { frameOf, type LiveFragment } from './fragment.ts';
import type { Keep, Reread, WholeRead } from './kept-stages.ts';
import type { Scan } from './live-operator.ts';
import type { LiveQuery } from './live-query.ts';
import { LiveSchema } from './live-schema.ts';
import type { LiveFailure, LiveUpdate, RowChanges } from './live-update.ts';
import {
  type PreparedQuery,
  prepareFull,
  prepareSubscription,
  type UncheckedQuery,
} from './prepared-query.ts';
import type { QueryDialect } from './query-dialect.ts';
import { type MemoryBounds, QueryMemory } from './query-memory.ts';
import { RereadTime } from './reread-time.ts';
import { type ComputedChanges, Reruns } from './reruns.ts';
import { rowDifference } from './row-bag.ts';
import type { RowSet } from './row-set.ts';
import {
  type FragmentHits,
  type SourceChanges,
  type SourceKey,
  sourceChangesOf,
  viewChangesOf,
} from './source-changes.ts';
import { WatchIndex } from './watch-index.ts';

/** The change of a view's rows by one commit. */
export interface LiveViewChange {
  readonly viewId: ViewId;
  /** Of the rows of that caller, or of all. */
  readonly source: SourceKey;
  readonly inserts: RowList;
  readonly deletes: RowList;
}

type ChangedRows = Pick<TableChange, 'inserts' | 'deletes'>;

export interface CommittedChanges extends ComputedChanges {
  readonly tables: readonly TableChange[];
  readonly views: readonly LiveViewChange[];
  /** The rows of tables and views after the commit, as a caller sees them. */
  readonly tablesFor: (caller: StatementCaller) => SqlTables;
}

export interface Evaluated {
  /** In ascending order of query number. */
  readonly updates: readonly LiveUpdate[];
  /** Queries to be removed. */
  readonly failures: readonly LiveFailure[];
}

/** Plain counters, for metrics. */
export interface LiveCounters {
  /** Commits for which some query was evaluated. */
  commits: number;
  /** Evaluations of queries. */
  evaluations: number;
  /** Relations that evaluations read as a whole, because no index finds their rows. */
  scans: number;
  /** Whole rereads by evaluations, for lack of an incremental form or of kept rows. */
  reruns: number;
}

/** Replaces the bounds of `limits.ts`, for tests. */
export interface LiveQueriesOptions extends Partial<MemoryBounds> {
  readonly schema: SqlSchema;
  /** Milliseconds that never go backwards. */
  readonly now: () => number;
}

/**
 * The watched queries of one database. Each exists once, however many clients watch it, and is
 * evaluated right after each commit that may concern it, before anything else is written: the
 * result is the difference between its rows before and after, as bags.
 *
 * Plans outlive a change of the schema; they are compiled again when they are needed next. A query
 * that no longer compiles, such as a join whose index is gone, fails then.
 */
export class LiveQueries {
  readonly counters: LiveCounters = { commits: 0, evaluations: 0, scans: 0, reruns: 0 };
  readonly #options: LiveQueriesOptions;
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
  /** When the evaluation of the current commit began. */
  #startedAt = 0;

  constructor(options: LiveQueriesOptions) {
    this.#options = options;
    this.#schema = new LiveSchema(options.schema);
    this.#memory = new QueryMemory(options);
    this.#rereadTime = new RereadTime(options.now);
  }

  /** All of them. */
  get watched(): Iterable<LiveQuery> {
    return this.#byKey.values();
  }

  /** Number of distinct queries. */
  get count(): number {
    return this.#byKey.size;
  }

  get schema(): LiveSchema {
    return this.#schema;
  }

  /** Switches to another version of the schema. */
  replaceSchema(schema: SqlSchema): void {
    this.#schema = new LiveSchema(schema);
    this.#prepared = new StatementCache();
  }

  /**
   * Checks a query to be watched; `sql` is trimmed. A text that the narrow dialect accepts is the
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

  /** The key that identifies the query, as the caller sees it, among all others. */
  keyOf(query: PreparedQuery, identity: CallerIdentity): string {
    return keyOfQuery(query, identity);
  }

  /** The query as the caller sees it, if it is already watched. */
  find(query: PreparedQuery, identity: CallerIdentity): LiveQuery | undefined {
    return this.#byKey.get(keyOfQuery(query, identity));
  }

  /** Approximate memory of all queries. */
  get bytes(): number {
    return this.#memory.bytes;
  }

  /**
   * Adds a subscriber to a query. The caller evaluates and holds its views; `whole` serves to read
   * the rows that are kept of it. Throws `SqlFailure`, also when queries would exceed their memory.
   */
  add(query: PreparedQuery, identity: CallerIdentity, whole: WholeRead): LiveQuery {
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
      tables: query.tableIds,
      rerunReason: query.rerunReason,
      useCount: 1,
      bytes: 0,
      evaluations: 0,
      timed: 0,
      millis: 0,
    };
    operator.open(whole, (bytes) => this.#memory.requireRoom(made, bytes));
    this.#charge(made);
    this.#byKey.set(key, made);
    this.#watch(made);
    return made;
  }

  /** Removes a subscriber from a query. */
  release(query: LiveQuery): void {
    query.useCount -= 1;
    if (query.useCount > 0) return;
    this.#byKey.delete(query.key);
    this.#unwatch(query);
    this.#memory.giveBack(query);
  }

  /** Prepares the query for the current schema. Throws `SqlFailure` if that fails, see above. */
  preparedAgain({ sql, rights, dialect }: LiveQuery): PreparedQuery {
    return this.prepare(sql, rights, dialect);
  }

  /** The queries that read a view's rows for one caller, or for all if `sender` is `undefined`. */
  readersOf(viewId: ViewId, sender: CallerIdentity | undefined): readonly LiveQuery[] {
    return [...this.#byKey.values()].filter(
      ({ views, identity }) =>
        views.includes(viewId) && (sender === undefined || identity === sender),
    );
  }

  /**
   * Evaluates the queries that a commit concerns. Its changes are already in the tables and in the
   * instances of views; the caller must not have written anything since.
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
      const update = this.#timed(query, hits, changes);
      if (update === undefined) continue;
      if ('error' in update) failures.push(update);
      else updates.push(update);
    }
    return { updates, failures };
  }

  #collect(commit: CommittedChanges): Map<LiveFragment, FragmentHits> {
    const { tables, views, tablesFor } = commit;
    const hits = new Map<LiveFragment, FragmentHits>();
    const changed = new Map<SourceKey, SourceChanges>();
    // Views of callers that changed alike have the same lists, one after another.
    let last: { readonly change: ChangedRows; readonly changes: SourceChanges } | undefined;
    const collect = (source: SourceKey, id: TableId, change: ChangedRows, isView = false): void => {
      const table = this.#watched.has(source) ? this.#schema.table(id) : undefined;
      if (table === undefined) return;
      const { shape } = this.#schema.layoutOf(table);
      const isLast =
        last?.change.inserts === change.inserts && last?.change.deletes === change.deletes;
      const inTurn = () => (isView ? viewChangesOf(change, shape) : sourceChangesOf(change, shape));
      const changes = (isLast ? last?.changes : undefined) ?? inTurn();
      last = { change, changes };
      changed.set(source, changes);
      this.#watched.collect(source, changes, shape, hits);
    };
    for (const change of tables) collect(change.tableId, change.tableId, change);
    for (const change of views) collect(change.source, change.viewId, change, true);
    const tablesOf = (fragment: LiveFragment) => tablesFor(this.#ownerOf(fragment));
    this.#watched.collectForCallers(changed, hits, tablesOf);
    return hits;
  }

  /** The first evaluations are timed, and then one of eight: a reading costs a tenth of many. */
  #timed(
    query: LiveQuery,
    hits: ReadonlyMap<LiveFragment, FragmentHits>,
    changes: CommittedChanges,
  ): LiveUpdate | LiveFailure | undefined {
    const { evaluations } = query;
    query.evaluations += 1;
    if (evaluations >= 8 && evaluations % 8 !== 0) return this.#evaluateQuery(query, hits, changes);
    const at = this.#options.now();
    const update = this.#evaluateQuery(query, hits, changes);
    query.millis += this.#options.now() - at;
    query.timed += 1;
    return update;
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

  /** The first queries of a commit may be slow; once its time is used up, further scans fail. */
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
   * Compiles a query for the current schema. Throws `SqlFailure` if that fails. The rows kept of it
   * must be read again.
   */
  #renew(query: LiveQuery, kept: RowSet | undefined): void {
    const prepared = this.preparedAgain(query);
    const operator = prepared.operatorFor(query.identity);
    if (prepared.isKept !== (kept !== undefined) || prepared.table.name !== query.table.name) {
      throw invalid('The program was updated, and the query has a new meaning; subscribe again');
    }
    this.#unwatch(query);
    query.operator = operator;
    query.rerunReason = prepared.rerunReason;
    query.tables = prepared.tableIds;
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

/** Prepares a query, to be watched or to be answered once (`isWatched`). Throws `SqlFailure`. */
export function prepareIn(
  dialect: QueryDialect,
  asked: UncheckedQuery,
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
  return [...tables.map(({ tableId }) => tableId), ...views.map(({ source }) => source)];
}

const rereadsText =
  'Keeping the query up to date takes too long: the queries of this commit that read whole ' +
  'tables again have used up their time';

/** Memory of a query besides its operator: its texts and its map entries. */
function textBytes({ sql }: LiveQuery): number {
  return 200 + 3 * sql.length;
}

const nothing: Evaluated = { updates: [], failures: [] };

/** The error text that clients receive for a failed query. */
export function executingText(message: string, sql: string): string {
  return `${message}, executing: \`${sql}\``;
}

function keyOfQuery(query: PreparedQuery, identity: CallerIdentity): string {
  return keyOf(query.sql, query.rights, query.isOfCaller ? identity : undefined);
}

function keyOf(sql: string, rights: Rights, identity: CallerIdentity | undefined): string {
  return `${rights.key} ${identity === undefined ? '' : identity.toString(16)} ${sql}`;
}
