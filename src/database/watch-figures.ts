import { limits } from '../limits.ts';
import type { LiveQueries } from '../live/live-queries.ts';
import type { LiveQuery } from '../live/live-query.ts';
import { rowCountOf } from '../live/row-set.ts';
import { cutText } from './shown-statement.ts';

/** A query that clients watch, and what it costs to keep it up to date. */
export interface WatchFigures {
  /** Cut where it is long: strangers choose it, and it goes to all who look. */
  readonly sql: string;
  /** Query sets that it is part of. */
  readonly subscribers: number;
  /** `rerun`: it is read again for each commit that may concern it. */
  readonly kind: 'incremental' | 'rerun';
  /** Why it is run again. */
  readonly reason?: string;
  /** How often a commit concerned it, and how long that took on average, in microseconds. */
  readonly evaluations: number;
  readonly microsMean: number;
  /** Rows of its answer; absent where none are kept. */
  readonly rows?: number;
}

/**
 * The queries that are watched, those that took the most time first. Queries of one text that are
 * kept for each caller, or for callers with other rights, are shown as one.
 */
export function watchFigures(queries: LiveQueries): readonly WatchFigures[] {
  // By text and reason, without a key made of both: that would copy megabytes of long texts.
  const groups = new Map<string, Map<string | undefined, Group>>();
  for (const query of queries.watched) {
    const { sql, rerunReason: reason } = query;
    const ofText = groups.get(sql) ?? new Map<string | undefined, Group>();
    const group = ofText.get(reason) ?? { sql, reason, queries: [], millis: 0 };
    group.queries.push(query);
    group.millis += millisOf(query);
    ofText.set(reason, group);
    groups.set(sql, ofText);
  }
  return [...groups.values()]
    .flatMap((ofText) => [...ofText.values()])
    .sort((one, other) => other.millis - one.millis)
    .slice(0, limits.watchesShownMax)
    .map(figuresOf);
}

interface Group {
  readonly sql: string;
  readonly reason: string | undefined;
  readonly queries: LiveQuery[];
  millis: number;
}

function figuresOf({ sql, reason, queries, millis }: Group): WatchFigures {
  const sum = (of: (query: LiveQuery) => number) => {
    return queries.reduce((total, query) => total + of(query), 0);
  };
  const evaluations = sum((query) => query.evaluations);
  const kept = queries.flatMap(({ operator }) => operator.rows() ?? []);
  return {
    sql: cutText(sql, limits.watchTextCharactersMax),
    subscribers: sum(({ useCount }) => useCount),
    kind: reason === undefined ? 'incremental' : 'rerun',
    ...(reason !== undefined && { reason: cutText(reason, limits.watchTextCharactersMax) }),
    evaluations,
    microsMean: evaluations === 0 ? 0 : (1_000 * millis) / evaluations,
    ...(kept.length > 0 && { rows: kept.reduce((total, rows) => total + rowCountOf(rows), 0) }),
  };
}

/** The time of all its evaluations, as far as those that were timed tell it. */
function millisOf({ evaluations, timed, millis }: LiveQuery): number {
  return timed === 0 ? 0 : (millis / timed) * evaluations;
}
