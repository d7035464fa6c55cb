import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { noTimes } from '../../src/database/time-counts.ts';
import type { ClusterDesk, ClusterFigures, FigureOfDatabase } from '../../src/http/cluster-desk.ts';
import { addCluster } from '../../src/http/cluster-metrics.ts';
import { root } from '../service/harness.ts';
import { alertRules, clusterRulesFile } from '../support/alert-rules.ts';
import { familiesIn, type Sample } from '../support/prometheus-text.ts';
import { evaluate } from '../support/promql.ts';

/** Alert rules about clusters, against the metrics of a host in each of the states they are for. */

const database: FigureOfDatabase = {
  ...{ database: 'c200', role: 'leader', term: 3, lagCommits: 2, lagSeconds: 0.1 },
  ...{ unsettledCommits: undefined, ageSeconds: 0 },
};
const copy: FigureOfDatabase = {
  ...database,
  ...{ role: 'follower', lagCommits: undefined, lagSeconds: undefined },
  ...{ unsettledCommits: 0, ageSeconds: 0.3 },
};

const well: ClusterFigures = {
  hosts: { up: 3, draining: 0, gone: 1, silent: 0 },
  databases: [database, { ...copy, database: 'c201' }],
  ...{ beatAgeSeconds: 0.4, clockSkewSeconds: 0.01 },
  appends: {
    times: noTimes.turn,
    bytes: 9,
    results: { stored: 4, passed: 0, unknown: 1 },
    restored: 0,
  },
  failovers: { goodbye: 0, ended: 1, silent: 0 },
  failoverTimes: noTimes.turn,
  ...{ moves: { operator: 1, placer: 0, drain: 0, taken: 0 }, deposed: 0 },
  ...{ deposedCommits: 0, refetchedBytes: 0 },
  streams: { sent: 5, left: 0, received: 4, logs: 1 },
  lines: { away: 2, here: 1, open: 1 },
  copies: [{ database: 'c200', ready: 2, wanted: 2 }],
  forwarded: [{ door: 'http', result: 'answered', count: 3 }],
  forwardTimes: noTimes.turn,
};

async function samplesOf(figures: ClusterFigures): Promise<Sample[]> {
  const registry = new Registry();
  addCluster(registry, { figures: () => figures } as ClusterDesk);
  return [...familiesIn(await registry.metrics()).values()].flatMap(({ samples }) => samples);
}

async function fired(figures: ClusterFigures): Promise<string[]> {
  const scrapes = { before: await samplesOf(well), now: await samplesOf(figures), seconds: 60 };
  const rules = alertRules(clusterRulesFile);
  return rules.filter(({ expr }) => evaluate(expr, scrapes).length > 0).map(({ alert }) => alert);
}

const faults: Readonly<Record<string, Partial<ClusterFigures>>> = {
  ReducerdbHostSilent: { hosts: { ...well.hosts, silent: 1 } },
  ReducerdbEngineNotReached: { beatAgeSeconds: 5.5 },
  ReducerdbNotAcknowledged: { databases: [{ ...database, lagSeconds: 6 }] },
  ReducerdbAppendsInDoubt: {
    appends: { ...well.appends, results: { ...well.appends.results, unknown: 9 } },
  },
  ReducerdbEngineLostEntries: { appends: { ...well.appends, restored: 2 } },
  ReducerdbCopyBroken: { databases: [{ ...copy, role: 'broken' }] },
  ReducerdbCopiesMissing: { copies: [{ database: 'c200', ready: 1, wanted: 2 }] },
  ReducerdbCopyLate: { databases: [{ ...copy, ageSeconds: 11 }] },
  ReducerdbDeposed: { deposed: 1 },
  ReducerdbLogRefetched: { refetchedBytes: 4_096 },
  ReducerdbClockAhead: { clockSkewSeconds: 0.7 },
  ReducerdbClockBehind: { clockSkewSeconds: -0.7 },
};

it('[replication 15.3] a cluster that is well fires no alert, and each fault the one about it', async () => {
  expect(await fired(well)).toEqual([]);
  expect(Object.keys(faults)).toEqual(alertRules(clusterRulesFile).map(({ alert }) => alert));
  for (const [alert, fault] of Object.entries(faults)) {
    expect(await fired({ ...well, ...fault })).toEqual([alert]);
  }
});

it('[replication 15.3] the guide names each alert, and no metric that there is not', async () => {
  const file = path.join(root, 'docs/guide/from-one-machine-to-three.md');
  const guide = readFileSync(file, 'utf8');
  for (const { alert } of alertRules(clusterRulesFile)) expect(guide).toContain(`\`${alert}\``);
  const there = new Set((await samplesOf(well)).map(({ name }) => name));
  const named = [...guide.matchAll(/`(reducerdb_\w+)/g)].map(([, name = '']) => name);
  const isThere = (name: string) => there.has(name) || there.has(`${name}_count`);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});
