import { Gauge, Registry } from 'prom-client';
import type { TimeFigures } from '../database/time-counts.ts';
import type { HostedStatistics } from '../host/hosted-database.ts';
import { outcomeOf } from '../host/supervision/answer-counts.ts';
import type { DatabaseHealth } from '../host/supervision/health.ts';
import type { VitalFigures } from '../host/supervision/vitals.ts';
import { identityToHex } from '../values/identity.ts';
import { addBackups } from './backup-metrics.ts';
import { addCluster } from './cluster-metrics.ts';
import { callerOf, type HttpContext } from './context.ts';
import { addDeploys } from './deploy-metrics.ts';
import { type Exchange, json, type Reply, text } from './exchange.ts';
import { addHistories } from './history-metrics.ts';
import { histogram, type Instrument, instrument, type Labels } from './instruments.ts';
import { addOpenings } from './opening-metrics.ts';
import { addOutbound } from './outbound-metrics.ts';
import type { Route } from './route.ts';
import { addSites } from './site-metrics.ts';
import { addSleep } from './sleep-metrics.ts';

/** A database, looked at once for all of its metrics. */
interface LookedAt extends Omit<HostedStatistics, 'health' | 'vitals'> {
  readonly health: DatabaseHealth;
  readonly vitals: VitalFigures;
  /** True: another host of the cluster leads it, and this one has a copy. */
  readonly isFollowed: boolean;
}

interface Figure extends Instrument {
  readonly read: (statistics: LookedAt) => number;
}

/** Several figures of a database, told apart by a further label. */
interface Figures<Value> extends Instrument {
  readonly labels: readonly string[];
  readonly read: (statistics: LookedAt) => readonly (readonly [Labels, Value])[];
}

/** The metrics of each database, labelled by its identity. */
const figures: readonly Figure[] = [
  {
    name: 'reducerdb_database_up',
    help: '1 while the database serves, or follows another host',
    read: ({ state, isFollowed }) => (state === 'serving' || isFollowed ? 1 : 0),
  },
  {
    name: 'reducerdb_database_healthy',
    help: '1 while all parts of the database are fine, as /v1/database/:db/health says',
    read: ({ health }) => (health.isFine ? 1 : 0),
  },
  {
    name: 'reducerdb_request_wait_seconds',
    help: 'Time that requests have waited since the last turn ended',
    read: ({ health }) => health.commits.waitingMillis / 1_000,
  },
  {
    name: 'reducerdb_undurable_seconds',
    help: 'Age of the oldest commit that is not durable',
    read: ({ health }) => health.durability.waitingMillis / 1_000,
  },
  {
    name: 'reducerdb_fanout_lag_seconds',
    help: 'Age of the oldest update not yet sent to its client',
    read: ({ health }) => health.fanOut.waitingMillis / 1_000,
  },
  {
    name: 'reducerdb_database_read_only',
    help: '1 while the disk is full: reads work, and writes are refused',
    read: ({ isReadOnly }) => (isReadOnly ? 1 : 0),
  },
  { name: 'reducerdb_commit_offset', help: 'Last commit', read: ({ offset }) => offset },
  {
    name: 'reducerdb_durable_offset',
    help: 'Last commit known to be durable',
    read: ({ durableOffset }) => durableOffset,
  },
  {
    name: 'reducerdb_calls_committed_total',
    help: 'Reducer calls that committed since the service started',
    read: ({ callsCommitted }) => callsCommitted,
  },
  {
    name: 'reducerdb_calls_aborted_total',
    help: 'Reducer calls that did not commit since the service started',
    read: ({ callsAborted }) => callsAborted,
  },
  {
    name: 'reducerdb_queries_total',
    help: 'SQL statements since the service started',
    read: ({ queries }) => queries,
  },
  {
    name: 'reducerdb_worker_restarts_total',
    help: 'Times the database was reopened from its log since the service started',
    read: ({ restarts }) => restarts,
  },
  {
    name: 'reducerdb_connections',
    help: 'Connected clients',
    read: ({ connections }) => connections,
  },
  {
    name: 'reducerdb_query_sets',
    help: 'Query sets that clients watch',
    read: ({ querySets }) => querySets,
  },
  {
    name: 'reducerdb_live_queries',
    help: 'Distinct queries in these sets',
    read: ({ live }) => live.queries,
  },
  {
    name: 'reducerdb_live_query_bytes',
    help: 'Approximate memory of live queries',
    read: ({ live }) => live.bytes,
  },
  {
    name: 'reducerdb_live_evaluations_total',
    help: 'Times a live query was evaluated for a commit since the database was opened',
    read: ({ live }) => live.evaluations,
  },
  {
    name: 'reducerdb_live_scans_total',
    help: 'Whole tables read for a join without an index',
    read: ({ live }) => live.scans,
  },
  {
    name: 'reducerdb_live_reruns_total',
    help: 'Live queries read again as a whole, because they have no incremental form',
    read: ({ live }) => live.reruns,
  },
  {
    name: 'reducerdb_paused_reads',
    help: 'First rows and long statements being read in slices',
    read: ({ live }) => live.pausedReads,
  },
  {
    name: 'reducerdb_held_bytes',
    help: 'Memory of deleted rows that is kept for these reads',
    read: ({ live }) => live.heldBytes,
  },
  {
    name: 'reducerdb_schedule_armed_rows',
    help: 'Rows of scheduled tables that have a run to come',
    read: ({ schedules }) => schedules.armedRows,
  },
  {
    name: 'reducerdb_schedule_due_seconds',
    help: 'Age of the oldest scheduled run that is due and has not begun',
    read: ({ health }) => health.schedules.waitingMillis / 1_000,
  },
  {
    name: 'reducerdb_secrets_unreadable',
    help: 'Secrets that cannot be decrypted, as their key is missing',
    read: ({ health }) => health.secrets.unreadable.length,
  },
  {
    name: 'reducerdb_schedules_paused',
    help: 'Schedules that are paused',
    read: ({ schedules }) => schedules.paused,
  },
  {
    name: 'reducerdb_snapshot_offset',
    help: 'Commit of the newest snapshot, -1 without one',
    read: ({ snapshots }) => snapshots.offset,
  },
  {
    name: 'reducerdb_snapshot_age_seconds',
    help: 'Time since the newest snapshot was begun; 0 without one',
    read: ({ snapshots }) =>
      snapshots.offset < 0 ? 0 : Math.max(0, Date.now() / 1_000 - snapshots.begunMicros / 1e6),
  },
  {
    name: 'reducerdb_snapshot_bytes',
    help: 'Bytes of the last snapshot taken since the database was opened',
    read: ({ snapshots }) => snapshots.bytes,
  },
  {
    name: 'reducerdb_snapshot_seconds',
    help: 'How long that took',
    read: ({ snapshots }) => snapshots.millis / 1_000,
  },
  {
    name: 'reducerdb_snapshot_thread_seconds',
    help: 'How long that took of the time of the database',
    read: ({ snapshots }) => snapshots.costMillis / 1_000,
  },
  {
    name: 'reducerdb_snapshot_held_bytes',
    help: 'Memory that is kept for the snapshot under way',
    read: ({ snapshots }) => snapshots.heldBytes,
  },
  {
    name: 'reducerdb_snapshot_failures_total',
    help: 'Snapshots that could not be written since the database was opened',
    read: ({ snapshots }) => snapshots.failures,
  },
  {
    name: 'reducerdb_snapshot_given_up_total',
    help: 'Snapshots ended by changes of rows or an update since the database was opened',
    read: ({ snapshots }) => snapshots.givenUp,
  },
  {
    name: 'reducerdb_row_bytes',
    help: 'Memory that rows take',
    read: ({ rowBytes }) => rowBytes,
  },
  {
    name: 'reducerdb_stored_row_bytes',
    help: 'Bytes of rows that count against a quota',
    read: ({ used }) => used.rowBytes,
  },
  {
    name: 'reducerdb_log_bytes',
    help: 'Bytes of the commit log on the disk, which count against a quota',
    read: ({ used }) => used.logBytes,
  },
  {
    name: 'reducerdb_program_bytes',
    help: 'Bytes of the program',
    read: ({ used }) => used.programBytes,
  },
  {
    name: 'reducerdb_index_bytes',
    help: 'Memory that indexes take',
    read: ({ indexBytes }) => indexBytes,
  },
];

const labelled: readonly Figures<number>[] = [
  {
    name: 'reducerdb_refusals_total',
    help: 'Requests that got an error, by code',
    labels: ['code', 'outcome'],
    read: ({ vitals }) =>
      [...vitals.refusals].map(([code, count]) => [{ code, outcome: outcomeOf(code) }, count]),
  },
  {
    name: 'reducerdb_resumes_total',
    help: 'Clients that came back: with what they missed, with all rows, or behind lost commits',
    labels: ['kind'],
    read: ({ vitals }) => Object.entries(vitals.resumes).map(([kind, count]) => [{ kind }, count]),
  },
  {
    name: 'reducerdb_faults_total',
    help: 'Times the database ended unexpectedly, by reason',
    labels: ['reason'],
    read: ({ vitals }) => [...vitals.faults].map(([reason, count]) => [{ reason }, count]),
  },
  {
    name: 'reducerdb_schedule_runs_total',
    help: 'Scheduled runs since the database was opened; skipped are due times passed over',
    labels: ['outcome'],
    read: ({ schedules: { committed, failed, skipped } }) =>
      Object.entries({ committed, failed, skipped }).map(([outcome, count]) => [
        { outcome },
        count,
      ]),
  },
];

const times: readonly Figures<TimeFigures>[] = [
  {
    name: 'reducerdb_answer_duration_seconds',
    help: 'Time from accepting a request over any door until its answer may leave',
    labels: ['operation', 'outcome'],
    read: ({ vitals }) =>
      vitals.answers.map(({ operation, outcome, times }) => [{ operation, outcome }, times]),
  },
  {
    name: 'reducerdb_queue_wait_seconds',
    help: 'Time that the first request of a turn waited for the turn',
    labels: [],
    read: ({ times }) => [[{}, times.queue]],
  },
  {
    name: 'reducerdb_turn_duration_seconds',
    help: 'Time of one turn, from its start until its records are written',
    labels: [],
    read: ({ times }) => [[{}, times.turn]],
  },
  {
    name: 'reducerdb_sync_duration_seconds',
    help: 'Time to make written records durable',
    labels: [],
    read: ({ times }) => [[{}, times.sync]],
  },
  {
    name: 'reducerdb_schedule_lateness_seconds',
    help: 'Time from the moment a scheduled run was due until it began',
    labels: [],
    read: ({ schedules }) => [[{}, schedules.lateness]],
  },
];

/** Returns the routes for the metrics and their discovery; none if metrics are off. */
export function metricsRoutes(context: HttpContext): Route[] {
  if (context.metricsFor === 'off') return [];
  const get = (run: (exchange: Exchange) => Reply | Promise<Reply>): Route['methods'] => {
    if (context.metricsFor === 'anyone') return { GET: { token: 'none', run } };
    const guarded = (exchange: Exchange) => {
      context.host.access.requireOperator(callerOf(exchange), 'read metrics');
      return run(exchange);
    };
    return { GET: { token: 'required', run: guarded } };
  };
  return [
    { path: '/v1/metrics', methods: get(() => metrics(context)) },
    { path: '/v1/prometheus/sd_config', methods: get(scrapeTargets) },
  ];
}

/** `GET /v1/prometheus/sd_config`: this service, by the address the request was sent to. */
function scrapeTargets(exchange: Exchange): Reply {
  const targets = [exchange.header('host') ?? exchange.localAddress];
  return json(200, JSON.stringify([{ targets, labels: {} }]));
}

/** `GET /v1/metrics`: the Prometheus text format. */
async function metrics({
  host,
  cluster,
  figures: ofService,
  registry: kept,
}: HttpContext): Promise<Reply> {
  const registry = new Registry();
  const { databases, sleep } = host.statistics();
  addOpenings(registry, databases);
  addSleep(registry, sleep);
  // Databases that have not been opened have no figures yet, and zeros would look like a loss.
  // There may be thousands that sleep.
  const awake = databases.filter(({ state }) => state !== 'closed' && state !== 'asleep');
  const parts = cluster?.figures().databases ?? [];
  const followed = new Set(parts.flatMap((one) => (one.role === 'follower' ? one.database : [])));
  addFigures(
    registry,
    awake.map((one) => lookAt(one, followed.has(identityToHex(one.identity)))),
  );
  addLimits(registry, host);
  addOutbound(registry, await host.outbound.figures());
  addSites(registry, host);
  addHistories(registry, host, awake);
  addBackups(registry, host);
  addDeploys(registry, host);
  addCluster(registry, cluster);
  new Gauge({
    name: 'reducerdb_resident_memory_bytes',
    help: 'Resident memory of the process',
    registers: [registry],
  }).set(process.memoryUsage.rss());
  for (const { name, help, value } of ofService()) {
    instrument(registry, { name, help }, [])({}, value);
  }
  const all = Registry.merge([registry, kept]);
  return text(200, await all.metrics(), { 'content-type': registry.contentType });
}

function lookAt(one: HostedStatistics, isFollowed: boolean): LookedAt {
  return { ...one, health: one.health(), vitals: one.vitals(), isFollowed };
}

/** Adds the figures. Labels are identities and fixed words, never text of a module or client. */
function addFigures(registry: Registry, databases: readonly LookedAt[]): void {
  const ofAll = databases.map((statistics) => {
    return { database: identityToHex(statistics.identity), statistics };
  });
  for (const { read, ...what } of figures) {
    const set = instrument(registry, what, ['database']);
    for (const { database, statistics } of ofAll) {
      const value = read(statistics);
      // The process of a database can report anything; that must not break the page.
      if (Number.isFinite(value)) set({ database }, value);
    }
  }
  for (const { read, labels: names, ...what } of labelled) {
    const set = instrument(registry, what, ['database', ...names]);
    for (const { database, statistics } of ofAll) {
      for (const [labels, value] of read(statistics)) set({ database, ...labels }, value);
    }
  }
  for (const { read, ...what } of times) {
    const series = ofAll.flatMap(({ database, statistics }) =>
      read(statistics).map(([labels, spans]) => ({
        labels: { database, ...labels },
        times: spans,
      })),
    );
    histogram(registry, what, series);
  }
}

/** Adds quotas and what owners use of them; unlimited quotas are left out. */
function addLimits(registry: Registry, { quotas, databases }: HttpContext['host']): void {
  const gauge = (name: string, help: string, label: string) =>
    new Gauge({ name, help, labelNames: [label, 'quota'], registers: [registry] });
  const ofDatabase = gauge('reducerdb_quota_limit', 'Quota of a database', 'database');
  const ofOwner = gauge('reducerdb_owner_quota_limit', 'Quota of an identity', 'owner');
  const usedByOwner = gauge(
    'reducerdb_owner_quota_used',
    'Use of that quota by the identity',
    'owner',
  );
  for (const record of databases) {
    const database = identityToHex(record.identity);
    for (const { name, limit } of quotas.ofDatabase(record)) {
      if (limit !== undefined) ofDatabase.set({ database, quota: name }, limit);
    }
  }
  for (const identity of new Set(databases.map((record) => record.owner))) {
    const owner = identityToHex(identity);
    for (const { name, used, limit } of quotas.ofIdentity(identity)) {
      if (limit === undefined) continue;
      ofOwner.set({ owner, quota: name }, limit);
      usedByOwner.set({ owner, quota: name }, used);
    }
  }
}
