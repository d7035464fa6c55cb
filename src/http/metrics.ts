import { Counter, Gauge, Registry } from 'prom-client';
import type { HostedStatistics } from '../host/host-types.ts';
import { identityToHex } from '../values/identity.ts';
import { callerOf, type HttpContext } from './context.ts';
import { type Exchange, json, type Reply, text } from './exchange.ts';
import { addOpenings } from './opening-metrics.ts';
import type { Route } from './route.ts';

interface Figure {
  readonly name: string;
  readonly help: string;
  readonly read: (statistics: HostedStatistics) => number;
}

/** What is told of each database, labelled by its identity. */
const figures: readonly Figure[] = [
  {
    name: 'reducerdb_database_up',
    help: '1 while the database serves',
    read: ({ state }) => (state === 'serving' ? 1 : 0),
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
    help: 'Clients that stay connected',
    read: ({ connections }) => connections,
  },
  {
    name: 'reducerdb_query_sets',
    help: 'Query sets that they watch',
    read: ({ querySets }) => querySets,
  },
  {
    name: 'reducerdb_live_queries',
    help: 'Different queries in them',
    read: ({ live }) => live.queries,
  },
  {
    name: 'reducerdb_live_query_bytes',
    help: 'Memory that live queries take, about',
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
    help: 'Live queries read again as a whole, for want of an incremental form',
    read: ({ live }) => live.reruns,
  },
  {
    name: 'reducerdb_paused_reads',
    help: 'First rows and long statements that are read in slices at this moment',
    read: ({ live }) => live.pausedReads,
  },
  {
    name: 'reducerdb_held_bytes',
    help: 'Memory kept for them, of rows that were deleted meanwhile',
    read: ({ live }) => live.heldBytes,
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
    help: 'Bytes of the commit log',
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

/** The metrics, and where they are, for who scrapes them; nothing when nobody may. */
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

/** `GET /v1/prometheus/sd_config`: this service, by the address that it was asked at. */
function scrapeTargets(exchange: Exchange): Reply {
  const targets = [exchange.header('host') ?? exchange.localAddress];
  return json(200, JSON.stringify([{ targets, labels: {} }]));
}

/** `GET /v1/metrics`: the Prometheus text format. */
async function metrics({ host, figures: ofService, registry: kept }: HttpContext): Promise<Reply> {
  const registry = new Registry();
  const instruments = figures.map((figure) => instrument(registry, figure, ['database']));
  const { databases } = host.statistics();
  addOpenings(registry, databases);
  for (const statistics of databases) {
    // Nothing is known of one that was not opened yet, and zeros would look like a loss.
    if (statistics.state === 'closed') continue;
    const database = identityToHex(statistics.identity);
    figures.forEach(({ read }, at) => {
      instruments[at]?.({ database }, read(statistics));
    });
  }
  addLimits(registry, host);
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

/** Sets a figure. By convention what ends in `_total` only grows, and is a counter. */
function instrument(
  registry: Registry,
  { name, help }: Pick<Figure, 'name' | 'help'>,
  labelNames: readonly 'database'[],
): (labels: Partial<Record<'database', string>>, value: number) => void {
  const given = { name, help, labelNames, registers: [registry] };
  if (name.endsWith('_total')) {
    const counter = new Counter(given);
    return (labels, value) => counter.inc(labels, value);
  }
  const gauge = new Gauge(given);
  return (labels, value) => gauge.set(labels, value);
}

/** Quotas, and what owners have of theirs; what is not limited is left out. */
function addLimits(registry: Registry, { quotas, databases }: HttpContext['host']): void {
  const gauge = (name: string, help: string, label: string) =>
    new Gauge({ name, help, labelNames: [label, 'quota'], registers: [registry] });
  const ofDatabase = gauge('reducerdb_quota_limit', 'Quota of a database', 'database');
  const ofOwner = gauge('reducerdb_owner_quota_limit', 'Quota of an identity', 'owner');
  const usedByOwner = gauge('reducerdb_owner_quota_used', 'What it has of that', 'owner');
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
