import { AssertionError } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { CatchUp, followsFromChanges } from '../../live/catch-up.ts';
import type { WholeRead } from '../../live/kept-stages.ts';
import type { LiveQuery } from '../../live/live-query.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import { SqlFailure } from '../../sql/failure.ts';
import { requireCurrent } from '../broken-clients.ts';
import type { DatabaseCore } from '../core.ts';
import type { OpenConnection, ResumeOutcome, ResumeRequest } from '../outcome.ts';
import { areLimited } from '../rights.ts';
import type { DatabaseRequest } from '../turn.ts';
import { historyOf } from './history.ts';
import type { KeptCommit } from './kept-changes.ts';
import type { LiveCommit } from './live-commit.ts';
import { prepareSet } from './prepare-set.ts';
import type { SetId } from './set-id.ts';

type Asked = Omit<Extract<DatabaseRequest, { kind: 'resume' }>, 'kind'>;
type Resumed = Omit<ResumeOutcome, 'micros'>;

/**
 * Takes up the query sets of a client that was here before, all or none: where each of their
 * queries follows from changed rows, and the changes since are kept, they are watched from now on,
 * and the client gets what it has missed, commit by commit. Otherwise it has to subscribe again.
 *
 * From the first request on, changes are kept: this client may come back as well.
 */
export function resume(core: DatabaseCore, asked: Asked): ResumeOutcome {
  const { clock, live, store } = core;
  const startedAt = clock.monotonicMillis();
  live.kept.begin(store.offset);
  const outcome = new Return(core, asked).outcome();
  return { ...outcome, micros: Math.round((clock.monotonicMillis() - startedAt) * 1000) };
}

class Return {
  readonly #core: DatabaseCore;
  readonly #connection: OpenConnection;
  readonly #request: ResumeRequest;
  /** Until when it may take, by the monotonic clock. */
  readonly #until: number;

  constructor(core: DatabaseCore, { connection, resume: request }: Asked) {
    this.#core = core;
    this.#connection = connection;
    this.#request = request;
    this.#until = core.clock.monotonicMillis() + limits.resumeMillisMax;
  }

  outcome(): Resumed {
    const { store } = this.#core;
    const { sets, offset } = this.#request;
    const history = this.#history();
    const answer = { history, offset: store.offset, sets: [], missed: [] } as const;
    if (sets.length === 0) return { kind: 'resumed', ...answer };
    const isOtherLog = this.#request.history >> 64n !== history >> 64n;
    if (isOtherLog || offset > BigInt(store.offset)) return { kind: 'rewound', ...answer };
    const rows = { kind: 'rows', ...answer } as const;
    if (this.#request.history !== history || !this.#isAllowed()) return rows;
    const commits = this.#core.live.kept.since(Number(offset), store.offset);
    return commits === undefined ? rows : (this.#resumed(commits, answer) ?? rows);
  }

  get #isLate(): boolean {
    return this.#core.clock.monotonicMillis() > this.#until;
  }

  /** Limited tokens are counted by what they read, so they read it. */
  #isAllowed(): boolean {
    const { connections, live } = this.#core;
    const { connectionId, caller } = this.#connection;
    const { sets } = this.#request;
    const isOnce = new Set(sets.map(({ setId }) => setId)).size === sets.length;
    const isFirst = live.sets.countOf(connectionId) === 0;
    return connections.has(connectionId) && isOnce && isFirst && !areLimited(caller.rights);
  }

  #history(): bigint {
    const { log, live, entropy } = this.#core;
    const runId = this.#request.confirmed ? undefined : live.runId(entropy);
    return historyOf(log.epoch, this.#connection, runId);
  }

  #resumed(commits: readonly KeptCommit[], answer: Omit<Resumed, 'kind'>): Resumed | undefined {
    const { live } = this.#core;
    const made: MadeSet[] = [];
    const missed = this.#addTo(made) ? this.#missedOf(made, commits) : undefined;
    if (missed === undefined) {
      for (const { queries } of made) for (const query of queries) live.queries.release(query);
      return undefined;
    }
    const { connectionId, caller } = this.#connection;
    const { identity, rights } = caller;
    for (const { setId, queries } of made) {
      live.sets.add(setId, { connectionId, identity, rights, queries });
    }
    const sets = made.map(({ setId, queries }) => {
      return { setId, queries: queries.map(({ number }) => number) };
    });
    return { ...answer, kind: 'resumed', sets, missed };
  }

  /** Watches the queries of all sets; false: one of them has to be read again, or is refused. */
  #addTo(made: MadeSet[]): boolean {
    const core = this.#core;
    const { queries } = core.live;
    const { connectionId, caller } = this.#connection;
    try {
      for (const { setId, queries: texts } of this.#request.sets) {
        const one: MadeSet = { setId, queries: [] };
        if (this.#isLate) return false;
        made.push(one);
        const request = { queries: texts, knowsEvents: true };
        for (const prepared of prepareSet(core, this.#connection, request)) {
          requireCurrent(core, connectionId, prepared.tableIds);
          if (!followsFromChanges(prepared, caller.identity)) return false;
          one.queries.push(queries.add(prepared, caller.identity, nothingWhole));
        }
      }
      return true;
    } catch (error) {
      // The subscription that comes next gets the reason.
      if (!(error instanceof SqlFailure)) throw error;
      return false;
    }
  }

  /** `undefined`: there is more than one client can catch up on. */
  #missedOf(
    made: readonly MadeSet[],
    commits: readonly KeptCommit[],
  ): readonly LiveCommit[] | undefined {
    const { live } = this.#core;
    const all = made.flatMap((set) => set.queries);
    if (commits.length * new Set(all).size > limits.resumeLooksMax) return undefined;
    const catchUp = new CatchUp(live.queries.schema, new Set(all));
    const setCounts = countsOf(made);
    const missed: LiveCommit[] = [];
    // Every set gets its own copy of an update: what the gateway makes of them is counted.
    let updateCount = 0;
    let byteCount = 0;
    for (const { offset, tables } of commits) {
      const updates = catchUp.updatesOf(tables);
      for (const update of updates) {
        const count = setCounts.get(update.query) ?? 0;
        updateCount += count;
        byteCount += count * bytesOf(update);
      }
      if (updates.length > 0) missed.push({ ...ofNoCall, offset, updates });
      const isMuch =
        updateCount > limits.resumeUpdatesMax || byteCount > limits.resumeAnswerBytesMax;
      if (isMuch || this.#isLate) return undefined;
    }
    return missed;
  }
}

/** In how many sets each query is, by its number. */
function countsOf(made: readonly MadeSet[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { queries } of made) {
    for (const number of new Set(queries.map((query) => query.number))) {
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
  }
  return counts;
}

function bytesOf({ changes }: LiveUpdate): number {
  let byteCount: number = limits.resumeCommitBytes;
  for (const change of changes) {
    byteCount +=
      change.kind === 'event'
        ? change.events.data.length
        : change.inserts.data.length + change.deletes.data.length;
  }
  return byteCount;
}

interface MadeSet {
  readonly setId: SetId;
  readonly queries: LiveQuery[];
}

/** Whose calls they were, and when, is not known any more. */
const ofNoCall: Pick<
  LiveCommit,
  'kind' | 'timestampMicros' | 'caller' | 'failures' | 'resultsBefore'
> = { kind: 'committed', timestampMicros: 0n, caller: undefined, failures: [], resultsBefore: 0 };

/** Queries that follow from changes read nothing when they begin. */
const nothingWhole: WholeRead = {
  get tables(): never {
    throw new AssertionError('a resumed query reads no rows');
  },
  get budget(): never {
    throw new AssertionError('a resumed query reads no rows');
  },
};
