import type { Registry } from 'prom-client';
import type { ClusterDesk, FigureOfDatabase } from './cluster-desk.ts';
import { histogram, instrument, type Labels } from './instruments.ts';

/** Adds what a host of a cluster sees of the engine, of the other hosts, and of its databases. */
export function addCluster(registry: Registry, cluster: ClusterDesk | undefined): void {
  if (cluster === undefined) return;
  const {
    hosts,
    databases,
    appends,
    failovers,
    failoverTimes,
    moves,
    streams,
    copies,
    lines,
    ...rest
  } = cluster.figures();
  const add = (name: string, help: string, labels: readonly string[] = []) =>
    instrument(registry, { name: `reducerdb_${name}`, help }, labels);
  const addEach = (name: string, help: string, label: string, counts: object): void => {
    const set = add(name, help, [label]);
    for (const [key, count] of Object.entries(counts)) set({ [label]: key }, count);
  };
  const times = (name: string, help: string, spans: typeof failoverTimes): void => {
    histogram(registry, { name: `reducerdb_${name}`, help }, [{ labels: {}, times: spans }]);
  };
  addEach('cluster_hosts', 'Hosts of the cluster, by state', 'state', hosts);
  addDatabases(databases, add);
  addCopies(copies, add);
  add('beat_age_seconds', 'Time since the engine has taken a beat of this host')(
    {},
    rest.beatAgeSeconds,
  );
  add('clock_skew_seconds', "How far this host's clock is ahead of the engine's")(
    {},
    rest.clockSkewSeconds,
  );
  times('append_seconds', 'Time of an append to a shared log', appends.times);
  add('append_bytes_total', 'Bytes of entries that the engine has stored')({}, appends.bytes);
  add('append_entries_total', 'Entries that the engine has stored')(
    {},
    appends.results.stored ?? 0,
  );
  add('engine_restored_entries_total', 'Entries that the engine had lost, and got again')(
    {},
    appends.restored,
  );
  addEach('append_results_total', 'Entries appended, by result', 'result', appends.results);
  addEach('failovers_total', 'Databases taken over, by cause', 'cause', failovers);
  times('failover_seconds', 'Time from a lost leader until this host served', failoverTimes);
  addEach('moves_total', 'Databases given away by plan, by cause, and taken', 'cause', moves);
  add('deposed_total', 'Databases that another host took over from this one')({}, rest.deposed);
  add('deposed_commits_total', 'Commits of this host that were set aside, never acknowledged')(
    {},
    rest.deposedCommits,
  );
  add('log_refetched_bytes_total', 'Bytes of local logs that could not be read, fetched again')(
    {},
    rest.refetchedBytes,
  );
  addEach('stream_entries_total', 'Entries between hosts, by what became of them', 'result', {
    ...{ sent: streams.sent, left_out: streams.left, received: streams.received },
  });
  addEach('cluster_attached_clients', 'Clients whose leader is another host, by whose', 'of', {
    ...{ this_host: lines.away, other_hosts: lines.here },
  });
  const forwarded = add('forwarded_requests_total', 'Requests taken to leaders, by outcome', [
    'door',
    'result',
  ]);
  for (const { door, result, count } of rest.forwarded) forwarded({ door, result }, count);
  times(
    'forward_seconds',
    "Time from a request until its leader's answer began",
    rest.forwardTimes,
  );
}

type Add = (
  name: string,
  help: string,
  labels?: readonly string[],
) => (labels: Labels, value: number) => void;

function addDatabases(databases: readonly FigureOfDatabase[], add: Add): void {
  const role = add('cluster_role', '1 for the part that this host has in a database', [
    'database',
    'role',
  ]);
  const term = add('cluster_epoch', 'Term of the leader of a database', ['database']);
  const lag = add('acknowledged_lag_commits', 'Commits of a leader that are not acknowledged', [
    'database',
  ]);
  const waits = add('acknowledged_lag_seconds', 'How long the oldest of them has waited', [
    'database',
  ]);
  const unsettled = add(
    'follower_lag_commits',
    'Commits that a follower has read, and does not know to be acknowledged',
    ['database'],
  );
  const age = add('follower_age_seconds', 'Time since a follower had all the engine showed', [
    'database',
  ]);
  for (const { database, lagCommits, ageSeconds, ...one } of databases) {
    role({ database, role: one.role }, 1);
    term({ database }, one.term);
    if (lagCommits !== undefined) lag({ database }, lagCommits);
    if (one.lagSeconds !== undefined) waits({ database }, one.lagSeconds);
    if (one.unsettledCommits !== undefined) unsettled({ database }, one.unsettledCommits);
    if (ageSeconds !== undefined && one.role === 'follower') age({ database }, ageSeconds);
  }
}

/** Only the host that leads the registry knows of them. */
function addCopies(copies: ReturnType<ClusterDesk['figures']>['copies'], add: Add): void {
  const ready = add('cluster_copies', 'Copies of a database that lead, or could at once', [
    'database',
  ]);
  const wanted = add('cluster_copies_wanted', 'Copies that a database shall have', ['database']);
  for (const one of copies) {
    ready({ database: one.database }, one.ready);
    wanted({ database: one.database }, one.wanted);
  }
}
