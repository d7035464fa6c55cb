import { afterEach, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import type { PlaceHint, SeenHost } from '../shared-log/directory.ts';
import { bootId, type HostId, hostId } from '../shared-log/host-ids.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import type { Copy } from './operations.ts';
import { Placer } from './placer.ts';

const [a, b, c] = [hostId(1n), hostId(2n), hostId(3n)];
const shop = databaseIdentity(7n);
const bar = databaseIdentity(8n);

const placers: Placer[] = [];
afterEach(() => {
  for (const placer of placers.splice(0)) placer.close();
});

/** A cluster of three hosts as its placer sees it. Its clock passes by looks. */
class Seen {
  now = 1_000_000;
  leadsRegistry = true;
  isEngineReached = true;
  readonly silentSince = new Map<HostId, number>();
  readonly hints = new Map<bigint, PlaceHint>();
  readonly copies = new Map<HostId, Copy[]>();
  readonly databases = [shop, bar];
  writes = 0;
  pushes = 0;
  readonly placer: Placer;

  constructor() {
    this.placer = new Placer({
      directory: {
        hint: async (rows) => {
          this.writes += 1;
          for (const row of rows) this.hints.set(row.database, row);
        },
        hints: async () => [...this.hints.values()],
      },
      ...{ now: () => this.now, copiesDefault: 2, leadsRegistry: () => this.leadsRegistry },
      isEngineReached: () => this.isEngineReached,
      hosts: () => [a, b, c].map((host) => this.#row(host)),
      lives: (host) => !this.silentSince.has(host),
      copies: async () => new Map([...this.copies].filter(([host]) => !this.silentSince.has(host))),
      changed: () => {
        this.pushes += 1;
      },
      report: () => undefined,
    });
    this.placer.attach(() =>
      this.databases.map((database) => ({
        ...{ database, generation: 1, copies: undefined, hasCopy: true },
      })),
    );
    placers.push(this.placer);
  }

  #row(host: HostId): SeenHost {
    const since = this.silentSince.get(host) ?? this.now;
    return {
      ...{ host, boot: bootId(host), name: `h${host}`, address: '', clientAddress: '' },
      ...{ state: 'up', version: '0.1.0', formats: [1, 1], memoryBytes: 2 ** 36, zone: '' },
      ageMillis: this.now - since,
    };
  }

  has(host: HostId, database: bigint, kind: Copy['kind'], more: Partial<Copy> = {}): void {
    const others = (this.copies.get(host) ?? []).filter((one) => one.database !== database);
    const known = { term: 1, offset: 5, acknowledged: 5, isAtEnd: true, isWarm: true };
    const isKnown = true;
    const copy: Copy = {
      ...{ ...known, isKnown, database: databaseIdentity(database), kind, fault: undefined },
      ...{ ageMillis: 0, bytes: 1, turnMillis: 0, ...more },
    };
    this.copies.set(host, [...others, copy]);
  }

  async look(millis: number = limits.placeLookMillis): Promise<void> {
    for (const until = this.now + millis; this.now < until; ) {
      this.now += limits.placeLookMillis;
      await this.placer.look();
    }
  }

  wishes(database: bigint): readonly HostId[] | undefined {
    return this.hints.get(database)?.wishes;
  }
}

function seenWell(): Seen {
  const seen = new Seen();
  for (const database of [shop, bar]) {
    seen.has(a, database, 'leader');
    seen.has(b, database, 'follower');
  }
  seen.copies.set(c, []);
  return seen;
}

it('[replication 9.2] the leader of the registry writes who shall have what, once', async () => {
  const seen = seenWell();
  await seen.look(20_000);
  expect([seen.wishes(shop), seen.writes, seen.pushes]).toEqual([[a, b], 1, 1]);
  expect(seen.hints.get(shop)).toMatchObject({ term: 1, leader: a, generation: 1 });
  expect(seen.placer.counts).toMatchObject([
    { database: shop, ready: 2, wanted: 2 },
    { database: bar, ready: 2, wanted: 2 },
  ]);
  seen.leadsRegistry = false;
  seen.has(c, shop, 'leader', { term: 2 });
  await seen.look();
  expect([seen.writes, seen.placer.counts]).toEqual([1, []]);
});

it('[replication 9.3, 5.7] an outage of the engine takes nobody for lost', async () => {
  const seen = seenWell();
  await seen.look();
  seen.isEngineReached = false;
  for (const host of [b, c]) seen.silentSince.set(host, seen.now);
  await seen.look(300_000);
  // It answers again, and the beats of the others come a moment later.
  seen.isEngineReached = true;
  await seen.look();
  expect(seen.wishes(shop)).toEqual([a, b]);
  seen.silentSince.clear();
  await seen.look(120_000);
  expect([seen.wishes(shop), seen.writes]).toEqual([[a, b], 1]);
});

it('[replication 9.3] who is silent for a minute is replaced', async () => {
  const seen = seenWell();
  await seen.look();
  seen.silentSince.set(b, seen.now);
  await seen.look(limits.copyLostMillis - limits.placeLookMillis);
  expect(seen.wishes(shop)).toEqual([a, b]);
  await seen.look();
  expect([seen.wishes(shop), seen.wishes(bar)]).toEqual([
    [a, c],
    [a, c],
  ]);
});

it('[replication 9.1] a copy that is not ready for long is replaced, once', async () => {
  const seen = seenWell();
  await seen.look();
  seen.has(b, shop, 'broken', { isAtEnd: false, isWarm: false });
  await seen.look(limits.copyUnreadyMillisMax);
  expect(seen.wishes(shop)).toEqual([a, b]);
  // Its bytes have some time, too.
  await seen.look(3 * limits.placeLookMillis);
  expect([seen.wishes(shop), seen.wishes(bar)]).toEqual([
    [a, b, c],
    [a, b],
  ]);
  seen.has(c, shop, 'follower');
  await seen.look();
  const { writes } = seen;
  expect(seen.wishes(shop)).toEqual([a, c]);
  await seen.look(300_000);
  expect([seen.wishes(shop), seen.writes]).toEqual([[a, c], writes]);
});

it('[replication 9.1, 5.7] without the engine, or a leader, no copy is late', async () => {
  const seen = seenWell();
  await seen.look();
  seen.has(b, shop, 'follower', { isAtEnd: false });
  seen.isEngineReached = false;
  await seen.look(300_000);
  seen.isEngineReached = true;
  await seen.look();
  seen.has(a, shop, 'opening', { isAtEnd: false });
  await seen.look(300_000);
  seen.has(a, shop, 'leader');
  await seen.look();
  expect([seen.wishes(shop), seen.writes]).toEqual([[a, b], 1]);
});

it('[replication 9.2] nothing is decided of what a host has that did not answer', async () => {
  const seen = seenWell();
  seen.copies.delete(b);
  await seen.look();
  expect(seen.wishes(shop)).toBeUndefined();
  seen.has(b, shop, 'follower');
  await seen.look();
  expect(seen.wishes(shop)).toEqual([a, b]);
});

it('[replication 9.3] a busy host shall give one leader away, in its present term', async () => {
  const seen = seenWell();
  let turned = 0;
  const work = (millis: number): void => {
    turned += millis;
    seen.has(a, shop, 'leader', { turnMillis: turned });
    seen.has(a, bar, 'leader', { turnMillis: turned });
  };
  for (let time = 0; seen.wishes(shop)?.[0] !== b && time < 100; time++) {
    work(600);
    await seen.look();
  }
  expect(seen.hints.get(shop)).toMatchObject({ wishes: [b, a], term: 1, leader: a });
  expect(seen.wishes(bar)).toEqual([a, b]);
  // Its host has done it.
  seen.has(a, shop, 'follower', { term: 2 });
  seen.has(b, shop, 'leader', { term: 2 });
  await seen.look(600_000);
  expect(seen.hints.get(shop)).toMatchObject({ wishes: [b, a], term: 2, leader: b });
  expect(seen.wishes(bar)).toEqual([a, b]);
});
