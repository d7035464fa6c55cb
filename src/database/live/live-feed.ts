import { executingText, LiveQueries, type LiveQuery } from '../../live/live-queries.ts';
import type { LiveFailure, LiveUpdate } from '../../live/live-update.ts';
import type { StatementCaller } from '../../sql/rights.ts';
import type { SqlSchema } from '../../sql/schema.ts';
import type { ChangeSet } from '../../store/change-set.ts';
import type { Clock } from '../clock.ts';
import type { DatabaseCore } from '../core.ts';
import type { LiveCommit } from '../turn.ts';
import { CallerTables } from '../views/caller-tables.ts';
import { failureText } from '../views/view-failure.ts';
import type { LostInstance, ViewChange } from '../views/view-instance.ts';
import { FirstReads } from './first-reads.ts';
import { type QuerySet, QuerySets } from './query-sets.ts';

/** What a commit did, as those tell it who made it. */
export interface Committed {
  /** `undefined`: no row of a table changed. */
  readonly changes: ChangeSet | undefined;
  readonly views: readonly ViewChange[];
  readonly timestampMicros: bigint;
  /** True: it is what a call asked for, so the caller gets the changes with the outcome. */
  readonly isOfCall: boolean;
  /** The program was updated with it. */
  readonly isNewSchema?: boolean;
}

/**
 * The live queries of one database, the query sets that they belong to, and what commits have
 * changed for them since the last turn was handed over.
 */
export class LiveFeed {
  readonly queries: LiveQueries;
  readonly sets = new QuerySets();
  readonly firstReads = new FirstReads();
  #commits: LiveCommit[] = [];
  #ticket = 0;
  #resultsBefore = 0;

  constructor(schema: SqlSchema, clock: Clock) {
    this.queries = new LiveQueries({ schema, now: () => clock.monotonicMillis() });
  }

  /** What is committed from here on belongs to that request, and comes behind so many results. */
  begin(ticket: number, resultsBefore: number): void {
    this.#ticket = ticket;
    this.#resultsBefore = resultsBefore;
  }

  /** To be called right after each commit, when the instances of views have theirs behind them. */
  committed(core: DatabaseCore, commit: Committed): void {
    const { changes, views, timestampMicros, isOfCall, isNewSchema = false } = commit;
    const lost = core.views.takeLost();
    const { queries } = this;
    if (queries.count === 0) return;
    const evaluated = queries.evaluate({
      tables: changes?.tables ?? [],
      views,
      isNewSchema,
      hasSequences: (changes?.sequences.length ?? 0) > 0,
      tablesFor: (caller) => tablesFor(core, caller, timestampMicros),
    });
    const failures = [...evaluated.failures, ...this.#failuresOf(lost)];
    const updates =
      failures.length === 0 ? evaluated.updates : without(evaluated.updates, failures);
    if (updates.length === 0 && failures.length === 0) return;
    this.#commits.push({
      kind: 'committed',
      offset: core.store.offset,
      timestampMicros,
      caller: isOfCall ? this.#ticket : undefined,
      updates,
      failures,
      resultsBefore: this.#resultsBefore,
    });
    if (failures.length === 0) return;
    const numbers = new Set(failures.map(({ query }) => query));
    this.#dropAll(core, this.sets.takeWith(numbers), timestampMicros);
  }

  /** The commits since the last call; the turn is over. */
  takeCommits(): readonly LiveCommit[] {
    this.firstReads.endTurn();
    const commits = this.#commits;
    if (commits.length > 0) this.#commits = [];
    return commits;
  }

  /** Watches the queries of a set no longer, unless others do; its views may go. */
  drop(core: DatabaseCore, { queries, identity }: QuerySet, nowMicros: bigint): void {
    for (const query of queries) {
      core.views.release(query.views, identity, nowMicros);
      this.queries.release(query);
    }
  }

  dropConnection(core: DatabaseCore, connectionId: bigint, nowMicros: bigint): void {
    this.#dropAll(core, this.sets.takeConnection(connectionId), nowMicros);
  }

  /** All connections are ended. */
  dropEverything(core: DatabaseCore, nowMicros: bigint): void {
    this.#dropAll(core, this.sets.takeAll(), nowMicros);
  }

  #dropAll(core: DatabaseCore, sets: readonly QuerySet[], nowMicros: bigint): void {
    for (const set of sets) this.drop(core, set, nowMicros);
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
  { store, program, views }: DatabaseCore,
  caller: StatementCaller,
  nowMicros: bigint,
): CallerTables {
  const { systemTables } = program;
  return new CallerTables({ store, systemTables, views }, caller, nowMicros);
}

/** Updates of queries that failed are withheld. */
function without(
  updates: readonly LiveUpdate[],
  failures: readonly LiveFailure[],
): readonly LiveUpdate[] {
  const failed = new Set(failures.map(({ query }) => query));
  return updates.filter(({ query }) => !failed.has(query));
}
