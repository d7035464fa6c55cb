import { limits } from '../limits.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { PlacedDatabase, PlacementView } from './place-copies.ts';

/** What was decided before, as far as it bounds what comes. Times are those of one clock. */
export interface SpreadMemory {
  /** Since when each host has been busier than it shall be. */
  readonly busySince: ReadonlyMap<HostId, number>;
  /** When a database was last moved from, or to, a host. */
  readonly hostMovedAt: ReadonlyMap<HostId, number>;
  readonly databaseMovedAt: ReadonlyMap<DatabaseIdentity, number>;
}

export const noSpreadMemory: SpreadMemory = {
  ...{ busySince: new Map(), hostMovedAt: new Map(), databaseMovedAt: new Map() },
};

/** A database that another host shall lead. */
export interface LeaderMove {
  readonly database: DatabaseIdentity;
  readonly from: HostId;
  readonly to: HostId;
}

/**
 * Whether a leader moves, so that no host has much more to do than others: only from a host that
 * has been far above the mean for a minute, to one that could lead at once and that ends up with
 * less than the first one had.
 */
export function spreadLeaders(
  view: PlacementView,
  before: SpreadMemory,
  now: number,
): { readonly move: LeaderMove | undefined; readonly memory: SpreadMemory } {
  const loads = loadsOf(view);
  const busySince = busyHosts(loads, before, now);
  const forgotten = (at: number, millis: number): boolean => now - at >= millis;
  const memory: SpreadMemory = {
    busySince,
    hostMovedAt: recent(before.hostMovedAt, (at) => !forgotten(at, limits.hostMoveMillis)),
    databaseMovedAt: recent(
      before.databaseMovedAt,
      (at) => !forgotten(at, limits.databaseMoveMillis),
    ),
  };
  const [busiest] = [...busySince]
    .filter(([, since]) => now - since >= limits.hostBusyMillis)
    .map(([host]) => host)
    .sort((one, other) => (loads.get(other) ?? 0) - (loads.get(one) ?? 0));
  const move = busiest === undefined ? undefined : bestMove(busiest, view, loads, memory);
  if (move === undefined) return { move, memory };
  const { database, from, to } = move;
  const moved = {
    ...memory,
    hostMovedAt: new Map([...memory.hostMovedAt, [from, now], [to, now]]),
    databaseMovedAt: new Map([...memory.databaseMovedAt, [database, now]]),
  };
  return { move, memory: moved };
}

/** What the leaders of each host that takes databases have to do. */
function loadsOf({ hosts, databases }: PlacementView): Map<HostId, number> {
  const up = hosts.filter(({ state }) => state === 'up');
  const loads = new Map(up.map(({ host }) => [host, 0]));
  for (const { leader, load } of databases) {
    const known = leader === undefined ? undefined : loads.get(leader);
    if (leader !== undefined && known !== undefined) loads.set(leader, known + load);
  }
  return loads;
}

function busyHosts(
  loads: ReadonlyMap<HostId, number>,
  { busySince }: SpreadMemory,
  now: number,
): Map<HostId, number> {
  const all = [...loads.values()];
  const mean = all.reduce((sum, load) => sum + load, 0) / Math.max(1, all.length);
  const bound = Math.max(limits.hostLoadMin, mean * limits.hostLoadRatioMax);
  const busy = [...loads].filter(([, load]) => load > bound);
  return new Map(busy.map(([host]) => [host, busySince.get(host) ?? now]));
}

function bestMove(
  from: HostId,
  { databases }: PlacementView,
  loads: ReadonlyMap<HostId, number>,
  memory: SpreadMemory,
): LeaderMove | undefined {
  if (memory.hostMovedAt.has(from)) return undefined;
  const before = loads.get(from) ?? 0;
  let best: LeaderMove | undefined;
  let bestPeak = before;
  for (const database of databases) {
    if (database.leader !== from || memory.databaseMovedAt.has(database.database)) continue;
    for (const to of targetsOf(database, from)) {
      const load = loads.get(to);
      if (load === undefined || memory.hostMovedAt.has(to)) continue;
      const peak = Math.max(before - database.load, load + database.load);
      if (peak >= bestPeak) continue;
      bestPeak = peak;
      best = { database: database.database, from, to };
    }
  }
  return best;
}

/** Hosts that shall have it, and could lead it at once. */
function targetsOf({ held, wishes }: PlacedDatabase, from: HostId): HostId[] {
  return wishes.filter((host) => host !== from && held.get(host) === true);
}

function recent<Key>(
  times: ReadonlyMap<Key, number>,
  isRecent: (at: number) => boolean,
): Map<Key, number> {
  return new Map([...times].filter(([, at]) => isRecent(at)));
}
