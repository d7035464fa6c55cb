import { checkEngine } from '../cluster/check-engine.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import { type ExportedDatabase, encodeEntries, shownExport } from '../cluster/exported-database.ts';
import type { JoinedHost } from '../cluster/join-cluster.ts';
import { type Copy, NotPossibleError, type Operations } from '../cluster/operations.ts';
import { sealedKeys } from '../cluster/shared-keys.ts';
import type { Host } from '../host/host.ts';
import { registryIdentity } from '../host/registry/registry.ts';
import { partOf, restFor } from '../host/registry/registry-content.ts';
import { databaseOf } from '../host/registry/registry-rows.ts';
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
import { lastSeq } from '../shared-log/find-start.ts';
import { type LogName, logName } from '../shared-log/log-name.ts';
import { type EngineCapabilities, EngineError, type SharedLog } from '../shared-log/shared-log.ts';
import { bigintToHex } from '../values/hex.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { ClusterChoice } from './cluster-choice.ts';
import { keyDesk } from './cluster-keys.ts';
import { identityOf, LogVerifier } from './cluster-verify.ts';
import { engineDefaults } from './engine-defaults.ts';

export interface ClusterDeskOptions {
  readonly part: ClusterPart;
  readonly joined: JoinedHost;
  readonly choice: ClusterChoice;
  readonly host: Host;
}

/** What the doors show of the cluster that the service is a host of, and do there. */
export function makeClusterDesk(options: ClusterDeskOptions): ClusterDesk {
  const { part, joined } = options;
  const verifying = new LogVerifier(options);
  return {
    notReady: () => notReady(options),
    status: () => statusOf(options),
    hosts: () => hostsOf(options),
    databases: () => databasesOf(options),
    move: (database, to) => ordered(part, (operations) => operations.move(database, to)),
    setCopies: (identity, count) => options.host.replication.setCopies({ identity }, count),
    drain: async (name, on) => {
      const left = await ordered(part, (operations) => operations.drain(name, on));
      return left.map(({ database, reason }) => {
        return { database: identityToHex(database), names: namesOf(options, database), reason };
      });
    },
    forget: (name) => ordered(part, (operations) => operations.forget(name)),
    ...keyDesk(part, (fingerprint) => options.host.env.countSealedBy(fingerprint)),
    exported: (database) => reached(async () => shownExport(await exportedFrom(options, database))),
    entries: (database, generation, from) =>
      reached(async () => {
        const log = logName(joined.cluster, database, generation);
        return encodeEntries(await joined.engine.read(log, from, limits.sharedReadBytesMax));
      }),
    snapshot: (database, generation, position) =>
      reached(async () => {
        const snapshots = part.snapshotsOf(logName(joined.cluster, database, generation));
        const [found] = ((await snapshots?.all()) ?? []).filter((one) => one.position >= position);
        if (snapshots !== undefined && found !== undefined) return snapshots.read(found);
        throw new ClusterRefusal(404, 'There is no snapshot of that place in the log.');
      }),
    repair: (database, from) => ordered(part, (operations) => operations.repair(database, from)),
    databaseOf: (target) => identityOf(options.host, target),
    verify: (database, signal) =>
      reached(() => verifying.run({ database, signal, databases: () => databasesOf(options) })),
    check: () => checkEngine(joined.engine, () => performance.now()),
    parts: () => partsOf(options),
    figures: () => figuresOf(options),
  };
}

async function exportedFrom(
  { joined, host }: ClusterDeskOptions,
  database: DatabaseIdentity,
): Promise<ExportedDatabase> {
  const { engine, cluster } = joined;
  const content = await host.replication.registryContent();
  const record = (content.get('database') ?? []).map(databaseOf).find((one) => {
    return one.identity === database;
  });
  if (record === undefined) throw new ClusterRefusal(404, 'There is no such database.');
  const { generation } = record;
  return {
    ...{ cluster, database, generation },
    last: await lastAcknowledged(engine, logName(cluster, database, generation)),
    parts: [restFor(content, database), partOf(content, database)],
    boxes: await sealedKeys(engine, joined.keys?.revision.revision ?? 0),
  };
}

/** An entry that is the last in acknowledged history, or was when this was asked. */
async function lastAcknowledged(engine: SharedLog, log: LogName): Promise<number> {
  const last = await lastSeq(engine, log);
  const [found] = await engine.confirm([{ log, seq: last }]);
  if (found !== 'unknown') return last;
  throw new ClusterRefusal(503, 'The engine does not confirm the log now; try again in a moment.');
}

/** The engine's words are for operators. */
async function reached<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new ClusterRefusal(503, `${error.message}; try again in a moment.`);
  }
}

function notReady({ part, joined, host }: ClusterDeskOptions): ReturnType<ClusterDesk['notReady']> {
  if (part.membership.state !== 'up') return 'draining';
  if (joined.keys?.isShut === true) return 'secret';
  const isBeating = part.membership.beatAgeMillis <= limits.readyEngineMillisMax;
  if (!isBeating || part.engine.isAway) return 'engine';
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
      reached: membership.isEngineReached && !part.engine.isAway,
      history: joined.history(),
      copies,
      beat_age_seconds: membership.beatAgeMillis / 1_000,
      clock_skew_seconds: membership.skewMillis / 1_000,
      takes_commits: !part.engine.isAway,
      acknowledged_seconds_ago: part.engine.ageMillis / 1_000,
      trouble: part.engine.trouble ?? null,
    },
    local_sync: choice.localSync,
    lease_seconds: choice.leaseMillis / 1_000,
    reads: choice.reads,
    fail_over_seconds_max: failOverSecondsMax(choice),
    keeps_whole_log: joined.snapshots === undefined,
  };
}

/** A longer lease is so much longer until anybody takes over. */
function failOverSecondsMax({ engine, leaseMillis }: ClusterChoice): number {
  const defaults = engineDefaults(engine.kind);
  return defaults.failOverSecondsMax + (leaseMillis - defaults.leaseMillis) / 1_000;
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

function hostsOf({ part, joined, host }: ClusterDeskOptions): readonly ShownHost[] {
  const living = new Set(part.membership.living.map(({ host }) => host));
  const led = new Map<string, number>();
  for (const [database, role] of part.roles) {
    // It is on every list, and no database that somebody moves.
    if (database === registryIdentity) continue;
    const leader = leaderIn(role) ?? (role.kind === 'leader' ? joined.host : undefined);
    if (leader !== undefined) led.set(String(leader), (led.get(String(leader)) ?? 0) + 1);
  }
  // Of those without a copy here it is known who led them when the placer looked.
  for (const { database, hasCopy } of host.replication.placed()) {
    const leader = hasCopy ? undefined : part.hintOf(database)?.leader;
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

type ShownPart = ReturnType<ClusterDesk['parts']>[number];

/** Of more databases than that, operators ask the command. */
function partsOf(options: ClusterDeskOptions): readonly ShownPart[] {
  const { part, host, choice } = options;
  const nameOf = new Map(part.membership.hosts.map((one) => [one.host, one.name]));
  const shownName = (id: SeenHost['host']) => nameOf.get(id) ?? bigintToHex(id, 32);
  const hosts = hostsOf(options).map(
    (one): ShownPart => ({
      ...{ kind: 'host', name: one.name, id: one.id, state: one.state, wishes: [] },
      ...{ address: one.address, clientAddress: one.client_address, zone: one.zone },
      ...{ version: one.version, seenSeconds: one.seen_seconds_ago, leads: one.leads },
    }),
  );
  const databases: ShownPart[] = [];
  for (const { database, copies } of host.replication.placed()) {
    if (databases.length === limits.clusterRowsMax) break;
    const { leader, term = 0, wishes = [] } = part.hintOf(database) ?? {};
    const id = identityToHex(database);
    databases.push({
      ...{ kind: 'database', name: namesOf(options, database)[0] ?? id, id },
      state: leader === undefined ? 'not placed' : 'placed',
      ...(leader !== undefined && { leader: shownName(leader) }),
      ...{ term, copies: copies ?? choice.copies, wishes: wishes.map(shownName) },
    });
  }
  return [...hosts, ...databases];
}

function namesOf({ host }: ClusterDeskOptions, database: DatabaseIdentity): readonly string[] {
  return database === registryIdentity ? ['(registry)'] : host.namesOf(database);
}

function leaderIn(role: DatabaseRole): SeenHost['host'] | undefined {
  return role.kind === 'follower' ? role.leader?.host : undefined;
}

function stateOf({ state }: SeenHost, isLiving: boolean): ShownHost['state'] {
  return state === 'gone' || isLiving ? state : 'silent';
}

async function databasesOf(options: ClusterDeskOptions): Promise<readonly ShownDatabase[]> {
  const { part, host, choice } = options;
  const byHost = (await part.operations?.copies()) ?? new Map();
  const nameOf = new Map(part.membership.hosts.map((one) => [one.host, one.name]));
  const wanted = new Map(
    [...host.replication.placed()].map((one) => [one.database, one.copies ?? choice.copies]),
  );
  const copies = new Map<DatabaseIdentity, (Copy & { readonly host: string })[]>();
  // One that nobody has is shown, too.
  for (const database of wanted.keys()) copies.set(database, []);
  for (const [id, ofHost] of byHost) {
    for (const copy of ofHost) {
      const known = copies.get(copy.database) ?? [];
      known.push({ ...copy, host: nameOf.get(id) ?? bigintToHex(id, 32) });
      copies.set(copy.database, known);
    }
  }
  return [...copies].map(([database, ofDatabase]) => {
    const hint = part.hintOf(database);
    const terms = [0, ...ofDatabase.map(({ term }) => term)];
    const leaders = ofDatabase.filter(({ kind }) => kind === 'leader');
    const [leader] = leaders.sort((one, other) => other.term - one.term);
    return {
      database: identityToHex(database),
      names: namesOf(options, database),
      term: Math.max(...terms),
      leader: leader?.host ?? null,
      // Every host has the registry.
      copies_wanted: wanted.get(database) ?? part.membership.living.length,
      wished: (hint?.wishes ?? []).map((one) => nameOf.get(one) ?? bigintToHex(one, 32)),
      copies: ofDatabase.map((copy) => ({
        ...{ host: copy.host, role: copy.kind },
        ...{ offset: copy.offset, acknowledged: copy.acknowledged, known: copy.isKnown },
        ...{ warm: copy.isWarm, fault: copy.fault ?? null },
        age_seconds: copy.ageMillis === undefined ? null : copy.ageMillis / 1_000,
      })),
    };
  });
}

function figuresOf({ part, joined, ...options }: ClusterDeskOptions): ClusterFigures {
  const { appends, roles, forwarded, forwardTimes, moves, copies, streams, lines } = part.figures;
  const hosts = { up: 0, draining: 0, gone: 0, silent: 0 };
  for (const { state } of hostsOf({ part, joined, ...options })) hosts[state] += 1;
  return {
    hosts,
    databases: part.ownCopies.map((copy) => {
      return figureOf(copy, options.host.replication.waitingMillis(copy.database));
    }),
    copies: copies.map(({ database, ...rest }) => ({ ...rest, database: identityToHex(database) })),
    beatAgeSeconds: part.membership.beatAgeMillis / 1_000,
    clockSkewSeconds: part.membership.skewMillis / 1_000,
    appends,
    failovers: {
      goodbye: roles.takeovers.goodbye,
      ended: roles.takeovers.ended,
      silent: roles.takeovers.silent,
    },
    failoverTimes: roles.takeoverTimes,
    moves: { ...moves, taken: roles.takeovers['handed-over'] },
    ...{ deposed: roles.deposed, deposedCommits: roles.deposedCommits },
    ...{ refetchedBytes: roles.refetchedBytes, streams, lines },
    ...{ forwarded, forwardTimes },
  };
}

function figureOf(
  { database, kind, term, offset, acknowledged, ageMillis }: Copy,
  waitingMillis: number,
): FigureOfDatabase {
  const behind = Math.max(0, offset - acknowledged);
  return {
    ...{ database: identityToHex(database), role: kind, term },
    lagCommits: kind === 'leader' ? behind : undefined,
    lagSeconds: kind === 'leader' ? waitingMillis / 1_000 : undefined,
    unsettledCommits: kind === 'follower' ? behind : undefined,
    ageSeconds: ageMillis === undefined ? undefined : ageMillis / 1_000,
  };
}

async function ordered<Result>(
  { operations }: ClusterPart,
  work: (operations: Operations) => Promise<Result>,
): Promise<Result> {
  if (operations === undefined) throw new ClusterRefusal(503, 'This host still starts.');
  try {
    return await work(operations);
  } catch (error) {
    if (!(error instanceof NotPossibleError)) throw error;
    throw new ClusterRefusal(error.reason === 'noSuchHost' ? 404 : 409, `${error.message}.`);
  }
}
