import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createTiny,
  openTiny,
  tinyIdentity,
  tinyProgram,
} from '../../../test/support/tiny-database.ts';
import { Refusal } from '../../database/outcome.ts';
import { noTicket } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';
import { tableId } from '../../schema/ids.ts';
import { ownerRights } from '../../sql/rights.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { programHash } from '../linking/program-hash.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { SeatEnd, SeatEvents, SeatMode, SeatOpening, SeatStart } from '../seats/seat.ts';
import { noSchedules, type ScheduleState } from './schedule-state.ts';
import { SupervisedDatabase } from './supervised-database.ts';

const mebibyte = 1024 * 1024;

/** A database whose log takes as long as the test wants. */
class Slow {
  readonly clock = new TestClock();
  readonly reports: string[] = [];
  readonly seats: SeatEvents[] = [];
  closesWhenKilled = false;
  /** What each of those seats was told. */
  readonly starts: SeatStart[] = [];
  schedules: ScheduleState = noSchedules;
  readonly database: SupervisedDatabase;

  constructor(mode: SeatMode | 'closed', bytes = 100 * mebibyte) {
    this.database = new SupervisedDatabase(
      {
        identity: tinyIdentity,
        clock: this.clock,
        hash: programHash,
        takeSeat: (start, events) => {
          this.seats.push(events);
          this.starts.push(start);
          const nothing = () => undefined;
          let kill: () => void = nothing;
          const isKilled = new Promise<void>((resolve) => {
            kill = resolve;
          });
          const close = () => (this.closesWhenKilled ? isKilled : Promise.resolve());
          return {
            submit: nothing,
            setStorage: nothing,
            setEnv: nothing,
            close,
            kill: () => kill(),
          };
        },
        examine: () => Promise.resolve(tinyProgram.bytes),
        lines: () => undefined,
        logBytes: () => bytes,
        schedules: () => this.schedules,
        report: (_, message) => this.reports.push(message),
        warn: (sentence) => this.reports.push(sentence),
      },
      mode,
    );
  }

  /** Sends a request; returns the code and the rest of the refusal, or the result. */
  async ask() {
    try {
      return await this.database.program();
    } catch (error) {
      if (error instanceof Refusal) return error.body;
      throw error;
    }
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a database that opens', () => {
  it('is closed until it is asked for', () => {
    const { database, seats } = new Slow('closed');
    expect([database.statistics().state, seats.length]).toEqual(['closed', 0]);
    void database.describe().catch(() => undefined);
    expect([database.statistics().state, seats.length]).toEqual(['opening', 1]);
    database.open();
    expect(seats).toHaveLength(1);
  });

  it('is ended without having been opened', async () => {
    const { database, seats } = new Slow('closed');
    await database.close();
    expect([database.statistics().state, seats.length]).toEqual(['stopped', 0]);
    await expect(database.describe()).rejects.toMatchObject({ body: { code: 'database.stopped' } });
  });

  it('keeps requests waiting so long, and then says how far it is', async () => {
    const slow = new Slow('closed');
    const asked = [slow.ask(), slow.database.describe().catch(({ body }: Refusal) => body)];
    expect(slow.database.statistics().opening?.waiting).toBe(2);
    slow.clock.advance(limits.openingWaitMillisMax);
    slow.seats[0]?.hasRead(75 * mebibyte);
    await vi.advanceTimersByTimeAsync(limits.openingWaitMillisMax);
    const refused = {
      code: 'database.opening',
      message:
        'The database is opening: 75 MiB of 100 MiB of its log read after 30.0 s. ' +
        'Try again in 10 s.',
      retryAfterSeconds: 10,
    };
    expect(await Promise.all(asked)).toEqual([refused, refused]);
    expect(slow.database.statistics().opening).toEqual({
      readBytes: 75 * mebibyte,
      bytes: 100 * mebibyte,
      millis: limits.openingWaitMillisMax,
      waiting: 0,
    });
  });

  it('keeps what an earlier actor had waiting no longer', async () => {
    const slow = new Slow(openTiny);
    slow.seats[0]?.opened({
      description: undefined as never,
      offset: 1 as never,
      lastMicros: 0n,
      nextDueMicros: undefined,
    });
    const asked = slow.ask();
    await vi.advanceTimersByTimeAsync(10);
    slow.seats[0]?.ended({ cause: 'died', message: '', running: undefined, reached: () => false });
    await vi.advanceTimersByTimeAsync(limits.openingWaitMillisMax);
    expect(await asked).toMatchObject({ code: 'database.opening' });
    expect(slow.database.vitals().refusals.get('database.opening')).toBe(1);
  });

  it('[durability D8] refuses at once what waits beyond its bound', async () => {
    const slow = new Slow('closed');
    for (let count = 0; count < limits.openingRequestsMax; count += 1) void slow.ask();
    expect(await slow.ask()).toMatchObject({ code: 'database.opening', retryAfterSeconds: 1 });
    expect(slow.database.statistics().opening?.waiting).toBe(limits.openingRequestsMax);
  });

  it('says in the log that it begins, now and then how far it is, and how long it took', () => {
    const slow = new Slow('closed');
    slow.database.open();
    const [seat] = slow.seats;
    for (let part = 1; part <= 12; part += 1) {
      slow.clock.advance(1_000);
      seat?.hasRead(part * 10 * mebibyte);
    }
    seat?.opened({
      description: undefined as never,
      offset: 1 as never,
      lastMicros: 0n,
      nextDueMicros: undefined,
    });
    expect(slow.reports).toEqual([
      'is opening: 100 MiB of log to read',
      'is opening: 50 MiB of 100 MiB of its log read after 5.0 s',
      'is opening: 100 MiB of 100 MiB of its log read after 10.0 s',
      'serves; opening took 12.0 s (100 MiB of log)',
    ]);
  });

  it('says what it has read of a shared log, of which nobody knows how long it is', () => {
    const reports = [0, 100 * mebibyte].map((bytes) => {
      const slow = new Slow('closed', bytes);
      slow.database.open();
      slow.clock.advance(6_000);
      slow.seats[0]?.hasRead(bytes);
      slow.clock.advance(6_000);
      slow.seats[0]?.hasFetched?.(3 * mebibyte);
      return slow.reports;
    });
    expect(reports).toEqual([
      [
        'is opening: nothing of its log read after 6.0 s',
        'is opening: 3 MiB of its shared log read after 12.0 s',
      ],
      [
        'is opening: 100 MiB of log to read',
        'is opening: 100 MiB of 100 MiB of its log read after 6.0 s',
        'is opening: 100 MiB of 100 MiB of its log and 3 MiB of its shared log read after 12.0 s',
      ],
    ]);
  });

  it('says so in the log and to callers when its program is prepared, until it ends', async () => {
    const slow = new Slow('closed');
    const asked = slow.ask();
    const [seat] = slow.seats;
    const pass = async (millis: number) => {
      slow.clock.advance(millis);
      await vi.advanceTimersByTimeAsync(millis);
    };
    seat?.hasRead(100 * mebibyte);
    await pass(6_000);
    seat?.links(true);
    await pass(limits.openingWaitMillisMax - 6_000);
    expect(await asked).toMatchObject({
      message:
        'The database is opening: its program is being prepared, after 30.0 s. Try again in 1 s.',
    });
    seat?.opened({
      description: undefined as never,
      offset: 1 as never,
      lastMicros: 0n,
      nextDueMicros: undefined,
    });
    const { length } = slow.reports;
    expect(slow.reports[1]).toBe('is opening: 100 MiB of 100 MiB of its log read after 6.0 s');
    expect(slow.reports).toContain('is opening: its program is being prepared, after 30.0 s');
    await pass(60_000);
    expect(slow.reports).toHaveLength(length);
  });

  it('refuses what waits, and what comes, as its end wants', async () => {
    const slow = new Slow('closed');
    slow.closesWhenKilled = true;
    const asked = slow.ask();
    const gone = () => new Refusal({ code: 'database.unknown', message: 'No such database.' });
    const closing = slow.database.close(1_000, gone);
    await vi.advanceTimersByTimeAsync(1_000);
    slow.seats[0]?.ended({
      cause: 'closed',
      message: '',
      running: undefined,
      reached: () => false,
    });
    await closing;
    expect(await asked).toMatchObject({ code: 'database.unknown' });
    expect(await slow.ask()).toMatchObject({ code: 'database.unknown' });
  });

  it.each([
    ['one that is made', createTiny],
    ['one that opens at once', openTiny],
  ])('does not begin closed: %s', (_, mode) => {
    const { database, seats } = new Slow(mode as SeatMode);
    expect([database.statistics().state, seats.length]).toEqual(['opening', 1]);
  });
});

describe('a database that ends while it serves', () => {
  const end = { cause: 'died', message: 'gone', running: undefined, reached: () => false } as const;
  const opening = {
    description: undefined as never,
    offset: 1 as never,
    lastMicros: 0n,
    nextDueMicros: undefined,
  };

  it('takes no seat for a request that comes while a closed one closes', async () => {
    const slow = new Slow('closed');
    const closing = slow.database.close(1_000);
    await slow.ask();
    slow.database.open();
    await closing;
    expect(slow.seats).toEqual([]);
    const ended = new Slow('closed');
    ended.database.crash();
    await ended.ask();
    expect(ended.seats).toEqual([]);
  });

  it('is opened again however often, where it served for long in between', () => {
    const slow = new Slow(openTiny);
    for (let round = 0; round < 5; round += 1) {
      slow.seats.at(-1)?.opened(opening);
      slow.clock.advance(limits.reopenMillisMax);
      slow.seats.at(-1)?.ended(end);
    }
    expect(slow.database.statistics().state).toBe('opening');
  });

  it('is broken after the third end at once, until a request later', async () => {
    const slow = new Slow(openTiny);
    for (let round = 0; round < 3; round += 1) {
      slow.seats.at(-1)?.opened(opening);
      slow.seats.at(-1)?.ended(end);
    }
    const { database, seats } = slow;
    expect([database.statistics().state, seats.length]).toEqual(['broken', 3]);
    expect(await slow.ask()).toMatchObject({ code: 'database.broken' });
    slow.clock.advance(limits.reopenMillisMin);
    void slow.ask();
    expect([database.statistics().state, seats.length]).toEqual(['opening', 4]);
    expect(slow.reports).toContain('is reopened: the reason it did not serve may be gone');
    seats.at(-1)?.ended(end);
    expect(database.statistics().state).toBe('broken');
  });

  it('says so when it comes back with less than was durable', () => {
    const slow = new Slow(openTiny);
    slow.seats[0]?.opened({ ...opening, offset: 7 as never });
    slow.seats[0]?.ended(end);
    slow.seats[1]?.opened({ ...opening, offset: 5 as never });
    expect(slow.reports).toContain(
      'serves without 2 commits that were durable before: its files were replaced',
    );
  });

  it.each(['refused', 'sync', 'superseded'] as const)(
    '[durability 2.3] is not opened again where it ended by %s',
    async (cause) => {
      const slow = new Slow(openTiny);
      slow.seats[0]?.opened(opening);
      slow.seats[0]?.ended({ ...end, cause });
      slow.clock.advance(10 * limits.reopenMillisMax);
      expect(await slow.ask()).toMatchObject({ code: 'database.broken' });
      expect(slow.seats).toHaveLength(1);
    },
  );
});

describe('a database with schedules', () => {
  const mark = { tableId: tableId(4_097), key: 7n, dueMicros: 5n };
  const dead: SeatEnd = { cause: 'died', message: 'gone', running: noTicket, reached: () => false };
  const opening: SeatOpening = {
    description: undefined as never,
    offset: 1 as never,
    lastMicros: 0n,
    nextDueMicros: undefined,
  };

  /** The last end breaks it. */
  async function broken(schedules: ScheduleState): Promise<Slow> {
    const slow = new Slow(openTiny);
    slow.schedules = schedules;
    for (let round = 0; round < 3; round += 1) slow.seats.at(-1)?.ended(dead);
    slow.clock.advance(limits.reopenMillisMin);
    await vi.advanceTimersByTimeAsync(limits.reopenMillisMin);
    return slow;
  }

  it('is opened again without a request where it is broken', async () => {
    const slow = await broken({ exist: true, isPaused: false });
    expect(slow.seats).toHaveLength(4);
    slow.seats.at(-1)?.ended(dead);
    expect(slow.database.statistics().state).toBe('broken');
    await vi.advanceTimersByTimeAsync(2 * limits.reopenMillisMin);
    expect(slow.seats).toHaveLength(4);
    slow.clock.advance(2 * limits.reopenMillisMin);
    await vi.advanceTimersByTimeAsync(2 * limits.reopenMillisMin);
    expect(slow.seats).toHaveLength(5);
  });

  it.each([
    ['that are paused', { exist: true, isPaused: true }],
    ['of which there are none', noSchedules],
  ])('waits for a request where it is broken: one %s', async (_, schedules) => {
    const slow = await broken(schedules);
    await vi.advanceTimersByTimeAsync(10 * limits.reopenMillisMax);
    expect(slow.seats).toHaveLength(3);
  });

  it('is not opened again after it was ended', async () => {
    const slow = new Slow(openTiny);
    slow.schedules = { exist: true, isPaused: false };
    for (let round = 0; round < 3; round += 1) slow.seats.at(-1)?.ended(dead);
    await slow.database.close();
    slow.clock.advance(limits.reopenMillisMin);
    await vi.advanceTimersByTimeAsync(limits.reopenMillisMin);
    expect(slow.seats).toHaveLength(3);
  });

  it('tells the next actor which run ended the last one, until one serves', () => {
    const slow = new Slow(openTiny);
    slow.seats[0]?.opened(opening);
    slow.seats[0]?.ended({ ...dead, scheduled: mark });
    const failedSchedule = { mark, message: 'gone' };
    expect(slow.starts[1]?.mode).toMatchObject({ failedSchedule, skipFirstDisconnect: false });
    // It was recording that.
    slow.seats[1]?.ended({ ...dead, scheduled: mark });
    expect(slow.starts[2]?.mode).toMatchObject({ failedSchedule, skipFirstDisconnect: false });
    slow.seats[2]?.opened(opening);
    slow.seats[2]?.ended(dead);
    expect(slow.starts[3]?.mode).toMatchObject({ failedSchedule: undefined });
  });

  it('tells each actor whether they are paused', () => {
    const slow = new Slow(openTiny);
    slow.schedules = { exist: true, isPaused: true };
    slow.seats[0]?.ended(dead);
    expect(slow.starts.map(({ schedulesPaused }) => schedulesPaused)).toEqual([false, true]);
  });
});

describe('a database that is closed', () => {
  it('does not wait for what a connection asked that ends with it', async () => {
    const slow = new Slow(openTiny);
    slow.seats[0]?.opened({
      description: undefined as never,
      offset: 1 as never,
      lastMicros: 0n,
      nextDueMicros: undefined,
    });
    const caller = { identity: callerIdentity(7n), rights: ownerRights, jwtPayload: '' };
    const sink = { deliver: () => undefined, ended: () => undefined };
    slow.database.live({ caller, connectionId: connectionNumber(7n), confirmed: true }, sink);
    let isClosed = false;
    void slow.database.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(10);
    expect(isClosed).toBe(true);
  });
});

describe('a copy that is let go', () => {
  const follower: DatabaseRole = {
    ...{ kind: 'follower', term: 1, leader: undefined, isLedElsewhere: true, isAtEnd: true },
    ...{ isWarm: true, seq: 1, end: { position: 1, chain: 1n, offset: 1 }, settledOffset: 1 },
  };

  it('[replication 9.2] cannot be opened before its files are gone', async () => {
    const slow = new Slow(openTiny);
    slow.seats[0]?.role?.(follower);
    const seen: unknown[] = [];
    const look = () => seen.push([slow.database.statistics().state, slow.seats.length]);
    const isGone = slow.database.member.letGo(() => {
      slow.database.open();
      look();
    });
    slow.database.open();
    expect(await isGone).toBe(true);
    look();
    slow.database.open();
    look();
    expect(seen).toEqual([
      ['opening', 1],
      ['closed', 1],
      ['opening', 2],
    ]);
  });

  it('[replication 9.2] goes when it is broken, too', async () => {
    const slow = new Slow(openTiny);
    const end = {
      cause: 'refused',
      message: '',
      running: undefined,
      reached: () => false,
    } as const;
    slow.seats[0]?.ended(end);
    expect(slow.database.statistics().state).toBe('broken');
    expect(await slow.database.member.letGo(() => undefined)).toBe(true);
    expect([slow.database.statistics().state, slow.seats.length]).toEqual(['closed', 1]);
    slow.database.open();
    expect(slow.seats).toHaveLength(2);
  });

  it('[replication 9.2] stays while it opens', async () => {
    const slow = new Slow(openTiny);
    let goes = 0;
    const letGo = () =>
      slow.database.member.letGo(() => {
        goes += 1;
      });
    expect(await letGo()).toBe(false);
    expect([slow.database.statistics().state, goes]).toEqual(['opening', 0]);
  });
});

describe('a database that has space again', () => {
  it('and is closed at that moment ends in time', async () => {
    const end = { cause: 'full', message: '', running: undefined, isUndone: true } as const;
    const opening = {
      description: undefined as never,
      offset: 1 as never,
      lastMicros: 0n,
      nextDueMicros: undefined,
    };
    const slow = new Slow(openTiny);
    slow.seats[0]?.opened(opening);
    slow.seats[0]?.ended({ ...end, reached: () => false });
    slow.seats[1]?.opened(opening);
    // The actor that reads is busy for longer than the close is allowed to take.
    slow.closesWhenKilled = true;
    await vi.advanceTimersByTimeAsync(limits.spaceLookMillis);
    expect(slow.database.statistics().state).toBe('opening');
    const closed = slow.database.close(100);
    await vi.advanceTimersByTimeAsync(100);
    await closed;
    expect([slow.database.statistics().state, slow.seats.length]).toEqual(['stopped', 2]);
  });
});
