import { limits } from '../../limits.ts';
import { executingText, type LiveQuery, prepareIn } from '../../live/live-queries.ts';
import type { QueryRows } from '../../live/live-update.ts';
import type { PreparedQuery } from '../../live/prepared-query.ts';
import { RowsReader } from '../../live/read-rows.ts';
import { joinedRows, type RowSet, rowCountOf } from '../../live/row-set.ts';
import { invalid, overBudget, SqlFailure } from '../../sql/failure.ts';
import type { DatabaseCore } from '../core.ts';
import type {
  Caller,
  OneOffOutcome,
  OneOffRequest,
  SubscribeOutcome,
  SubscribeRequest,
  UnsubscribeOutcome,
  UnsubscribeRequest,
} from '../outcome.ts';
import { budgetOf } from '../read-execution.ts';
import { failureText } from '../views/view-failure.ts';
import { connectionIdText, identityText } from './client-text.ts';
import { tablesFor } from './live-feed.ts';
import { expandAll, isOfAll } from './whole-database.ts';

/**
 * Accepts a query set or refuses it as a whole: all queries are checked before anything else
 * happens, their views are evaluated and held, and their rows are those of one commit, from which
 * on changes come as updates.
 */
export function subscribe(
  core: DatabaseCore,
  request: SubscribeRequest,
  nowMicros: bigint,
): SubscribeOutcome {
  return timed(core, () => {
    const set = new NewSet(core, request, nowMicros);
    const queries = set.accept();
    return { kind: 'applied', offset: core.store.offset, queries } as const;
  });
}

/** Removes a query set; its rows, if they are asked for, are those of this moment. */
export function unsubscribe(
  core: DatabaseCore,
  { connectionId, setId, withRows }: UnsubscribeRequest,
  nowMicros: bigint,
): UnsubscribeOutcome {
  const { live } = core;
  return timed(core, () => {
    const set = live.sets.get(connectionId, setId);
    if (set === undefined) throw notFound(core, connectionId, setId);
    live.sets.remove(connectionId, setId);
    try {
      const { identity } = set;
      const queries = withRows ? rowsAgain(core, set.queries, identity, nowMicros) : undefined;
      return { kind: 'removed', offset: core.store.offset, queries } as const;
    } finally {
      live.drop(core, set, nowMicros);
    }
  });
}

/** Answers a query once; joins need no index. */
export function answerOnce(
  core: DatabaseCore,
  { caller, connectionId, sql, dialect = 'subscription' }: OneOffRequest,
  nowMicros: bigint,
): OneOffOutcome {
  const outcome = timed(core, () => {
    requireOpen(core, connectionId);
    const { schema } = core.live.queries;
    const query = prepareIn(dialect, { sql: sql.trim(), rights: caller.rights, schema }, false);
    prepareViews(core, query.views, caller.identity, nowMicros);
    const reader = readerFor(core, caller.identity, nowMicros);
    reader.requireWithinLimit([query]);
    const rows = joinedRows(reader.rowsOf(query), query.shape);
    requireWithin(caller, [rows]);
    const { name: table, id: tableId } = query.table;
    return { kind: 'rows', offset: core.store.offset, table, tableId, rows } as const;
  });
  return outcome.kind === 'refused' ? { ...outcome, kind: 'failed' } : outcome;
}

class NewSet {
  readonly #core: DatabaseCore;
  readonly #request: SubscribeRequest;
  readonly #nowMicros: bigint;
  readonly #identity: bigint;

  constructor(core: DatabaseCore, request: SubscribeRequest, nowMicros: bigint) {
    this.#core = core;
    this.#request = request;
    this.#nowMicros = nowMicros;
    this.#identity = request.caller.identity;
  }

  accept(): QueryRows[] {
    const { connectionId } = this.#request;
    requireOpen(this.#core, connectionId);
    this.#requireNewId();
    const prepared = this.#prepare();
    const held: PreparedQuery[] = [];
    try {
      for (const query of prepared) {
        this.#hold(query);
        held.push(query);
      }
      const reader = readerFor(this.#core, this.#identity, this.#nowMicros);
      return this.#register(prepared, this.#read(prepared, reader), reader);
    } catch (error) {
      const { views } = this.#core;
      for (const query of held) views.release(query.views, this.#identity, this.#nowMicros);
      throw error;
    }
  }

  #requireNewId(): void {
    const { connectionId, setId, caller } = this.#request;
    const { sets } = this.#core.live;
    if (sets.get(connectionId, setId) !== undefined) {
      const client = clientText(caller, connectionId);
      throw invalid(
        `Subscription with id QuerySetId { id: ${setId} } already exists for client: ${client}`,
      );
    }
    if (sets.countOf(connectionId) < limits.connectionSetsMax) return;
    throw invalid(`A connection has at most ${limits.connectionSetsMax} subscriptions`);
  }

  /** Each text once. Throws what is wrong with the first that cannot be watched. */
  #prepare(): PreparedQuery[] {
    const { queries, caller } = this.#request;
    const characters = queries.reduce((sum, text) => sum + text.length, 0);
    if (characters > limits.querySetCharactersMax) {
      throw invalid(
        `The queries of a subscription have at most ${limits.querySetCharactersMax} characters`,
      );
    }
    const texts = new Set<string>();
    for (const text of queries) {
      const sql = text.trim();
      if (!isOfAll(sql)) texts.add(sql);
      else for (const one of expandAll(this.#core.program.sql, caller.rights)) texts.add(one);
      if (texts.size > limits.querySetQueriesMax) {
        throw invalid(`A subscription has at most ${limits.querySetQueriesMax} queries`);
      }
    }
    return [...texts].map((sql) => this.#prepareOne(sql));
  }

  #prepareOne(sql: string): PreparedQuery {
    const { caller, knowsEvents, dialect } = this.#request;
    try {
      if (sql === '') throw invalid('SubscriptionError: Empty string');
      const query = this.#core.live.queries.prepare(sql, caller.rights, dialect);
      if (query.table.isEvent && !knowsEvents) throw invalid(eventsRefused);
      return query;
    } catch (error) {
      if (!(error instanceof SqlFailure)) throw error;
      throw invalid(executingText(error.message, sql));
    }
  }

  #hold({ views: ids }: PreparedQuery): void {
    if (ids.length === 0) return;
    prepareViews(this.#core, ids, this.#identity, this.#nowMicros);
    if (this.#core.views.hold(ids, this.#identity)) return;
    throw overBudget('The database keeps as many results of views for subscribers as it may');
  }

  /** Those of queries whose rows are kept are taken when they are watched. */
  #read(prepared: readonly PreparedQuery[], reader: RowsReader): QueryRows['fragments'][] {
    const { queries } = this.#core.live;
    const fresh = prepared.filter((query) => queries.find(query, this.#identity) === undefined);
    reader.requireWithinLimit(fresh);
    const { live, store } = this.#core;
    return prepared.map((query) => {
      if (query.isKept) return [];
      const key = queries.keyOf(query, this.#identity);
      return live.rowsOf(key, store.offset, () => reader.rowsOf(query));
    });
  }

  #register(
    prepared: readonly PreparedQuery[],
    rows: readonly QueryRows['fragments'][],
    reader: RowsReader,
  ): QueryRows[] {
    const { connectionId, setId } = this.#request;
    const { live } = this.#core;
    const queries: LiveQuery[] = [];
    try {
      for (const query of prepared) {
        queries.push(live.queries.add(query, this.#identity, reader.whole));
      }
      const fragments = queries.map((query, at) => reader.keptRows(query) ?? rows[at] ?? []);
      requireWithin(this.#request.caller, fragments.flat());
      live.sets.add(setId, { connectionId, identity: this.#identity, queries });
      return queries.map((query, at) => rowsOfQuery(query, fragments[at] ?? []));
    } catch (error) {
      for (const query of queries) live.queries.release(query);
      throw error;
    }
  }
}

const eventsRefused =
  'Subscribing to event tables requires WebSocket v2. ' +
  'Please upgrade your client SDK and regenerate your module bindings.';

/** A caller may be limited to so many rows of one answer. Throws `SqlFailure`. */
function requireWithin({ rights: { rowsMax } }: Caller, rows: readonly RowSet[]): void {
  if (rowsMax === undefined) return;
  if (rows.reduce((sum, set) => sum + rowCountOf(set), 0) <= rowsMax) return;
  throw overBudget(`The result has more than ${rowsMax} rows; narrow the WHERE clauses`);
}

function rowsOfQuery(
  { number, table: { id, name, isEvent } }: LiveQuery,
  fragments: QueryRows['fragments'],
): QueryRows {
  return { query: number, table: name, tableId: id, isEvent, fragments };
}

function rowsAgain(
  core: DatabaseCore,
  queries: readonly LiveQuery[],
  identity: bigint,
  nowMicros: bigint,
): QueryRows[] {
  const reader = readerFor(core, identity, nowMicros);
  return queries.map((query) => {
    try {
      const prepared = core.live.queries.preparedAgain(query);
      return rowsOfQuery(query, reader.keptRows(query) ?? reader.rowsOf(prepared));
    } catch (error) {
      if (!(error instanceof SqlFailure)) throw error;
      throw invalid(executingText(error.message, query.sql));
    }
  });
}

function readerFor(core: DatabaseCore, identity: bigint, nowMicros: bigint): RowsReader {
  const { clock, statementMillisMax: millisMax } = core;
  const budget = budgetOf({ now: () => clock.monotonicMillis(), millisMax });
  const tables = tablesFor(core, identity, nowMicros);
  return new RowsReader({ tables, identity, budget, nowMicros });
}

function prepareViews(
  { views }: DatabaseCore,
  ids: readonly number[],
  identity: bigint,
  nowMicros: bigint,
): void {
  if (ids.length === 0) return;
  const failure = views.prepare(ids, identity, nowMicros);
  if (failure !== undefined) throw invalid(failureText(failure));
}

function requireOpen({ connections }: DatabaseCore, connectionId: bigint): void {
  if (!connections.has(connectionId)) throw invalid('The connection is not open.');
}

function notFound(core: DatabaseCore, connectionId: bigint, setId: number): SqlFailure {
  const client = core.connections.get(connectionId);
  const text =
    client === undefined ? connectionIdText(connectionId) : clientText(client, connectionId);
  if (core.live.sets.countOf(connectionId) === 0) return invalid(`Client not found: ${text}`);
  return invalid(`Subscription not found: (${text}, QuerySetId { id: ${setId} })`);
}

function clientText({ identity }: Pick<Caller, 'identity'>, connectionId: bigint): string {
  return `(${identityText(identity)}, ${connectionIdText(connectionId)})`;
}

interface Refused {
  readonly kind: 'refused';
  readonly error: string;
  readonly micros: number;
}

/** What is wrong with the request is its outcome. */
function timed<Done extends object>(
  { clock }: DatabaseCore,
  run: () => Done,
): (Done & { readonly micros: number }) | Refused {
  const startedAt = clock.monotonicMillis();
  const micros = (): number => Math.round((clock.monotonicMillis() - startedAt) * 1000);
  try {
    const done = run();
    return { ...done, micros: micros() };
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    return { kind: 'refused', error: error.message, micros: micros() };
  }
}
