import { beforeEach, describe, expect, it } from 'vitest';
import { spanCount } from '../../database/time-counts.ts';
import { limits } from '../../limits.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import { type Sleeper, Sleepers } from './sleepers.ts';
import { isTimeToWake } from './wake-plan.ts';

const idle = 600_000;
const { fallingAsleepMax, scheduledWakesMax, wakeSpareMillis, wakeMillisMin } = limits;
const used = { rowBytes: 0, logBytes: 0, programBytes: 0 };

/** One database, which sleeps and wakes when the test says so. */
class Fake implements Sleeper {
  isAsleep = false;
  unused = idle;
  openMillis = 0;
  /** The time for which runs keep it awake, when it was asked last. */
  ahead = 0;
  wakes = 0;
  finish: (isAsleep: boolean) => void = () => undefined;
  serve: () => void = () => undefined;
  fail: (error: Error) => void = () => undefined;

  readonly rest = {
    of: this,
    get isAsleep() {
      return this.of.isAsleep;
    },
    get openMillis() {
      return this.of.openMillis;
    },
    unusedMillis: (ahead: number) => {
      this.ahead = ahead;
      return this.unused;
    },
    sleep: () =>
      new Promise<boolean>((resolve) => {
        this.finish = (isAsleep) => {
          this.isAsleep = isAsleep;
          this.unused = 0;
          resolve(isAsleep);
        };
      }),
    wake: () => {
      this.wakes += 1;
      this.isAsleep = false;
    },
  };

  started(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.serve = resolve;
      this.fail = reject;
    });
  }
}

let now: number;
let databases: Map<DatabaseIdentity, Fake>;
let sleepers: Sleepers;

function add(count: number): Fake[] {
  return Array.from({ length: count }, () => {
    const fake = new Fake();
    const identity = databaseIdentity(BigInt(databases.size));
    databases.set(identity, fake);
    sleepers.opens(identity);
    return fake;
  });
}

/** All of them sleep until their runs are due. */
function sleepUntil(...dueMillis: number[]): Fake[] {
  return add(dueMillis.length).map((fake, at) => {
    fake.isAsleep = true;
    const nextDueMicros = BigInt(dueMillis[at] ?? 0) * 1_000n;
    const identity = databaseIdentity(BigInt(databases.size - dueMillis.length + at));
    sleepers.sleeps(identity, { offset: 0, used, nextDueMicros, openMillis: 0 });
    return fake;
  });
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const wakesOf = (fakes: readonly Fake[]) => fakes.map(({ wakes }) => wakes);

beforeEach(() => {
  now = 0;
  databases = new Map();
  sleepers = new Sleepers({
    find: (identity) => databases.get(identity),
    sleepAfterMillis: idle,
    clock: { nowMicros: () => BigInt(now) * 1_000n, monotonicMillis: () => now },
  });
});

describe('[living 6.6] putting databases to sleep', () => {
  it('takes those that nobody has used for long enough, a few at a time', async () => {
    const fakes = add(fallingAsleepMax + 1);
    const [first, second] = fakes;
    if (first !== undefined) first.unused = idle - 1;
    const looked = sleepers.look();
    const begun = () => fakes.filter(({ finish }) => finish.length > 0);
    expect(begun()).toEqual(fakes.slice(1));
    void sleepers.look();
    if (first !== undefined) first.unused = idle;
    void sleepers.look();
    expect(first?.finish.length).toBe(0);
    second?.finish(true);
    await settled();
    void sleepers.look();
    expect(first?.finish.length).toBe(1);
    for (const fake of fakes) fake.finish(true);
    await looked;
  });

  it('leaves those alone that have a run to come in that time, and while they open', () => {
    const [fake] = add(1);
    void sleepers.look();
    expect(fake?.ahead).toBe(idle + wakeSpareMillis + wakeMillisMin);
    const [slow] = add(1);
    if (slow !== undefined) slow.openMillis = 5_000;
    void sleepers.look();
    expect(slow?.ahead).toBe(idle + wakeSpareMillis + 10_000);
  });
});

describe('[living 6.6] waking databases for their schedules', () => {
  it('is in time, and not before', () => {
    const due = 100_000;
    const [fake] = sleepUntil(due);
    now = due - wakeSpareMillis - wakeMillisMin - 1;
    void sleepers.look();
    expect(fake?.wakes).toBe(0);
    now += 1;
    void sleepers.look();
    expect(fake?.wakes).toBe(1);
  });

  it('is bounded, in the order of their due times, one after the other', async () => {
    const dues = Array.from({ length: 2 * scheduledWakesMax }, (_, at) => 100_000 - at);
    const fakes = sleepUntil(...dues);
    now = 100_000;
    void sleepers.look();
    const [last, first] = [fakes.slice(0, scheduledWakesMax), fakes.slice(scheduledWakesMax)];
    expect([wakesOf(first), wakesOf(last)]).toEqual([first.map(() => 1), last.map(() => 0)]);
    first[0]?.serve();
    await settled();
    expect(wakesOf(last)).toEqual([...last.slice(1).map(() => 0), 1]);
    // One that does not serve gives its place to the next one.
    first[1]?.fail(new Error('it is broken'));
    await settled();
    expect(wakesOf(last).slice(-2)).toEqual([1, 1]);
  });

  it('keeps them awake until the run is due', () => {
    const [fake] = sleepUntil(100_000);
    now = 98_000;
    void sleepers.look();
    expect([fake?.wakes, fake?.finish.length]).toEqual([1, 0]);
    now = 100_001;
    void sleepers.look();
    expect(fake?.finish.length).toBe(1);
  });

  it('passes over those that woke before, or are gone', () => {
    const [woken, removed, moved] = sleepUntil(100_000, 100_000, 100_000);
    if (woken !== undefined) woken.isAsleep = false;
    databases.delete(databaseIdentity(1n));
    sleepers.fellAsleep(databaseIdentity(2n), { offset: 0, used, ...never, openMillis: 0 });
    now = 100_000;
    void sleepers.look();
    expect(wakesOf([woken, removed, moved].filter((one) => one !== undefined))).toEqual([0, 0, 0]);
  });

  it('counts how often that was, and how long it took', () => {
    sleepers.fellAsleep(databaseIdentity(1n), { offset: 0, used, ...never, openMillis: 0 });
    sleepers.woke('request', 30);
    sleepers.woke('schedule', 40);
    sleepers.woke('request', 50);
    const { sleeps, wakes, wakeTimes } = sleepers.figures;
    expect([sleeps, [...wakes], spanCount(wakeTimes)]).toEqual([
      1,
      [
        ['request', 2],
        ['schedule', 1],
      ],
      3,
    ]);
  });
});

const never = { nextDueMicros: undefined };

describe('[living 6.6] when the next database is woken', () => {
  const at = (millis: number, openMillis = 0) => ({
    dueMicros: BigInt(millis) * 1_000n,
    openMillis,
  });

  it('leaves time for all that are due together', () => {
    const count = 40;
    const herd = Array.from({ length: count }, () => at(100_000, 1_000));
    const takes = ((count - 1) * 2_000) / scheduledWakesMax + 2_000;
    const first = 100_000 - wakeSpareMillis - takes;
    expect(isTimeToWake(herd, BigInt(first - 1) * 1_000n)).toBe(false);
    expect(isTimeToWake(herd, BigInt(first) * 1_000n)).toBe(true);
  });

  it('is never long before they are due', () => {
    const herd = Array.from({ length: 10_000 }, () => at(100_000, 1_000));
    const first = 100_000 - limits.wakeAheadMillisMax;
    expect(isTimeToWake(herd, BigInt(first - 1) * 1_000n)).toBe(false);
    expect(isTimeToWake(herd, BigInt(first) * 1_000n)).toBe(true);
  });

  it('is never where nothing is due', () => {
    expect(isTimeToWake([], 0n)).toBe(false);
  });
});
