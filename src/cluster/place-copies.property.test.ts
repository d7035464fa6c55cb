import fc from 'fast-check';
import { expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { type HostId, hostId } from '../shared-log/host-ids.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import {
  type PlacedDatabase,
  type PlacedHost,
  type PlacementView,
  placeCopies,
} from './place-copies.ts';

const gibibyte = 1024 ** 3;
const longMillis = 3_600_000;

const someHosts = fc
  .array(
    fc.record({
      state: fc.constantFrom<PlacedHost['state']>('up', 'up', 'up', 'draining', 'lost'),
      lostMillis: fc.constantFrom(0, limits.copyLostMillis - 1, limits.copyLostMillis),
      zone: fc.constantFrom('', 'x', 'y', 'z'),
      memoryBytes: fc.constantFrom(1, 4, 64).map((count) => count * gibibyte),
    }),
    { minLength: 1, maxLength: 7 },
  )
  .map((hosts) => hosts.map((host, at) => ({ ...host, host: hostId(BigInt(at + 1)) })));

const someView: fc.Arbitrary<PlacementView> = someHosts.chain((hosts) => {
  const some = fc.constantFrom(...hosts.map(({ host }) => host));
  const held = fc.array(fc.tuple(some, fc.boolean()), { maxLength: 4 });
  const database = fc.record({
    copies: fc.integer({ min: 1, max: 4 }),
    bytes: fc.constantFrom(0.01, 0.3, 1).map((count) => count * gibibyte),
    leader: fc.option(some, { nil: undefined }),
    held: held.map((pairs) => new Map(pairs)),
    wishes: fc.uniqueArray(some, { maxLength: 4 }),
    unready: fc.uniqueArray(some, { maxLength: 3 }),
  });
  return fc.array(database, { maxLength: 12 }).map((databases) => ({
    hosts,
    databases: databases.map(({ leader, held: has, unready, ...rest }, at) => {
      const broken = unready.filter((host) => host !== leader && has.get(host) !== true);
      return {
        ...{ ...rest, leader, load: 0, database: databaseIdentity(BigInt(at)) },
        held: leader === undefined ? has : new Map([...has, [leader, true]]),
        unreadyMillis: new Map(broken.map((host) => [host, longMillis])),
      };
    }),
  }));
});

/** The hosts do what was wished: copies come, load their programs unless they cannot, and go. */
function followed(view: PlacementView): PlacementView {
  const wished = placeCopies(view);
  const up = new Set(view.hosts.filter(({ state }) => state !== 'lost').map(({ host }) => host));
  const databases = view.databases.map((one): PlacedDatabase => {
    const wishes = wished.get(one.database) ?? [];
    const isReady = (host: HostId) => !one.unreadyMillis.has(host);
    const there = wishes.filter((host) => up.has(host));
    const held = new Map(there.map((host) => [host, isReady(host)]));
    return { ...one, wishes, held };
  });
  return { ...view, databases };
}

function settled(view: PlacementView): PlacementView {
  let now = view;
  // Each round adds what is missing, and one copy more or less of each database.
  for (let round = 0; round < 40; round++) now = followed(now);
  return now;
}

function countsIn(view: PlacementView, host: HostId): boolean {
  const found = view.hosts.find((one) => one.host === host);
  return (
    found !== undefined && (found.state !== 'lost' || found.lostMillis < limits.copyLostMillis)
  );
}

it('[replication 9.1, 9.2] the leader is first, nobody twice, and nobody who is gone', () => {
  fc.assert(
    fc.property(someView, (view) => {
      const wished = placeCopies(view);
      for (const { database, leader } of view.databases) {
        const hosts = wished.get(database) ?? [];
        expect(new Set(hosts).size).toBe(hosts.length);
        expect(hosts.every((host) => countsIn(view, host))).toBe(true);
        if (leader !== undefined && countsIn(view, leader)) expect(hosts[0]).toBe(leader);
      }
    }),
  );
});

it('[replication 9.1] no copy is taken away before enough others could lead', () => {
  fc.assert(
    fc.property(someView, (view) => {
      const wished = placeCopies(view);
      const isUp = (host: HostId) =>
        view.hosts.some((one) => one.host === host && one.state === 'up');
      for (const { database, copies, held, leader, wishes } of view.databases) {
        const hosts = wished.get(database) ?? [];
        const before = wishes.length > 0 ? wishes : [...held.keys()];
        const gone = before.filter((host) => countsIn(view, host) && !hosts.includes(host));
        expect(gone.length).toBeLessThanOrEqual(1);
        const ready = hosts.filter(
          (host) => isUp(host) && (host === leader || held.get(host) === true),
        );
        if (gone.length > 0) expect(ready.length).toBeGreaterThanOrEqual(copies);
      }
    }),
  );
});

it('[replication 9.1, 9.3] followed wishes come to rest, with as many copies as fit', () => {
  fc.assert(
    fc.property(someView, (view) => {
      const end = settled(view);
      expect(followed(end)).toEqual(end);
      const used = new Map<HostId, number>();
      const coming = new Map<HostId, number>();
      for (const { wishes, bytes, held } of end.databases) {
        for (const host of wishes) {
          used.set(host, (used.get(host) ?? 0) + bytes);
          if (held.get(host) !== true) coming.set(host, (coming.get(host) ?? 0) + 1);
        }
      }
      const draining = end.hosts.filter(({ state }) => state === 'draining');
      const drains = new Set(draining.map(({ host }) => host));
      for (const { wishes, copies, bytes, leader, unreadyMillis } of end.databases) {
        const isOverdue = (host: HostId) => leader !== undefined && unreadyMillis.has(host);
        const hasRoom = ({ host, state, memoryBytes }: PlacedHost) =>
          state === 'up' &&
          !wishes.includes(host) &&
          !isOverdue(host) &&
          (coming.get(host) ?? 0) < limits.copiesComingMax &&
          (used.get(host) ?? 0) + bytes <= limits.copyMemoryShareMax * memoryBytes;
        const staying = wishes.filter((host) => !drains.has(host));
        const counted = staying.filter((host) => !isOverdue(host));
        if (counted.length < copies && staying.length < 2 * copies)
          expect(end.hosts.filter(hasRoom)).toEqual([]);
      }
    }),
    { numRuns: 200 },
  );
});

it('[replication 9.3] a copy is wished only where 80 % of the memory hold it', () => {
  fc.assert(
    fc.property(someView, (view) => {
      const wished = placeCopies(view);
      const used = new Map<HostId, number>();
      const added = new Set<HostId>();
      for (const { database, held, wishes, bytes } of view.databases) {
        const before = new Set([...held.keys(), ...wishes]);
        const hosts = wished.get(database) ?? [];
        for (const host of hosts) if (!before.has(host)) added.add(host);
        for (const host of new Set([...hosts, ...before]))
          used.set(host, (used.get(host) ?? 0) + bytes);
      }
      // What goes in the same round makes room, too: it is counted by what was there before.
      for (const host of added) {
        const { memoryBytes = 0 } = view.hosts.find((one) => one.host === host) ?? {};
        const gone = view.databases
          .filter(({ database, wishes, held }) => {
            const had = wishes.includes(host) || held.has(host);
            return had && !(wished.get(database) ?? []).includes(host);
          })
          .reduce((sum, { bytes }) => sum + bytes, 0);
        expect((used.get(host) ?? 0) - gone).toBeLessThanOrEqual(
          memoryBytes * limits.copyMemoryShareMax,
        );
      }
    }),
  );
});

it('[replication 9.3] copies come to lie in different zones where there are any', () => {
  const zones = fc.array(fc.constantFrom('x', 'y', 'z'), { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(zones, fc.integer({ min: 1, max: 3 }), fc.nat(5), (given, copies, at) => {
      const hosts = given.map((zone, index): PlacedHost => {
        const id = hostId(BigInt(index + 1));
        return { host: id, state: 'up', lostMillis: 0, zone, memoryBytes: 64 * gibibyte };
      });
      const leader = hosts[at % hosts.length]?.host ?? hostId(1n);
      const database: PlacedDatabase = {
        ...{ database: databaseIdentity(7n), copies, bytes: gibibyte, load: 0, leader },
        ...{ held: new Map(hosts.map(({ host }) => [host, true])), wishes: [] },
        unreadyMillis: new Map(),
      };
      const end = settled({ hosts, databases: [database] });
      const wishes = end.databases[0]?.wishes ?? [];
      const inZones = new Set(wishes.map((host) => hosts.find((one) => one.host === host)?.zone));
      expect(wishes.length).toBe(Math.min(copies, hosts.length));
      expect(inZones.size).toBe(Math.min(wishes.length, new Set(given).size));
    }),
  );
});

const [a, b, c] = [hostId(1n), hostId(2n), hostId(3n)];

function host(id: HostId, more: Partial<PlacedHost> = {}): PlacedHost {
  const memoryBytes = gibibyte;
  return { host: id, state: 'up', lostMillis: 0, zone: '', memoryBytes, ...more };
}

function database(more: Partial<PlacedDatabase>): PlacedDatabase {
  return {
    ...{ database: databaseIdentity(7n), copies: 2, bytes: 1, load: 0, leader: a },
    ...{ held: new Map([[a, true]]), wishes: [], unreadyMillis: new Map(), ...more },
  };
}

function wishesOf(hosts: readonly PlacedHost[], more: Partial<PlacedDatabase>): HostId[] {
  const view = { hosts, databases: [database(more)] };
  return placeCopies(view).get(databaseIdentity(7n)) ?? [];
}

it('[replication 9.1] a follower that was lost is replaced after 60 s, not before', () => {
  const has = { held: new Map([[a, true]]), wishes: [a, b] };
  const lost = (lostMillis: number) => [host(a), host(b, { state: 'lost', lostMillis }), host(c)];
  expect(wishesOf(lost(59_999), has)).toEqual([a, b]);
  expect(wishesOf(lost(60_000), has)).toEqual([a, c]);
});

it('[replication 9.1] a copy that does not become ready is replaced, and goes then', () => {
  const hosts = [host(a), host(b), host(c)];
  const { copyUnreadyMillisMax: longest } = limits;
  const held = (isReady: boolean) =>
    new Map([
      [a, true],
      [b, false],
      [c, isReady],
    ]);
  const unready = (millis: number) => ({ bytes: 0, unreadyMillis: new Map([[b, millis]]) });
  expect(wishesOf(hosts, { ...unready(longest - 1), wishes: [a, b] })).toEqual([a, b]);
  const late = unready(longest);
  expect(wishesOf(hosts, { ...late, bytes: 2 ** 26, wishes: [a, b] })).toEqual([a, b]);
  expect(wishesOf(hosts, { ...late, wishes: [a, b] })).toEqual([a, b, c]);
  expect(wishesOf(hosts, { ...late, held: held(false), wishes: [a, b, c] })).toEqual([a, b, c]);
  expect(wishesOf(hosts, { ...late, held: held(true), wishes: [a, b, c] })).toEqual([a, c]);
  // It is not sent back to where it failed.
  expect(wishesOf([host(a), host(b)], { ...late, wishes: [a] })).toEqual([a]);
});

it('[replication 9.5] a follower on a host that drains is replaced before that is gone', () => {
  const hosts = [host(a), host(b, { state: 'draining' }), host(c)];
  const both = [
    [a, true],
    [b, true],
  ] as const;
  expect(wishesOf(hosts, { held: new Map(both), wishes: [a, b] })).toEqual([a, b, c]);
  const cold = new Map([...both, [c, false] as const]);
  expect(wishesOf(hosts, { held: cold, wishes: [a, b, c] })).toEqual([a, b, c]);
  const warm = new Map([...both, [c, true] as const]);
  expect(wishesOf(hosts, { held: warm, wishes: [a, b, c] })).toEqual([a, c]);
});

it('[replication 9.5] a leader that drains, and nobody else could lead, gets another copy', () => {
  const hosts = [host(a, { state: 'draining' }), host(b)];
  expect(wishesOf(hosts, { copies: 1, wishes: [a] })).toEqual([a, b]);
});

it('[replication 9.3] a follower leaves a host that is too full, after another has it', () => {
  const full = host(b, { memoryBytes: 100 });
  const held = new Map([
    [a, true],
    [b, true],
  ]);
  const hosts = [host(a), full, host(c)];
  expect(wishesOf(hosts, { bytes: 90, held, wishes: [a, b] })).toEqual([a, b, c]);
  const cold = new Map([...held, [c, false] as const]);
  expect(wishesOf(hosts, { bytes: 90, held: cold, wishes: [a, b, c] })).toEqual([a, b, c]);
  const warm = new Map([...held, [c, true] as const]);
  expect(wishesOf(hosts, { bytes: 90, held: warm, wishes: [a, b, c] })).toEqual([a, c]);
});
