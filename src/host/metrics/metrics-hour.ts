import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../../database/clock.ts';
import type { TimeFigures } from '../../database/time-counts.ts';
import { limits } from '../../limits.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { CallFigures } from '../supervision/recent-calls.ts';
import type { SupervisedDatabase } from '../supervision/supervised-database.ts';
import {
  countsOf,
  DatabaseMeter,
  latenciesOf,
  type Measured,
  type Metered,
} from './database-meter.ts';
import { MetricRing, type Sample, type Series } from './metric-ring.ts';

export interface MetricsOptions {
  readonly clock: Clock;
  readonly databases: () => Iterable<MeteredDatabase>;
}

export interface MeteredDatabase {
  readonly identity: DatabaseIdentity;
  readonly handle: Metered & { readonly rest: Pick<SupervisedDatabase['rest'], 'isAsleep'> };
}

/** An hour, as it is shown. */
export interface ShownHour {
  /** When the last step ended, in microseconds since the Unix epoch. */
  readonly endMicros: bigint;
  readonly series: Series;
}

/**
 * What the service and its databases did in the last hour, every few seconds. Only databases that
 * serve are looked at, and nothing is sent to them; requests cost nothing more. An hour of one that
 * sleeps is kept until others need its place.
 */
export class MetricsHour {
  readonly #options: MetricsOptions;
  readonly #service = new MetricRing();
  /** Those that were measured least recently come first. */
  readonly #meters = new Map<DatabaseIdentity, DatabaseMeter>();
  /** Handles that have been measured, whose counts do not begin with their meter. */
  readonly #known = new WeakSet<Metered>();
  readonly #delays = monitorEventLoopDelay({ resolution: limits.metricDelayMillis });
  #firstStep: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MetricsOptions) {
    this.#options = options;
  }

  /** Measures until `close`. */
  start(): void {
    this.#delays.enable();
    this.#timer = setInterval(() => this.measure(), limits.metricStepMillis).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#delays.disable();
  }

  /** Measures everything that serves, at most once for a step. */
  measure(): void {
    const step = this.#stepNow();
    const last = this.#service.lastStep;
    if (last !== undefined && step <= last) return;
    this.#firstStep ??= step;
    const delay = this.#delayMillis();
    const measured: Measured[] = [];
    for (const { identity, handle } of this.#options.databases()) {
      if (handle.rest.isAsleep) continue;
      const statistics = handle.statistics();
      if (statistics.state !== 'serving') continue;
      const meter = this.#meterOf(identity, handle);
      if (meter !== undefined) measured.push(meter.measure(handle, statistics, { step, delay }));
    }
    this.#service.add(step, { ...sumOf(measured), event_loop_delay_ms: delay });
  }

  ofService(): ShownHour {
    return this.#shown(this.#service);
  }

  /** Without values if it has not been measured. */
  ofDatabase(identity: DatabaseIdentity): ShownHour {
    return this.#shown(this.#meters.get(identity)?.ring ?? new MetricRing());
  }

  /** The database is gone. */
  forget(identity: DatabaseIdentity): void {
    this.#meters.delete(identity);
  }

  #stepNow(): number {
    return Math.floor(Number(this.#options.clock.nowMicros() / 1_000n) / limits.metricStepMillis);
  }

  #shown(ring: MetricRing): ShownHour {
    const last = this.#service.lastStep ?? this.#stepNow();
    const first = this.#firstStep ?? last + 1;
    const endMicros = BigInt((last + 1) * limits.metricStepMillis) * 1_000n;
    return { endMicros, series: ring.series(first, last) };
  }

  /** `undefined`: too many serve, and this one was not among the first. */
  #meterOf(identity: DatabaseIdentity, handle: Metered): DatabaseMeter | undefined {
    const isNew = !this.#known.has(handle);
    this.#known.add(handle);
    const known = this.#meters.get(identity);
    if (known !== undefined) {
      this.#meters.delete(identity);
      this.#meters.set(identity, known);
      return known;
    }
    if (this.#meters.size >= limits.metricDatabasesMax && !this.#makeRoom()) return undefined;
    const meter = new DatabaseMeter(isNew);
    this.#meters.set(identity, meter);
    return meter;
  }

  /** The hour of a database that was not measured of late gives way. */
  #makeRoom(): boolean {
    const [oldest] = this.#meters;
    const last = this.#service.lastStep;
    if (oldest === undefined || last === undefined) return false;
    const [identity, { ring }] = oldest;
    if (ring.lastStep !== undefined && ring.lastStep >= last) return false;
    return this.#meters.delete(identity);
  }

  #delayMillis(): number {
    const millis = this.#delays.percentile(99) / 1e6 - limits.metricDelayMillis;
    this.#delays.reset();
    return Number.isFinite(millis) ? Math.max(0, millis) : 0;
  }
}

/** All databases as one. */
function sumOf(measured: readonly Measured[]): Sample {
  const samples = measured.map(({ sample }) => sample);
  const sum = (name: keyof Sample) => {
    return samples.reduce((total, sample) => total + (sample[name] ?? 0), 0);
  };
  const all = measured.map(({ calls }) => calls);
  const calls: CallFigures = {
    calls: sum('calls'),
    failed: sum('calls_failed'),
    times: Uint32Array.from(addedUp(all.map(({ times }) => times))),
  };
  const sync: TimeFigures = addedUp(measured.map((one) => one.sync));
  return {
    ...countsOf(calls),
    ...latenciesOf(calls, sync),
    commits: sum('commits'),
    fanout_lag_ms: samples.reduce((most, one) => Math.max(most, one.fanout_lag_ms ?? 0), 0),
    memory_bytes: process.memoryUsage.rss(),
    log_bytes: sum('log_bytes'),
    snapshot_bytes: sum('snapshot_bytes'),
    connections: sum('connections'),
  };
}

function addedUp(lists: readonly ArrayLike<number>[]): number[] {
  const total = new Array<number>(Math.max(0, ...lists.map(({ length }) => length))).fill(0);
  for (const list of lists) {
    for (let at = 0; at < list.length; at += 1) total[at] = (total[at] ?? 0) + (list[at] ?? 0);
  }
  return total;
}
