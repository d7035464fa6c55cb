import { describe, expect, it } from 'vitest';
import { noTimes, timeCountsLength } from '../../database/time-counts.ts';
import { limits } from '../../limits.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { CallTimes } from '../supervision/recent-calls.ts';
import { type MeteredDatabase, MetricsHour } from './metrics-hour.ts';

/** A database whose figures a test sets. */
class Figures {
  readonly times = new CallTimes();
  calls = 0;
  failed = 0;
  offset = 0;
  state = 'serving';
  sync: number[] = new Array(timeCountsLength).fill(0);

  did(calls: number, millis: number): void {
    for (let call = 0; call < calls; call += 1) this.times.add(millis);
    this.calls += calls;
  }

  handle(): MeteredDatabase['handle'] {
    const statistics = () => ({
      state: this.state,
      offset: this.offset,
      ...{ rowBytes: 100, indexBytes: 20, connections: 3 },
      used: { logBytes: 7 },
      snapshots: { bytes: 5 },
      times: { ...noTimes, sync: [...this.sync] },
    });
    const calls = {
      allCalls: () => {
        return { calls: this.calls, failed: this.failed, times: this.times.counts.slice() };
      },
    };
    const health = () => ({ fanOut: { waitingMillis: 4 } });
    const parts = { statistics, calls, health, rest: { isAsleep: this.state === 'asleep' } };
    return parts as unknown as MeteredDatabase['handle'];
  }
}

interface Lab {
  readonly hour: MetricsHour;
  /** Lets steps go by, and measures at the end of the last. */
  pass(steps: number): void;
}

function lab(databases: () => MeteredDatabase[]): Lab {
  let millis = 1_700_000_000_000;
  const clock = { nowMicros: () => BigInt(millis) * 1_000n, monotonicMillis: () => millis };
  const hour = new MetricsHour({ clock, databases });
  const pass = (steps: number) => {
    millis += steps * limits.metricStepMillis;
    hour.measure();
  };
  return { hour, pass };
}

const one = databaseIdentity(1n);

describe('[http 18.2] an hour of metrics', () => {
  it('has what was done at each step, and nothing where nothing was measured', () => {
    const figures = new Figures();
    const handle = figures.handle();
    const { hour, pass } = lab(() => [{ identity: one, handle }]);
    figures.did(10, 2);
    figures.offset = 50;
    pass(0);
    figures.did(90, 2);
    figures.did(10, 40);
    figures.failed = 1;
    figures.offset = 60;
    figures.sync[2] = 3;
    pass(1);
    pass(2);
    const { series, endMicros } = hour.ofDatabase(one);
    expect(series.calls).toEqual([10, 100, null, 0]);
    expect(series.calls_failed).toEqual([0, 1, null, 0]);
    // What was there when it was opened is no work of this step.
    expect(series.commits).toEqual([null, 10, null, 0]);
    expect(series.latency_p50_ms[1]).toBeCloseTo(2, 0);
    expect(series.latency_p99_ms[1]).toBeGreaterThan(39);
    expect(series.latency_p50_ms[3]).toBeNull();
    expect(series.fsync_p99_ms).toEqual([null, 2.5, null, null]);
    expect(series.memory_bytes).toEqual([120, 120, null, 120]);
    expect(series.connections.at(-1)).toBe(3);
    expect(series.fanout_lag_ms.at(-1)).toBe(4);
    expect(Number(endMicros / 1_000n) % limits.metricStepMillis).toBe(0);
    expect(hour.ofService().series.calls).toEqual([10, 100, null, 0]);
    expect(hour.ofService().series.latency_p99_ms[1]).toBeGreaterThan(39);
  });

  it('keeps 720 steps', () => {
    const figures = new Figures();
    const handle = figures.handle();
    const { hour, pass } = lab(() => [{ identity: one, handle }]);
    for (let step = 0; step < 800; step += 1) {
      figures.did(step, 1);
      pass(1);
    }
    const { calls } = hour.ofDatabase(one).series;
    expect(calls).toHaveLength(720);
    expect([calls[0], calls.at(-1)]).toEqual([80, 799]);
    pass(10_000);
    expect(hour.ofDatabase(one).series.calls.filter((count) => count !== null)).toEqual([0]);
  });

  it('does not look at databases that sleep, and what they did stays', () => {
    const figures = new Figures();
    let handle = figures.handle();
    const { hour, pass } = lab(() => [{ identity: one, handle }]);
    figures.did(1, 1);
    pass(1);
    figures.state = 'asleep';
    const nobody = () => {
      throw new Error('nobody looks at it');
    };
    handle = { ...figures.handle(), statistics: nobody };
    pass(1);
    expect(hour.ofDatabase(one).series.calls).toEqual([1, null]);
  });

  it('is kept of a bounded number of databases, and those that sleep give way', () => {
    const figures = Array.from({ length: limits.metricDatabasesMax + 2 }, () => new Figures());
    const handles = figures.map((each) => each.handle());
    let shown: MeteredDatabase[] = [];
    const { hour, pass } = lab(() => shown);
    const all = handles.map((handle, at) => ({ identity: databaseIdentity(BigInt(at)), handle }));
    shown = all.slice(0, limits.metricDatabasesMax);
    pass(1);
    shown = all.slice(1);
    pass(1);
    const measured = (at: number) =>
      hour.ofDatabase(databaseIdentity(BigInt(at))).series.connections;
    expect(measured(0)).toEqual([3, null]);
    // All places are those of databases that were measured a step ago.
    expect(measured(limits.metricDatabasesMax)).toEqual([null, null]);
    pass(1);
    expect(measured(0)).toEqual([null, null, null]);
    expect(measured(1)).toEqual([3, 3, 3]);
    expect(measured(limits.metricDatabasesMax)).toEqual([null, null, 3]);
    expect(measured(limits.metricDatabasesMax + 1)).toEqual([null, null, null]);
  });
});
