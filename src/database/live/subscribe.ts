import { limits } from '../../limits.ts';
import { executingText, prepareIn } from '../../live/live-queries.ts';
import type { LiveQuery } from '../../live/live-query.ts';
import type { QueryRows } from '../../live/live-update.ts';
import type { PreparedQuery } from '../../live/prepared-query.ts';
import { RowsReader } from '../../live/read-rows.ts';
import { joinedRows, type RowSet } from '../../live/row-set.ts';
import type { ViewId } from '../../schema/ids.ts';
import { invalid, overBudget, SqlFailure } from '../../sql/failure.ts';
import type { StatementCaller } from '../../sql/rights.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import { requireCurrent, useTables } from '../broken-clients.ts';
import type { DatabaseCore } from '../core.ts';
import {
  type Caller,
  connectionClosedText,
  type OneOffOutcome,
  type OpenConnection,
  type SubscribeOutcome,
  type SubscribeRequest,
  type UnsubscribeOutcome,
} from '../outcome.ts';
import { budgetOf } from '../read-run.ts';
import { areLimited } from '../rights.ts';
import type { DatabaseRequest } from '../turn.ts';
import { failureText } from '../views/view-failure.ts';
import { connectionIdText, identityText } from './client-text.ts';
import type { PausedRows } from './paused-rows.ts';
import { prepareSet } from './prepare-set.ts';
import type { QuerySet } from './query-sets.ts';
import { type Refused, readAll, type Timed, timed } from './read-all.ts';
import type { SetId } from './set-id.ts';
import { type QueryToRead, SetRows } from './set-rows.ts';
import { tablesFor } from './subscriptions.ts';

/**
 * Accepts a query set or refuses it as a whole: all queries are checked before anything else
 * happens, their views are evaluated and held, and their rows are those of one commit; later
 * changes come as updates. If there are many rows, the rest of them is read in later turns.
 */
export function subscribe(
  core: DatabaseCore,
  request: Asked<'subscribe'>,
  nowMicros: bigint,
): SubscribeOutcome | PausedRows {
  return timed(core, (millis) => new NewSet(core, request, nowMicros).accept(millis));
}

/** Removes a query set; its rows, if requested, are those of this moment. */
export function unsubscribe(
  core: DatabaseCore,
  { connectionId, unsubscribe }: Asked<'unsubscribe'>,
  nowMicros: bigint,
): UnsubscribeOutcome | PausedRows {
  const { setId, withRows } = unsubscribe;
  const { live, store } = core;
  return timed<Removed>(core, (millis) => {
    const set = live.sets.get(connectionId, setId);
    if (set === undefined) throw notFound(core, connectionId, setId);
    live.sets.remove(connectionId, setId);
    const removed = { kind: 'removed', offset: store.offset } as const;
    try {
      if (!withRows) return { ...removed, queries: undefined };
      const reader = readerFor(core, set, nowMicros);
      const kept = set.queries.map((query) => reader.keptRows(query));
      const reads = set.queries
        .filter((_, at) => kept[at] === undefined)
        .map((query) => toRead(query.key, preparedAgain(core, query), reader));
      const rows = new SetRows(core, reads);
      return readAll<Removed>(
        core,
        { rows, millis },
        {
          connectionId,
          done: (sets) => ({ ...removed, queries: rowsOfQueries({ set, kept }, sets) }),
          replyOf: (outcome) => ({ kind: 'unsubscribed', outcome }),
        },
      );
    } finally {
      live.drop(core, set, nowMicros);
    }
  });
}

/** Answers a query once; joins need no index. */
export function answerOnce(
  core: DatabaseCore,
  { connection, oneOff }: Asked<'oneOff'>,
  nowMicros: bigint,
): OneOffOutcome | PausedRows {
  const { caller, connectionId, dialect = 'subscription' } = connection;
  const { sql } = oneOff;
  const outcome = timed<Found>(core, (millis) => {
    requireOpen(core, connectionId);
    const { schema } = core.live.queries;
    const query = prepareIn(dialect, { sql: sql.trim(), rights: caller.rights, schema }, false);
    useTables(core, connectionId, query.tableIds);
    prepareViews(core, query.views, caller.identity, nowMicros);
    const reader = readerFor(core, caller, nowMicros);
    reader.requireWithinLimit([query]);
    const { name: table, id: tableId } = query.table;
    const reads = areLimited(caller.rights) ? { reads: query.tableNames } : {};
    const found = { kind: 'rows', offset: core.store.offset, table, tableId, ...reads } as const;
    const rows = new SetRows(core, [toRead(undefined, query, reader)], caller.rights.rowsMax);
    return readAll<Found>(
      core,
      { rows, millis },
      {
        connectionId,
        done: ([sets = []]) => ({ ...found, rows: joinedRows(sets, query.shape) }),
        replyOf: (one) => ({ kind: 'oneOff', outcome: failedOf(one) }),
      },
    );
  });
  return outcome.kind === 'paused' ? outcome : failedOf(outcome);
}

/** A request of this kind, without its kind. */
type Asked<Kind> = Omit<Extract<DatabaseRequest, { kind: Kind }>, 'kind'>;

class NewSet {
  readonly #core: DatabaseCore;
  readonly #connection: OpenConnection;
  readonly #request: SubscribeRequest;
  readonly #nowMicros: bigint;
  readonly #identity: CallerIdentity;

  constructor(
    core: DatabaseCore,
    { connection, subscribe }: Asked<'subscribe'>,
    nowMicros: bigint,
  ) {
    this.#core = core;
    this.#connection = connection;
    this.#request = subscribe;
    this.#nowMicros = nowMicros;
    this.#identity = connection.caller.identity;
  }

  accept(millis: () => number): Applied | PausedRows {
    const { connectionId } = this.#connection;
    requireOpen(this.#core, connectionId);
    this.#requireNewId();
    const prepared = prepareSet(this.#core, this.#connection, this.#request);
    for (const { tableIds } of prepared) requireCurrent(this.#core, connectionId, tableIds);
    const held: PreparedQuery[] = [];
    try {
      for (const query of prepared) {
        this.#hold(query);
        held.push(query);
      }
      return this.#read(prepared, millis);
    } catch (error) {
      const { views } = this.#core;
      for (const query of held) views.release(query.views, this.#identity, this.#nowMicros);
      throw error;
    }
  }

  #requireNewId(): void {
    const { connectionId, caller } = this.#connection;
    const { setId } = this.#request;
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

  #hold({ views: ids }: PreparedQuery): void {
    if (ids.length === 0) return;
    prepareViews(this.#core, ids, this.#identity, this.#nowMicros);
    if (this.#core.views.hold(ids, this.#identity)) return;
    throw overBudget(manyViewsText);
  }

  #read(prepared: readonly PreparedQuery[], millis: () => number): Applied | PausedRows {
    const core = this.#core;
    const identity = this.#identity;
    const { queries } = core.live;
    const { offset } = core.store;
    const reader = readerFor(core, this.#connection.caller, this.#nowMicros);
    reader.requireWithinLimit(prepared.filter((query) => !queries.find(query, identity)));
    const reads = prepared.filter(({ isKept }) => !isKept);
    const rows = new SetRows(
      core,
      reads.map((query) => toRead(queries.keyOf(query, identity), query, reader)),
      this.#connection.caller.rights.rowsMax,
    );
    let watched: Registered | undefined;
    const register = (): Registered => {
      watched ??= this.#register(prepared, { reader, rows });
      return watched;
    };
    return readAll<Applied>(
      core,
      { rows, millis },
      {
        connectionId: this.#connection.connectionId,
        begun: () => register().set.queries.map(({ number }) => number),
        done: (sets) => {
          const rowsOf = rowsOfQueries(register(), sets);
          return { kind: 'applied', offset, queries: this.#withReads(rowsOf, prepared) };
        },
        failed: () => this.#giveUp(register().set),
        replyOf: (outcome) => ({ kind: 'subscribed', outcome }),
      },
    );
  }

  /** For the ledger, which counts what limited tokens read. */
  #withReads(rows: QueryRows[], prepared: readonly PreparedQuery[]): QueryRows[] {
    if (!areLimited(this.#connection.caller.rights)) return rows;
    return rows.map((one, at) => ({ ...one, reads: prepared[at]?.tableNames ?? [] }));
  }

  #register(
    prepared: readonly PreparedQuery[],
    { reader, rows }: { readonly reader: RowsReader; readonly rows: SetRows },
  ): Registered {
    const { connectionId, caller } = this.#connection;
    const { setId } = this.#request;
    const { live } = this.#core;
    const identity = this.#identity;
    const queries: LiveQuery[] = [];
    try {
      for (const query of prepared) {
        queries.push(live.queries.add(query, identity, reader.whole));
      }
      const kept = queries.map((query) => reader.keptRows(query));
      rows.alsoGets(kept.flatMap((sets) => sets ?? []));
      const set = { connectionId, identity, rights: caller.rights, queries };
      live.sets.add(setId, set);
      return { set, kept };
    } catch (error) {
      for (const query of queries) live.queries.release(query);
      throw error;
    }
  }

  /** Gives up a set whose rows cannot be read to the end. It may already be gone. */
  #giveUp(set: QuerySet): void {
    const { connectionId } = this.#connection;
    const { setId } = this.#request;
    const { live } = this.#core;
    if (live.sets.get(connectionId, setId) !== set) return;
    live.sets.remove(connectionId, setId);
    live.drop(this.#core, set, this.#nowMicros);
  }
}

/** A set, and the rows of those of its queries that keep them, as they were when it began. */
interface Registered {
  readonly set: QuerySet;
  readonly kept: readonly (readonly RowSet[] | undefined)[];
}

type Applied = Omit<Extract<SubscribeOutcome, { kind: 'applied' }>, 'micros'>;
type Removed = Omit<Extract<UnsubscribeOutcome, { kind: 'removed' }>, 'micros'>;
type Found = Omit<Extract<OneOffOutcome, { kind: 'rows' }>, 'micros'>;

/** `key`: others that read the same at this commit share the read. */
function toRead(key: string | undefined, query: PreparedQuery, reader: RowsReader): QueryToRead {
  return { key, begin: () => reader.begin(query), release: () => reader.release() };
}

const manyViewsText =
  `Too many results of views are kept for subscribers (limit ${limits.viewInstancesMax}, one for ` +
  `each caller of a view with rows of its own, and ${limits.viewBytesMax / 2 ** 20} MiB in all); ` +
  'subscribe to tables, or to a view with the same rows for every caller';

/** `rows` belong to the queries that keep none. */
function rowsOfQueries(
  { set, kept }: Registered,
  rows: readonly (readonly RowSet[])[],
): QueryRows[] {
  let next = 0;
  return set.queries.map(({ number: query, table }, at) => {
    const { name, id: tableId, isEvent } = table;
    const fragments = kept[at] ?? rows[next++] ?? [];
    return { query, table: name, tableId, isEvent, fragments };
  });
}

/** Throws `SqlFailure` when a query is not allowed any more. */
function preparedAgain(core: DatabaseCore, query: LiveQuery): PreparedQuery {
  try {
    return core.live.queries.preparedAgain(query);
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    throw invalid(executingText(error.message, query.sql));
  }
}

function readerFor(
  core: DatabaseCore,
  caller: StatementCaller & Pick<Caller, 'isAnonymous'>,
  nowMicros: bigint,
): RowsReader {
  const { identity } = caller;
  const { clock, statementMillisMax: millisMax, slices } = core;
  const { millis: sliceMillis, rowsPerCheck } = slices;
  const now = (): number => clock.monotonicMillis();
  const memory = core.statementMemory.shareOf(caller);
  const budget = budgetOf({ now, millisMax, sliceMillis, rowsPerCheck, memory });
  const wholeBudget = budgetOf({ now, millisMax });
  const tables = tablesFor(core, caller, nowMicros);
  return new RowsReader({ tables, identity, budget, wholeBudget, nowMicros });
}

function prepareViews(
  { views }: DatabaseCore,
  ids: readonly ViewId[],
  identity: CallerIdentity,
  nowMicros: bigint,
): void {
  if (ids.length === 0) return;
  const failure = views.prepare(ids, identity, nowMicros);
  if (failure !== undefined) throw invalid(failureText(failure));
}

function requireOpen({ connections }: DatabaseCore, connectionId: ConnectionNumber): void {
  if (!connections.has(connectionId)) throw invalid(connectionClosedText);
}

function notFound(core: DatabaseCore, connectionId: ConnectionNumber, setId: SetId): SqlFailure {
  const client = core.connections.get(connectionId);
  const text =
    client === undefined ? connectionIdText(connectionId) : clientText(client, connectionId);
  if (core.live.sets.countOf(connectionId) === 0) return invalid(`Client not found: ${text}`);
  return invalid(`Subscription not found: (${text}, QuerySetId { id: ${setId} })`);
}

function clientText(
  { identity }: Pick<Caller, 'identity'>,
  connectionId: ConnectionNumber,
): string {
  return `(${identityText(identity)}, ${connectionIdText(connectionId)})`;
}

function failedOf(outcome: (Found & Timed) | Refused): OneOffOutcome {
  return outcome.kind === 'refused' ? { ...outcome, kind: 'failed' } : outcome;
}
