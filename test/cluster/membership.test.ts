import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { Membership, type MembershipOptions } from '../../src/cluster/membership.ts';
import { limits } from '../../src/limits.ts';
import type { Directory, HostRow } from '../../src/shared-log/directory.ts';
import { bootId, hostId } from '../../src/shared-log/host-ids.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import { EngineError } from '../../src/shared-log/shared-log.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';

const joined: Membership[] = [];
const database = databaseIdentity(9n);

/** The directory of an engine whose clock, and the hosts', a test can move. */
function makeEngine() {
  let ahead = 0;
  const now = () => performance.now() + ahead;
  const after = (millis: number, work: () => void) => void setTimeout(work, millis).unref();
  return {
    now,
    pass: (millis: number) => {
      ahead += millis;
    },
    engine: new MemoryEngine({ clock: { now, after } }),
  };
}

type Place = ReturnType<typeof makeEngine>;

function row(number: number, name: string, boot = number): Omit<HostRow, 'state'> {
  return {
    ...{ host: hostId(BigInt(number)), boot: bootId(BigInt(boot)), name, zone: '' },
    ...{ address: `10.0.0.${number}:3001`, clientAddress: `http://10.0.0.${number}:3000` },
    ...{ version: '0.1.0', formats: [1, 1] as const, memoryBytes: 1 },
  };
}

async function join(
  place: Place,
  me: Omit<HostRow, 'state'>,
  more: Partial<MembershipOptions> = {},
) {
  const membership = await Membership.join({
    ...{ directory: place.engine.directory(`${me.name} ${me.boot}`), me, now: place.now },
    ...{ leaseMillis: limits.leaseMillis, onReplaced: () => undefined, report: () => undefined },
    ...more,
  });
  joined.push(membership);
  return membership;
}

afterEach(async () => {
  for (const one of joined.splice(0)) await one.leave();
});

function leadOf({ host, boot, name, address }: Omit<HostRow, 'state'>) {
  return { host, boot, name, address, history: 'memory:1:1', format: 1 };
}

it('[replication 7.1] hosts see each other, and take one for gone when it says goodbye', async () => {
  const place = makeEngine();
  const one = await join(place, row(1, 'a'));
  const other = await join(place, row(2, 'b'));
  await expect.poll(() => one.living.map(({ name }) => name).sort()).toEqual(['a', 'b']);
  const leader = leadOf(row(2, 'b'));
  expect(one.look(database, leader)).toMatchObject({
    ...{ isGone: false, isEngineReached: true, isCandidate: true, skewMillis: 0 },
  });
  await other.leave();
  await expect.poll(() => one.look(database, leader).isGone).toBe(true);
  expect(one.living.map(({ name }) => name)).toEqual(['a']);
});

it('[replication 9.7] a host that skips a minor version is refused with both, and leaves no row', async () => {
  const place = makeEngine();
  const one = await join(place, row(1, 'a'));
  const next = await join(place, { ...row(2, 'b'), version: '0.2.0' });
  const far = join(place, { ...row(3, 'c'), version: '0.3.0' });
  await expect(far).rejects.toThrow(
    /version 0\.3\.0, and host a of this cluster is of version 0\.1\.0/,
  );
  await expect.poll(() => one.hosts.map(({ name }) => name).sort()).toEqual(['a', 'b']);
  expect(next.state).toBe('up');
});

it('[replication 9.7] a format of entries is read by all once each host announces it', async () => {
  const place = makeEngine();
  const newer = (number: number, name: string) => ({
    ...row(number, name),
    formats: [1, 2] as const,
  });
  const a = await join(place, newer(1, 'a'));
  await expect.poll(() => a.formatRead).toBe(2);
  const b = await join(place, row(2, 'b'));
  await expect.poll(() => a.formatRead).toBe(1);
  // One that has left, and is not taken off the list, may come back.
  await b.leave();
  await expect.poll(() => a.hosts.find(({ name }) => name === 'b')?.state).toBe('gone');
  expect(a.formatRead).toBe(1);
  await join(place, { ...newer(2, 'b'), boot: bootId(22n) });
  await expect.poll(() => a.formatRead).toBe(2);
});

it('[replication 7.1, 5.7] the age of a silent host grows, and it is no candidate then', async () => {
  const place = makeEngine();
  const silent = await join(place, row(2, 'b'));
  const one = await join(place, row(1, 'a'));
  const leader = leadOf(row(3, 'c'));
  const ranks = () => [one.look(database, leader).rank, silent.look(database, leader).rank].sort();
  await expect.poll(ranks).toEqual([0, 1]);
  // Beats of a process that was stopped: none.
  silent.stop();
  place.pass(limits.leaseMillis + 1);
  await expect.poll(() => one.isEngineReached).toBe(true);
  const age = one.look(database, leadOf(row(2, 'b'))).beatAgeMillis ?? 0;
  expect(age).toBeGreaterThan(limits.leaseMillis);
  expect(one.look(database, leader).rank).toBe(0);
  expect(one.look(database, leadOf(row(2, 'b'))).isGone).toBe(false);
});

it('[replication 5.7] a leader that the beats do not show yet is not gone before they must', async () => {
  const place = makeEngine();
  await join(place, row(2, 'b'));
  const one = await join(place, row(1, 'a'));
  await expect.poll(() => one.living.length).toBe(2);
  // It has started again, and leads; what was seen of it is older than that.
  const look = () => one.look(database, leadOf(row(2, 'b', 23)));
  expect(look()).toMatchObject({ isGone: false, beatAgeMillis: 0 });
  await expect.poll(() => look().isGone).toBe(true);
});

it('[replication 14.11] beats as often as its engine is quick, and its lease long', async () => {
  const place = makeEngine();
  let beats = 0;
  const directory = place.engine.directory('counted');
  const counted: Directory = Object.assign(Object.create(directory) as Directory, {
    beat: (me: HostRow) => {
      beats += 1;
      return directory.beat(me);
    },
  });
  const rare = { directory: counted, beatMillis: 600_000, leaseMillis: 10_000_000 };
  const membership = await join(place, row(1, 'a'), rare);
  const begun = beats;
  await sleep(3 * limits.beatMillis);
  expect(beats).toBe(begun);
  await membership.leave();
});

it('[replication 5.7] an address that refuses makes that process gone, and no later one', async () => {
  const place = makeEngine();
  const one = await join(place, row(1, 'a'));
  await join(place, row(2, 'b'));
  await expect.poll(() => one.living.length).toBe(2);
  one.refuses(bootId(2n));
  expect(one.look(database, leadOf(row(2, 'b'))).isGone).toBe(true);
  expect(one.living).toHaveLength(1);
  await join(place, row(2, 'b', 22));
  await expect.poll(() => one.living.length).toBe(2);
  expect(one.look(database, leadOf(row(2, 'b', 22))).isGone).toBe(false);
  expect(one.look(database, leadOf(row(2, 'b'))).isGone).toBe(true);
});

it('[replication 5.7] without the engine nobody is judged', async () => {
  const place = makeEngine();
  const directory = place.engine.directory('a');
  let isDown = false;
  const flaky: Directory = {
    beat: (me) => (isDown ? Promise.reject(new EngineError('down')) : directory.beat(me)),
    hint: (rows) => directory.hint(rows),
    hints: () => directory.hints(),
    secretBox: (name, put) => directory.secretBox(name, put),
    forget: (host) => directory.forget(host),
  };
  const one = await join(place, row(1, 'a'), { directory: flaky });
  expect(one.isEngineReached).toBe(true);
  isDown = true;
  await expect.poll(() => one.look(database, undefined).isEngineReached).toBe(false);
  isDown = false;
  await expect.poll(() => one.look(database, undefined).isEngineReached).toBe(true);
  place.pass(limits.leaseMillis);
  expect(one.isEngineReached).toBe(false);
});

it('[replication 7.9] a name is held by one host, until that is silent or has left', async () => {
  const place = makeEngine();
  const first = await join(place, row(1, 'x'));
  await expect(join(place, row(2, 'x'))).rejects.toThrow(
    /^Another host named x is in this cluster \(10\.0\.0\.1:3001, seen \d\.\d s ago\)\. Choose another --host-name\.$/,
  );
  // The one that was refused leaves no trace.
  await expect.poll(() => first.hosts.map(({ host }) => host)).toEqual([1n]);
  first.stop();
  place.pass(limits.nameHeldMillis);
  const second = await join(place, row(2, 'x'));
  await second.leave();
  await join(place, row(3, 'x'));
});

it('[replication 7.9] of two that come with one name at the same moment one stays', async () => {
  const place = makeEngine();
  const results = await Promise.allSettled([join(place, row(1, 'x')), join(place, row(2, 'x'))]);
  const stayed = results.filter(({ status }) => status === 'fulfilled');
  expect(stayed).toHaveLength(1);
});

it('[replication 7.9] the older process of a host id sees the newer one, and stops', async () => {
  const place = makeEngine();
  const messages: string[] = [];
  const onReplaced = (message: string) => void messages.push(message);
  const older = await join(place, row(1, 'a'), { onReplaced });
  const newer = await join(place, row(1, 'a', 99), { onReplaced });
  await expect.poll(() => messages.length).toBe(1);
  expect(messages[0]).toContain('Another process (a, 10.0.0.1:3001) runs as this host');
  expect([older.state, newer.state]).toEqual(['gone', 'up']);
  expect(older.look(database, undefined).isCandidate).toBe(false);
  // Its goodbye does not say goodbye for the newer one.
  await older.leave();
  await sleep(limits.beatMillis);
  expect(newer.hosts).toMatchObject([{ boot: 99n, state: 'up' }]);
});

it('[replication 9.5] a host that drains is no candidate, and others see it', async () => {
  const place = makeEngine();
  const one = await join(place, row(1, 'a'));
  const other = await join(place, row(2, 'b'));
  await one.drain(true);
  expect(one.look(database, undefined).isCandidate).toBe(false);
  await expect.poll(() => other.hostOf(hostId(1n))?.state).toBe('draining');
  expect(other.look(database, undefined).rank).toBe(0);
  await one.drain(false);
  expect(one.look(database, undefined).isCandidate).toBe(true);
});

it('[replication 12.5] a clock that is off from the engine is a warning, told once', async () => {
  const place = makeEngine();
  const lines: string[] = [];
  let skew = 0;
  const one = await join(place, row(1, 'a'), {
    skewMillis: async () => skew,
    report: ({ message }) => void lines.push(message),
  });
  skew = -11_000;
  place.pass(limits.clockLookMillis);
  await expect.poll(() => one.look(database, undefined).skewMillis).toBe(-11_000);
  place.pass(limits.clockLookMillis);
  await one.drain(false);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('off from the engine');
});
