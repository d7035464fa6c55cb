import fc from 'fast-check';
import { expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { type HostId, hostId } from '../shared-log/host-ids.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { PlacedDatabase, PlacementView } from './place-copies.ts';
import { type LeaderMove, noSpreadMemory, spreadLeaders } from './spread-leaders.ts';

const [a, b, c] = [hostId(1n), hostId(2n), hostId(3n)];

/** A cluster in which every host has every database; its clock goes by looks of the placer. */
class Simulated {
  now = 0;
  readonly moves: (LeaderMove & { readonly at: number })[] = [];
  readonly #leaders = new Map<DatabaseIdentity, HostId>();
  readonly #loads = new Map<DatabaseIdentity, number>();
  readonly #hosts: readonly HostId[];
  #memory = noSpreadMemory;

  constructor(hosts: readonly HostId[], databases: readonly (readonly [HostId, number])[]) {
    this.#hosts = hosts;
    for (const [at, [leader, load]] of databases.entries()) {
      this.#leaders.set(databaseIdentity(BigInt(at)), leader);
      this.#loads.set(databaseIdentity(BigInt(at)), load);
    }
  }

  get view(): PlacementView {
    const warm = new Map(this.#hosts.map((host) => [host, true]));
    return {
      hosts: this.#hosts.map((host) => ({
        ...{ host, state: 'up', lostMillis: 0, zone: '', memoryBytes: 1 },
      })),
      databases: [...this.#leaders].map(([database, leader]): PlacedDatabase => {
        const load = this.#loads.get(database) ?? 0;
        const known = { copies: this.#hosts.length, bytes: 0, held: warm, wishes: this.#hosts };
        return { ...known, database, leader, load, unreadyMillis: new Map() };
      }),
    };
  }

  loadOf(host: HostId): number {
    return [...this.#leaders]
      .filter(([, leader]) => leader === host)
      .reduce((sum, [database]) => sum + (this.#loads.get(database) ?? 0), 0);
  }

  get peak(): number {
    return Math.max(...this.#hosts.map((host) => this.loadOf(host)));
  }

  setLoad(at: number, load: number): void {
    this.#loads.set(databaseIdentity(BigInt(at)), load);
  }

  /** `millis` pass, with a look of the placer in every two seconds. */
  run(millis: number): void {
    for (const until = this.now + millis; this.now < until; ) {
      this.now += limits.placeLookMillis;
      const { move, memory } = spreadLeaders(this.view, this.#memory, this.now);
      this.#memory = memory;
      if (move === undefined) continue;
      expect(this.#leaders.get(move.database)).toBe(move.from);
      this.#leaders.set(move.database, move.to);
      this.moves.push({ ...move, at: this.now });
    }
  }
}

it('[replication 9.3] a leader moves when its host was above 1.3 × the mean for 60 s', () => {
  const cluster = new Simulated(
    [a, b],
    [
      [a, 0.3],
      [a, 0.3],
      [b, 0.1],
    ],
  );
  cluster.run(60_000);
  expect(cluster.moves).toEqual([]);
  cluster.run(4_000);
  expect(cluster.moves).toMatchObject([{ from: a, to: b }]);
  cluster.run(600_000);
  expect(cluster.moves.length).toBe(1);
});

it('[replication 9.3] load that is gone within the minute moves nothing', () => {
  const cluster = new Simulated(
    [a, b],
    [
      [a, 0.1],
      [a, 0.1],
      [b, 0.2],
    ],
  );
  for (let time = 0; time < 10; time++) {
    cluster.setLoad(0, 0.5);
    cluster.run(50_000);
    cluster.setLoad(0, 0.1);
    cluster.run(10_000);
  }
  expect(cluster.moves).toEqual([]);
});

it('[replication 9.3] hosts with next to nothing to do are left alone', () => {
  const cluster = new Simulated(
    [a, b],
    [
      [a, 0.004],
      [a, 0.004],
    ],
  );
  cluster.run(600_000);
  expect(cluster.moves).toEqual([]);
});

it('[replication 9.3] nobody leads who could not at once', () => {
  const cluster = new Simulated(
    [a, b, c],
    [
      [a, 0.3],
      [a, 0.3],
    ],
  );
  const view = {
    ...cluster.view,
    databases: cluster.view.databases.map((one) => ({
      ...one,
      held: new Map([
        [a, true],
        [b, false],
      ]),
    })),
  };
  let memory = noSpreadMemory;
  for (let now = 0; now < 600_000; now += 2_000) {
    const decided = spreadLeaders(view, memory, now);
    expect(decided.move).toBeUndefined();
    memory = decided.memory;
  }
});

it('[replication 9.3] moves are bounded per host and database, and each lowers the peak', () => {
  const hosts = [a, b, c];
  const databases = fc.array(
    fc.tuple(fc.constantFrom(...hosts), fc.double({ min: 0, max: 0.4, noNaN: true })),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(databases, (given) => {
      const cluster = new Simulated(hosts, given);
      let peak = cluster.peak;
      const lastOf = new Map<unknown, number>();
      for (let minute = 0; minute < 30; minute++) {
        const before = cluster.moves.length;
        cluster.run(60_000);
        for (const { at, from, to, database } of cluster.moves.slice(before)) {
          for (const host of [from, to]) {
            const last = lastOf.get(`host ${host}`) ?? Number.NEGATIVE_INFINITY;
            expect(at - last).toBeGreaterThanOrEqual(limits.hostMoveMillis);
            lastOf.set(`host ${host}`, at);
          }
          const last = lastOf.get(`database ${database}`) ?? Number.NEGATIVE_INFINITY;
          expect(at - last).toBeGreaterThanOrEqual(limits.databaseMoveMillis);
          lastOf.set(`database ${database}`, at);
        }
        expect(cluster.peak).toBeLessThanOrEqual(peak + 1e-9);
        peak = cluster.peak;
      }
      // It has come to rest: what is left cannot be made better by one move.
      const before = cluster.moves.length;
      cluster.run(300_000);
      expect(cluster.moves.length - before).toBeLessThanOrEqual(1);
    }),
    { numRuns: 60 },
  );
});
