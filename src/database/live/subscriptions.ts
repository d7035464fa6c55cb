import { executingText, LiveQueries } from '../../live/live-queries.ts';
import type { LiveQuery } from '../../live/live-query.ts';
import type { LiveFailure, LiveUpdate } from '../../live/live-update.ts';
import type { StatementCaller } from '../../sql/rights.ts';
import type { SqlSchema } from '../../sql/schema.ts';
import type { ChangeSet } from '../../store/change-set.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { Clock } from '../clock.ts';
import type { Entropy } from '../entropy.ts';
import { noTicket, type Ticket } from '../ticket.ts';
import { CallerTables, type TableSources } from '../views/caller-tables.ts';
import { failureText } from '../views/view-failure.ts';
import type { LostInstance, ViewChange } from '../views/view-instance.ts';
import { FirstReads } from './first-reads.ts';
import type { KeptChanges } from './kept-changes.ts';
import type { LiveCommit } from './live-commit.ts';
import { type QuerySet, QuerySets } from './query-sets.ts';

/** The parts of its database that live queries read. */
export type LiveSources = TableSources;

/** A commit, as the code that made it reports it. */
export interface Committed {
  /** `undefined` if no row of a table changed. */
  readonly changes: ChangeSet | undefined;
  readonly views: readonly ViewChange[];
  readonly timestampMicros: bigint;
  /** True if a call requested it, so that the caller gets the changes with the outcome. */
  readonly isOfCall: boolean;
  /** True if it updated the program. */
  readonly isNewSchema?: boolean;
}

/**
 * The live queries of one database, the query sets that they belong to, and the changes that
 * commits made to them since the last turn was handed over.
 */
export class Subscriptions {
  readonly queries: LiveQueries;
  readonly sets = new QuerySets();
  readonly firstReads = new FirstReads();
  /** For clients that come back. */
  readonly kept: KeptChanges;
  #runId: bigint | undefined;
  #commits: LiveCommit[] = [];
  #lastMicros = 0n;
  #ticket: Ticket = noTicket;
  #resultsBefore = 0;

  constructor(schema: SqlSchema, clock: Clock, kept: KeptChanges) {
    this.kept = kept;
    this.queries = new LiveQueries({ schema, now: () => clock.monotonicMillis() });
  }

  /** The latest timestamp of a commit since the database was opened; 0n if there was none. */
  get lastMicros(): bigint {
    return this.#lastMicros;
  }

  /** 64 random bits that no other run of the database has. */
  runId(entropy: Entropy): bigint {
    if (this.#runId !== undefined) return this.#runId;
    const drawn = new Uint8Array(8);
    entropy.fill(drawn);
    this.#runId = new DataView(drawn.buffer).getBigUint64(0);
    return this.#runId;
  }

  /** Commits from here on belong to that request, and follow that many results. */
  begin(ticket: Ticket, resultsBefore: number): void {
    this.#ticket = ticket;
    this.#resultsBefore = resultsBefore;
  }

  /** Must be called right after each commit, once the instances of views are committed too. */
  committed(sources: LiveSources, commit: Committed): void {
    const { changes, isNewSchema = false } = commit;
    const { kept } = this;
    if (isNewSchema) kept.forget(sources.store.offset);
    else if (kept.isOn && changes !== undefined) kept.add(changes.offset, changes.tables);
    this.evaluate(sources, commit);
  }

  /** `committed` for a commit whose changes are kept already, or are not to be. */
  evaluate(sources: LiveSources, commit: Committed): void {
    const { changes, views, timestampMicros, isOfCall, isNewSchema = false } = commit;
    const lost = sources.views.takeLost();
    if (timestampMicros > this.#lastMicros) this.#lastMicros = timestampMicros;
    const { queries } = this;
    if (queries.count === 0) return;
    const evaluated = queries.evaluate({
      tables: changes?.tables ?? [],
      views,
      isNewSchema,
      hasSequences: (changes?.sequences.length ?? 0) > 0,
      tablesFor: (caller) => tablesFor(sources, caller, timestampMicros),
    });
    const failures = [...evaluated.failures, ...this.#failuresOf(lost)];
    const updates =
      failures.length === 0 ? evaluated.updates : without(evaluated.updates, failures);
    if (updates.length === 0 && failures.length === 0) return;
    this.#commits.push({
      kind: 'committed',
      offset: sources.store.offset,
      timestampMicros,
      caller: isOfCall ? this.#ticket : undefined,
      updates,
      failures,
      resultsBefore: this.#resultsBefore,
    });
    if (failures.length === 0) return;
    const numbers = new Set(failures.map(({ query }) => query));
    this.#dropAll(sources, this.sets.takeWith(numbers), timestampMicros);
  }

  /** The commits since the last call; the turn is over. */
  takeCommits(): readonly LiveCommit[] {
    this.firstReads.endTurn();
    const commits = this.#commits;
    if (commits.length > 0) this.#commits = [];
    return commits;
  }

  /** Stops watching the queries of a set, unless other sets do; its views may be dropped. */
  drop(sources: LiveSources, { queries, identity }: QuerySet, nowMicros: bigint): void {
    for (const query of queries) {
      sources.views.release(query.views, identity, nowMicros);
      this.queries.release(query);
    }
  }

  dropConnection(sources: LiveSources, connectionId: ConnectionNumber, nowMicros: bigint): void {
    this.#dropAll(sources, this.sets.takeConnection(connectionId), nowMicros);
  }

  #dropAll(sources: LiveSources, sets: readonly QuerySet[], nowMicros: bigint): void {
    for (const set of sets) this.drop(sources, set, nowMicros);
  }

  #failuresOf(lost: readonly LostInstance[]): LiveFailure[] {
    return lost.flatMap(({ viewId, sender, failure }) =>
      this.queries.readersOf(viewId, sender).map(({ number, sql }: LiveQuery) => {
        return { query: number, error: executingText(failureText(failure), sql) };
      }),
    );
  }
}

/** The tables that statements of a caller read, as they are now. */
export function tablesFor(
  sources: LiveSources,
  caller: StatementCaller,
  nowMicros: bigint,
): CallerTables {
  return new CallerTables(sources, caller, nowMicros);
}

/** Drops the updates of queries that failed. */
function without(
  updates: readonly LiveUpdate[],
  failures: readonly LiveFailure[],
): readonly LiveUpdate[] {
  const failed = new Set(failures.map(({ query }) => query));
  return updates.filter(({ query }) => !failed.has(query));
}
