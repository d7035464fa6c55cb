import { spanCount, type TimeFigures, timeBoundsMillis } from '../../database/time-counts.ts';
import type { DatabaseStatistics } from '../supervision/database-statistics.ts';
import { type CallFigures, figuresSince, percentileMillis } from '../supervision/recent-calls.ts';
import type { SupervisedDatabase } from '../supervision/supervised-database.ts';
import { MetricRing, type Sample } from './metric-ring.ts';

/** A database as it is measured. */
export type Metered = Pick<SupervisedDatabase, 'statistics' | 'health' | 'calls'>;

/** What one database did since it was last measured. */
export interface Measured {
  readonly sample: Sample;
  readonly calls: CallFigures;
  readonly sync: TimeFigures;
}

/** The step that ends, and how late the event loop ran in it, in milliseconds. */
interface Moment {
  readonly step: number;
  readonly delay: number;
}

interface Mark {
  readonly calls: CallFigures;
  readonly sync: TimeFigures;
  readonly offset: number | undefined;
}

/** Measures one database over its lives, from figures that it has anyway. */
export class DatabaseMeter {
  readonly ring = new MetricRing();
  #before: Mark | undefined;

  /** `isNew`: it was not there before, so all that it has counted was done since. */
  constructor(isNew: boolean) {
    if (isNew) this.#before = { calls: noCalls, sync: [], offset: undefined };
  }

  /** Notes what it did since the last time. Cost: some hundred numbers are copied. */
  measure(database: Metered, statistics: DatabaseStatistics, { step, delay }: Moment): Measured {
    const { rowBytes, indexBytes, used, snapshots, connections, times } = statistics;
    const now = {
      calls: database.calls.allCalls(),
      sync: times.sync,
      offset: Number(statistics.offset),
    };
    const before = this.#before;
    this.#before = now;
    const calls = before === undefined ? noCalls : figuresSince(now.calls, before.calls);
    const sync = before === undefined ? [] : spansSince(now.sync, before.sync);
    const commits = before?.offset === undefined ? undefined : now.offset - before.offset;
    const sample: Sample = {
      ...(before !== undefined && countsOf(calls)),
      ...latenciesOf(calls, sync),
      commits: commits === undefined ? undefined : Math.max(0, commits),
      fanout_lag_ms: database.health().fanOut.waitingMillis,
      memory_bytes: rowBytes + indexBytes,
      log_bytes: used.logBytes,
      snapshot_bytes: snapshots.bytes,
      event_loop_delay_ms: delay,
      connections,
    };
    this.ring.add(step, sample);
    return { sample, calls, sync };
  }
}

export const noCalls: CallFigures = { calls: 0, failed: 0, times: new Uint32Array(0) };

export function countsOf({ calls, failed }: CallFigures): Sample {
  return { calls, calls_failed: failed };
}

/** Absent where nothing took any time. */
export function latenciesOf({ times }: CallFigures, sync: TimeFigures): Sample {
  const isIdle = times.every((count) => count === 0);
  return {
    latency_p50_ms: isIdle ? undefined : percentileMillis(times, 0.5),
    latency_p99_ms: isIdle ? undefined : percentileMillis(times, 0.99),
    fsync_p99_ms: boundOf(sync, 0.99),
  };
}

/** What was counted since; an actor that was opened in between has begun again. */
function spansSince(now: TimeFigures, before: TimeFigures): TimeFigures {
  if (spanCount(now) < spanCount(before)) return now;
  return now.map((count, at) => count - (before[at] ?? 0));
}

/** The bound that a share of the spans did not exceed, in milliseconds. */
function boundOf(spans: TimeFigures, share: number): number | undefined {
  const total = spanCount(spans);
  if (total === 0) return undefined;
  let seen = 0;
  for (const [at, bound] of timeBoundsMillis.entries()) {
    seen += spans[at] ?? 0;
    if (seen >= share * total) return bound;
  }
  return timeBoundsMillis.at(-1);
}
