import { expect, it } from 'vitest';
import type { DatabaseRole, FollowerRole } from '../host/replication/database-role.ts';
import { limits } from '../limits.ts';
import type { PlaceHint } from '../shared-log/directory.ts';
import { bootId, type HostId, hostId } from '../shared-log/host-ids.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { LoadAverages } from './load-averages.ts';
import { Wishes } from './wishes.ts';

const [a, b, c] = [hostId(1n), hostId(2n), hostId(3n)];
const shop = databaseIdentity(7n);

/** One host, `a`, with one database; time passes by looks. */
class OneHost {
  now = 0;
  role: DatabaseRole | undefined;
  followed: FollowerRole | undefined;
  hasCopy = true;
  wishes: readonly HostId[] = [];
  term = 1;
  givenAt: number | undefined;
  rank = 0;
  isEngineThere = true;
  readonly dead = new Set<HostId>();
  readonly moves: { readonly to: HostId; readonly at: number }[] = [];
  readonly wished: Wishes;

  constructor(role?: DatabaseRole) {
    this.role = role;
    this.wished = new Wishes({
      ...{ me: a, now: () => this.now, copiesDefault: 2 },
      directory: {
        hints: async () => {
          if (!this.isEngineThere) throw new Error('the engine does not answer');
          return this.wishes.length === 0 ? [] : [this.hint];
        },
      },
      rankOf: () => this.rank,
      roleOf: () => this.role,
      followedOf: () => this.followed,
      lives: (host) => !this.dead.has(host),
      givenAt: () => this.givenAt,
      move: async (_, to) => void this.moves.push({ to, at: this.now }),
      report: () => undefined,
    });
    this.wished.attach({
      placed: () => [{ database: shop, generation: 1, copies: undefined, hasCopy: this.hasCopy }],
      takeUp: () => {
        this.hasCopy = true;
      },
      letGo: async () => {
        this.hasCopy = false;
        return true;
      },
    });
  }

  get hint(): PlaceHint {
    const { wishes, term } = this;
    return { database: shop, generation: 1, term, leader: b, wishes };
  }

  async look(times = 1): Promise<void> {
    for (let time = 0; time < times; time++) {
      this.now += limits.wishLookMillis;
      await this.wished.changed();
    }
  }
}

function follower(more: Partial<FollowerRole> = {}): FollowerRole {
  const leader = { host: b, boot: bootId(9n), name: 'b', address: 'b:1', history: '', format: 1 };
  return {
    ...{ kind: 'follower', term: 1, leader, isLedElsewhere: true, isAtEnd: true, isWarm: true },
    ...{ seq: 4, end: { position: 10, chain: 3n, offset: 5 }, settledOffset: 5, ...more },
  };
}

it('[replication 9.2] a copy that is not wished goes at the third look', async () => {
  const host = new OneHost(follower());
  host.wishes = [b, c];
  await host.look(limits.letGoLooks - 1);
  expect(host.hasCopy).toBe(true);
  await host.look();
  expect(host.hasCopy).toBe(false);
  host.role = undefined;
  host.wishes = [b, a];
  await host.look();
  expect(host.hasCopy).toBe(true);
});

it('[replication 9.2] a copy that may have more than others stays', async () => {
  const kept: readonly (DatabaseRole | undefined)[] = [
    follower({ settledOffset: 4 }),
    follower({ isAtEnd: false }),
    follower({ leader: undefined }),
    follower({ isLedElsewhere: false }),
    { kind: 'opening' },
    { kind: 'broken', reason: 'the engine lost entries' },
    { kind: 'leader', term: 2 },
  ];
  for (const role of kept) {
    const host = new OneHost(role);
    host.wishes = [b, c];
    await host.look(10);
    expect(host.hasCopy).toBe(true);
  }
  const host = new OneHost(follower());
  host.wishes = [b, c];
  host.dead.add(b);
  await host.look(10);
  expect(host.hasCopy).toBe(true);
});

it('[replication 9.2] a broken copy goes, unless it may have more than the engine', async () => {
  const isKept = async (reason: string, followed: FollowerRole | undefined, isLed = true) => {
    const host = new OneHost({ kind: 'broken', reason });
    host.followed = followed;
    host.wishes = [b, c];
    if (!isLed) host.dead.add(b);
    await host.look(limits.letGoLooks);
    return host.hasCopy;
  };
  const reason = 'error starting database: the disk failed';
  expect(await isKept(reason, follower())).toBe(false);
  expect(await isKept(reason, follower({ settledOffset: 4 }))).toBe(true);
  expect(await isKept(reason, follower(), false)).toBe(true);
  expect(await isKept(reason, undefined)).toBe(true);
  const lost = 'error starting database: log.diverged: entry 4: another one was read';
  expect(await isKept(lost, follower())).toBe(true);
});

it('[replication 9.2] without wishes, and without the engine, nobody lets a copy go', async () => {
  const host = new OneHost(follower());
  host.rank = 5;
  await host.look(10);
  expect(host.hasCopy).toBe(true);
  host.wishes = [b, c];
  host.isEngineThere = false;
  await host.look(10);
  expect(host.hasCopy).toBe(true);
});

it('[replication 9.1, 9.2] without wishes the first hosts of an order take a copy', async () => {
  const host = new OneHost();
  host.hasCopy = false;
  host.rank = 2;
  await host.look();
  expect([host.hasCopy, host.wished.holds(shop)]).toEqual([false, false]);
  // One before it is gone.
  host.rank = 1;
  await host.look();
  expect(host.hasCopy).toBe(true);
});

it('[replication 9.2, 9.3] a leader goes once, by a wish of its present term', async () => {
  const host = new OneHost({ kind: 'leader', term: 3 });
  host.wishes = [b, a];
  host.term = 2;
  await host.look(20);
  expect(host.moves).toEqual([]);
  host.term = 3;
  host.dead.add(b);
  await host.look(20);
  expect(host.moves).toEqual([]);
  host.dead.delete(b);
  await host.look(20);
  const [first, second] = host.moves;
  expect(first?.to).toBe(b);
  // It was not done: it is tried again, no sooner than a host may give anything away again.
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(limits.hostMoveMillis);
});

it('[replication 9.2, 9.3] two placers that disagree move a database once in 10 min', async () => {
  const host = new OneHost({ kind: 'leader', term: 1 });
  host.givenAt = 0;
  for (let minute = 0; minute < 9; minute++) {
    host.wishes = minute % 2 === 0 ? [b, a] : [c, a];
    await host.look(60);
  }
  expect(host.moves).toEqual([]);
  await host.look(120);
  expect(host.moves[0]?.at).toBeGreaterThanOrEqual(limits.databaseMoveMillis);
});

it('[replication 9.4] who shall be given a database has a copy for that long', async () => {
  const host = new OneHost(follower());
  host.wishes = [b, c];
  host.hasCopy = false;
  host.wished.ask(shop);
  await host.look(10);
  expect([host.hasCopy, host.wished.holds(shop)]).toEqual([true, true]);
  await host.look(limits.copyAskedMillis / limits.wishLookMillis);
  expect([host.hasCopy, host.wished.holds(shop)]).toEqual([false, false]);
});

it('[replication 9.3] what a leader has to do is a moving average over its actors', () => {
  const averages = new LoadAverages();
  let turnMillis = 0;
  let load = 0;
  for (let now = 0; now <= 600_000; now += 2_000) {
    load = averages.note(shop, { host: a, term: 1, turnMillis }, now);
    turnMillis += 1_000;
  }
  expect(load).toBeCloseTo(0.5, 2);
  const replaced = averages.note(shop, { host: a, term: 1, turnMillis: 0 }, 602_000);
  expect(replaced).toBe(load);
  const idle = averages.note(shop, { host: a, term: 1, turnMillis: 0 }, 662_000);
  expect(idle).toBeCloseTo(load / Math.E, 2);
  averages.keep(new Map());
  expect(averages.note(shop, undefined, 664_000)).toBe(0);
});
