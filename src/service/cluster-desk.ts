import { checkEngine } from '../cluster/check-engine.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import type { JoinedHost } from '../cluster/join-cluster.ts';
import { type Copy, NotPossibleError, type Operations } from '../cluster/operations.ts';
import type { Host } from '../host/host.ts';
import { registryIdentity } from '../host/registry/registry.ts';
import type { DatabaseRole } from '../host/replication/database-role.ts';
import {
  type ClusterDesk,
  type ClusterFigures,
  ClusterRefusal,
  type ClusterStatus,
  type FigureOfDatabase,
  type ShownDatabase,
  type ShownHost,
} from '../http/cluster-desk.ts';
import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import type { EngineCapabilities } from '../shared-log/shared-log.ts';
import { bigintToHex } from '../values/hex.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { ClusterChoice } from './cluster-choice.ts';

export interface ClusterDeskOptions {
  readonly part: ClusterPart;
  readonly joined: JoinedHost;
  readonly choice: ClusterChoice;
  readonly host: Host;
}

/** What the doors show of the cluster that the service is a host of, and do there. */
export function makeClusterDesk(options: ClusterDeskOptions): ClusterDesk {
  const { part, joined } = options;
  return {
    notReady: () => notReady(options),
    status: () => statusOf(options),
    hosts: () => hostsOf(options),
    databases: () => databasesOf(options),
    move: (database, to) => ordered(part, (operations) => operations.move(database, to)),
    drain: (name, on) => ordered(part, (operations) => operations.drain(name, on)),
    forget: (name) => ordered(part, (operations) => operations.forget(name)),
    check: () => checkEngine(joined.engine, () => performance.now()),
    figures: () => figuresOf(options),
  };
}

function notReady({ part, host }: ClusterDeskOptions): ReturnType<ClusterDesk['notReady']> {
  if (part.membership.state !== 'up') return 'draining';
  if (part.membership.beatAgeMillis > limits.readyEngineMillisMax) return 'engine';
  const age = part.ageMillisOf(registryIdentity);
  const isOld =
    part.roles.has(registryIdentity) && (age ?? Infinity) > limits.readyRegistryMillisMax;
  if (isOld) return 'registry';
  return host.statistics().databases.some(({ isReadOnly }) => isReadOnly) ? 'disk' : undefined;
}

async function statusOf({ part, joined, choice }: ClusterDeskOptions): Promise<ClusterStatus> {
  const { membership } = part;
  const { copies } = await capabilitiesOf(joined);
  return {
    cluster: bigintToHex(joined.cluster, 32),
    host: choice.hostName,
    state: membership.state,
    engine: {
      reached: membership.isEngineReached,
      history: joined.history(),
      copies,
      beat_age_seconds: membership.beatAgeMillis / 1_000,
      clock_skew_seconds: membership.skewMillis / 1_000,
    },
    local_sync: choice.localSync,
    lease_seconds: choice.leaseMillis / 1_000,
    keeps_whole_log: true,
  };
}

/** How many copies the engine keeps can change while the service runs. */
async function capabilitiesOf({ engine, capabilities }: JoinedHost): Promise<EngineCapabilities> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<EngineCapabilities>((resolve) => {
    timer = setTimeout(resolve, limits.linkAnswerMillisMax, { ...capabilities, copies: 'unknown' });
  });
  const asked = engine
    .capabilities()
    .catch(() => ({ ...capabilities, copies: 'unknown' as const }));
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

function hostsOf({ part, joined }: ClusterDeskOptions): readonly ShownHost[] {
  const living = new Set(part.membership.living.map(({ host }) => host));
  const led = new Map<string, number>();
  for (const [database, role] of part.roles) {
    // It is on every list, and no database that somebody moves.
    if (database === registryIdentity) continue;
    const leader = leaderIn(role) ?? (role.kind === 'leader' ? joined.host : undefined);
    if (leader !== undefined) led.set(String(leader), (led.get(String(leader)) ?? 0) + 1);
  }
  const hosts = [...part.membership.hosts].sort((one, other) => (one.name < other.name ? -1 : 1));
  return hosts.map((one) => ({
    ...{ id: bigintToHex(one.host, 32), name: one.name, address: one.address },
    client_address: one.clientAddress,
    state: stateOf(one, living.has(one.host)),
    seen_seconds_ago: one.ageMillis / 1_000,
    ...{ version: one.version, zone: one.zone },
    leads: living.has(one.host) ? (led.get(String(one.host)) ?? 0) : 0,
    is_asked: one.host === joined.host,
  }));
}

function leaderIn(role: DatabaseRole): SeenHost['host'] | undefined {
  return role.kind === 'follower' ? role.leader?.host : undefined;
}

function stateOf({ state }: SeenHost, isLiving: boolean): ShownHost['state'] {
  return state === 'gone' || isLiving ? state : 'silent';
}

async function databasesOf(options: ClusterDeskOptions): Promise<readonly ShownDatabase[]> {
  const { part, host } = options;
  const byHost = (await part.operations?.copies()) ?? new Map();
  const nameOf = new Map(part.membership.hosts.map((one) => [one.host, one.name]));
  const copies = new Map<DatabaseIdentity, (Copy & { readonly host: string })[]>();
  for (const [id, ofHost] of byHost) {
    for (const copy of ofHost) {
      const known = copies.get(copy.database) ?? [];
      known.push({ ...copy, host: nameOf.get(id) ?? bigintToHex(id, 32) });
      copies.set(copy.database, known);
    }
  }
  return [...copies].map(([database, ofDatabase]) => {
    const terms = ofDatabase.map(({ term }) => term);
    const leaders = ofDatabase.filter(({ kind }) => kind === 'leader');
    const [leader] = leaders.sort((one, other) => other.term - one.term);
    return {
      database: identityToHex(database),
      names: database === registryIdentity ? ['(registry)'] : host.namesOf(database),
      term: Math.max(...terms),
      leader: leader?.host ?? null,
      copies: ofDatabase.map((copy) => ({
        ...{ host: copy.host, role: copy.kind },
        ...{ offset: copy.offset, acknowledged: copy.acknowledged },
        age_seconds: copy.ageMillis === undefined ? null : copy.ageMillis / 1_000,
      })),
    };
  });
}

function figuresOf({ part, joined, ...options }: ClusterDeskOptions): ClusterFigures {
  const { appends, roles, forwarded, forwardTimes } = part.figures;
  const hosts = { up: 0, draining: 0, gone: 0, silent: 0 };
  for (const { state } of hostsOf({ part, joined, ...options })) hosts[state] += 1;
  return {
    hosts,
    databases: part.ownCopies.map(figureOf),
    beatAgeSeconds: part.membership.beatAgeMillis / 1_000,
    clockSkewSeconds: part.membership.skewMillis / 1_000,
    appends,
    failovers: {
      goodbye: roles.takeovers.goodbye,
      ended: roles.takeovers.ended,
      silent: roles.takeovers.silent,
    },
    failoverTimes: roles.takeoverTimes,
    moves: { given: roles.handedOver, taken: roles.takeovers['handed-over'] },
    deposed: roles.deposed,
    ...{ forwarded, forwardTimes },
  };
}

function figureOf({
  database,
  kind,
  term,
  offset,
  acknowledged,
  ageMillis,
}: Copy): FigureOfDatabase {
  return {
    ...{ database: identityToHex(database), role: kind, term },
    lagCommits: kind === 'leader' ? Math.max(0, offset - acknowledged) : undefined,
    ageSeconds: ageMillis === undefined ? undefined : ageMillis / 1_000,
  };
}

async function ordered(
  { operations }: ClusterPart,
  work: (operations: Operations) => Promise<void>,
): Promise<void> {
  if (operations === undefined) throw new ClusterRefusal(503, 'This host still starts.');
  try {
    await work(operations);
  } catch (error) {
    if (!(error instanceof NotPossibleError)) throw error;
    throw new ClusterRefusal(error.reason === 'noSuchHost' ? 404 : 409, `${error.message}.`);
  }
}
