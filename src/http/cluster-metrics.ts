import type { Registry } from 'prom-client';
import type { ClusterDesk, FigureOfDatabase } from './cluster-desk.ts';
import { histogram, instrument, type Labels } from './instruments.ts';

/** Adds what a host of a cluster sees of the engine, of the other hosts, and of its databases. */
export function addCluster(registry: Registry, cluster: ClusterDesk | undefined): void {
  if (cluster === undefined) return;
  const { hosts, databases, appends, failovers, failoverTimes, moves, deposed, ...rest } =
    cluster.figures();
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
  addEach('append_results_total', 'Entries appended, by result', 'result', appends.results);
  addEach('failovers_total', 'Databases taken over, by cause', 'cause', failovers);
  times('failover_seconds', 'Time from a lost leader until this host served', failoverTimes);
  addEach('moves_total', 'Databases given to, and taken from, others by plan', 'direction', moves);
  add('deposed_total', 'Databases that another host took over from this one')({}, deposed);
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
  const term = add('cluster_term', 'Term of the leader of a database', ['database']);
  const lag = add('acknowledged_lag_commits', 'Commits of a leader that are not acknowledged', [
    'database',
  ]);
  const age = add('follower_age_seconds', 'Time since a follower had all the engine showed', [
    'database',
  ]);
  for (const { database, lagCommits, ageSeconds, ...one } of databases) {
    role({ database, role: one.role }, 1);
    term({ database }, one.term);
    if (lagCommits !== undefined) lag({ database }, lagCommits);
    if (ageSeconds !== undefined && one.role === 'follower') age({ database }, ageSeconds);
  }
}
