import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Figure, benchmarks as forwarding } from '../../bench/cluster.bench.ts';
import { benchmarks as onEngines } from '../../bench/cluster-engines.bench.ts';
import { withoutPostgres } from '../support/postgres-cluster.ts';

/**
 * What each rule about the costs of a cluster is measured by, in tiny runs, so that no figure is
 * lost; `npm run bench -- cluster` makes them whole, and they stand in `bench/results`.
 */
describe.skipIf(withoutPostgres !== undefined)('the figures of a cluster', () => {
  let figures: readonly Figure[] = [];

  beforeAll(async () => {
    const tiny = 0.002;
    figures = [...(await onEngines(tiny)), ...(await forwarding(tiny))];
  }, 300_000);

  const expectFigure = (name: string, bar: string): void => {
    const [figure, ...others] = figures.filter((one) => one.name === name);
    expect([figure?.bar, others]).toEqual([bar, []]);
    expect(figure?.value).toBeGreaterThan(0);
    expect(figure?.baseline).toBeGreaterThan(0);
  };

  it('[replication 18.2] have appends beside the bare statement', () => {
    for (const commits of [1, 64, 1_000]) {
      const name = `an append of ${commits} commits to PostgreSQL, p50`;
      expectFigure(name, 'at most 1.5 of the bare statement');
    }
  });

  it('[replication 18.3] have durable calls of many callers beside those of a service alone', () => {
    expectFigure('durable calls on PostgreSQL, 1000 callers', 'at least 0.15 of local');
  });

  it('[replication 18.4] have the call of one caller beside a local one and the statement', () => {
    const name = 'a durable call on PostgreSQL, one caller, by turns, p50';
    expectFigure(`${name}, to the larger of a local one and the bare statement`, 'at most 1.3');
    expectFigure(`${name}, to the bare statement`, 'at most 2');
  });

  it('[replication 18.5] have the pauses of planned moves', () => {
    expectFigure('planned move under load, pause, p99', 'p99 at most the baseline');
  });

  it('[replication 18.6] have forwarded calls beside direct ones', () => {
    expectFigure('a forwarded call, one caller, p50', 'at most 0.5 ms more than direct');
    expectFigure('a forwarded call, 64 callers', 'at least 0.7 of direct');
  });

  it('[replication 18.7] have what a host that follows takes, and how far it lags', () => {
    const caughtUp = 'commits that a host catches up with, to those that its leader writes';
    expectFigure(caughtUp, 'at least 1.5; 3 where no reducers run');
    const lag = 'a commit in the answer of a host that follows, at half load, p99';
    expectFigure(lag, 'at most the baseline');
  });

  it('[replication 18.8] have confirmed statements beside others', () => {
    const bar = 'at least 0.7 of one that is not confirmed';
    expectFigure('a confirmed statement, 64 callers', bar);
  });
});

it('[replication 18.1] compare the transfers of a service that is alone with another checkout', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const script = path.join(root, 'scripts/bench.mjs');
  const args = ['bench/transfer', '--scale', '0.002', '--against', root, '--rounds', '1'];
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...args]);
  expect(stdout).toMatch(/^bench\/transfer\.bench\.ts: .* here, .* there .*; ratio [\d.]+ \(/m);
}, 240_000);
