import { beforeEach, describe, expect, it } from 'vitest';
import { openTiny, tinyIdentity, tinyProgram } from '../../../test/support/tiny-database.ts';
import type { SnapshotOutcome } from '../../database/snapshots/snapshot-outcome.ts';
import type { TicketedRequest } from '../../database/turn.ts';
import { writeNumber } from '../../database/write-number.ts';
import { limits } from '../../limits.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { programHash } from '../linking/program-hash.ts';
import type { HistoryAnswer } from '../seats/history-task.ts';
import { nothingMeasured, type SeatEvents, type SeatMode } from '../seats/seat.ts';
import type { RestFacts } from './rest.ts';
import { noSchedules, type ScheduleState } from './schedule-state.ts';
import { SupervisedDatabase } from './supervised-database.ts';

const hour = 3_600_000;
const facts: RestFacts = {
  offset: 7,
  nextDueMicros: 5_000_000n,
  used: { rowBytes: 1, logBytes: 2, programBytes: 3 },
  openMillis: 40,
};

/** A database whose actors do what the test says. */
class World {
  readonly clock = new TestClock();
  readonly reports: string[] = [];
  readonly events: string[] = [];
  /** The actors, one after another, with what they were asked. */
  readonly seats: { readonly events: SeatEvents; readonly asked: TicketedRequest[] }[] = [];
  schedules: ScheduleState = noSchedules;
  offset = 1;
  /** How the next snapshots end; empty: they are kept waiting. */
  snapshots: SnapshotOutcome['kind'][] = ['taken'];
  endActor: () => void = () => undefined;
  /** True: actors take their time to finish. */
  isSlow = false;
  endTask: (answer: HistoryAnswer) => void = () => undefined;
  readonly database: SupervisedDatabase;

  constructor(mode: SeatMode | 'closed' | RestFacts = openTiny, isStored = true) {
    this.database = new SupervisedDatabase(
      {
        identity: tinyIdentity,
        clock: this.clock,
        hash: programHash,
        takeSeat: (_, events) => {
          const asked: TicketedRequest[] = [];
          this.seats.push({ events, asked });
          return {
            submit: (requests) => {
              asked.push(...requests);
              for (const { ticket, request } of requests) {
                if (request.kind === 'snapshot') this.#snapshot(events, ticket);
              }
            },
            setStorage: () => undefined,
            setEnv: () => undefined,
            history: () =>
              new Promise((resolve) => {
                this.endTask = resolve;
              }),
            close: () => {
              this.events.push('closing');
              if (!this.isSlow) return Promise.resolve();
              return new Promise((resolve) => {
                this.endActor = resolve;
              });
            },
            kill: () => this.endActor(),
          };
        },
        examine: () => Promise.resolve(tinyProgram.bytes),
        lines: () => undefined,
        ...(isStored && { logBytes: () => 5 }),
        schedules: () => this.schedules,
        rests: {
          fellAsleep: () => this.events.push('asleep'),
          woke: (reason, millis) => this.events.push(`woke for a ${reason} in ${millis} ms`),
        },
        report: (_, message) => this.reports.push(message),
        warn: (sentence) => this.reports.push(sentence),
      },
      mode,
    );
  }

  get state() {
    return this.database.statistics().state;
  }

  /** Lets the actor that opens serve. */
  serve(nextDueMicros?: bigint): void {
    const description = { programHash: 'ab' } as never;
    const offset = commitOffset(this.offset);
    this.seats.at(-1)?.events.opened({ description, offset, lastMicros: 0n, nextDueMicros });
  }

  /** The present actor has run these, and those that it was asked for. */
  answer(results: Parameters<SeatEvents['handOver']>[0]['results'], nextDueMicros?: bigint): void {
    const turn = { write: writeNumber(1), offset: commitOffset(this.offset), isDurable: true };
    const handed = { ...turn, nextDueMicros, results, commits: [] };
    this.seats.at(-1)?.events.handOver(handed);
  }

  /** Answers the requests for the program that the present actor has. */
  answerAll(): void {
    const asked = this.seats.at(-1)?.asked ?? [];
    this.answer(asked.map(({ ticket }) => ({ ticket, reply: { kind: 'program', program } })));
  }

  #snapshot(events: SeatEvents, ticket: TicketedRequest['ticket']): void {
    const kind = this.snapshots.shift();
    if (kind === undefined) return;
    const reply = { kind: 'snapshot', outcome: { kind, message: 'no space' } } as never;
    setImmediate(() => {
      const turn = { write: writeNumber(1), offset: commitOffset(this.offset), isDurable: true };
      const results = [{ ticket, reply }];
      events.handOver({ ...turn, nextDueMicros: undefined, results, commits: [] });
    });
  }
}

const program = tinyProgram;
const tick = () => new Promise((resolve) => setImmediate(resolve));

let world: World;
beforeEach(() => {
  world = new World();
  world.serve();
  world.clock.advance(hour);
});

describe('[living 6.6] a database that nobody uses', () => {
  it('sleeps after a snapshot, without an actor', async () => {
    const { database } = world;
    expect(database.rest.unusedMillis(0)).toBe(hour);
    expect(await database.rest.sleep(0)).toBe(true);
    expect([world.state, database.description, world.events]).toEqual([
      'asleep',
      undefined,
      ['closing', 'asleep'],
    ]);
    expect(world.seats[0]?.asked.map(({ request }) => request.kind)).toEqual(['snapshot']);
    expect([database.health().isFine, database.rest.unusedMillis(0)]).toEqual([true, 0]);
  });

  it('sleeps without a snapshot where none can be taken', async () => {
    world.snapshots = ['failed'];
    expect(await world.database.rest.sleep(0)).toBe(true);
  });

  it('is woken by a request, which is answered', async () => {
    await world.database.rest.sleep(0);
    const asked = world.database.program();
    expect([world.state, world.seats.length]).toEqual(['opening', 2]);
    world.clock.advance(30);
    world.serve();
    world.answerAll();
    expect(await asked).toBe(program);
    expect(world.events.at(-1)).toBe('woke for a request in 30 ms');
    expect(world.reports).toContain('wakes for a request');
    expect(world.database.statistics().restarts).toBe(0);
  });

  it('tells how long it takes to open, for the next time', async () => {
    await world.database.rest.sleep(0);
    world.database.rest.wake();
    world.clock.advance(30);
    world.serve(99n);
    expect(world.events.at(-1)).toBe('woke for a schedule in 30 ms');
    expect(world.database.rest.facts).toMatchObject({ openMillis: 30, nextDueMicros: 99n });
  });

  it('begins asleep where it was before, with what is known of it', () => {
    const asleep = new World(facts);
    expect([asleep.state, asleep.seats]).toEqual(['asleep', []]);
    expect(asleep.database.statistics()).toMatchObject({ offset: 7, used: facts.used });
    expect(asleep.database.rest.facts).toEqual(facts);
    asleep.database.open();
    expect(asleep.seats).toEqual([]);
    asleep.database.rest.wake();
    expect(asleep.state).toBe('opening');
  });

  it('is ended while it sleeps', async () => {
    await world.database.rest.sleep(0);
    await world.database.close();
    expect([world.state, world.seats.length]).toEqual(['stopped', 1]);
    world.database.rest.wake();
    expect(world.seats).toHaveLength(1);
  });
});

describe('[living 6.6] a request while a database falls asleep', () => {
  it('keeps it awake during the snapshot', async () => {
    const slept = world.database.rest.sleep(0);
    const asked = world.database.program();
    await tick();
    await tick();
    world.answer([{ ticket: 2 as never, reply: { kind: 'program', program } }]);
    expect([await asked, await slept, world.state]).toEqual([program, false, 'serving']);
    expect(world.events).toEqual([]);
  });

  it.each([1, 5])(
    'waits until the actor is gone, and wakes it again: %i of them',
    async (count) => {
      world.isSlow = true;
      const slept = world.database.rest.sleep(0);
      await expect.poll(() => world.events).toEqual(['closing']);
      expect(world.state).toBe('serving');
      const asked = Array.from({ length: count }, () => world.database.program());
      await tick();
      expect(world.seats).toHaveLength(1);
      world.endActor();
      expect(await slept).toBe(false);
      expect([world.state, world.seats.length]).toEqual(['opening', 2]);
      world.serve();
      await tick();
      world.answerAll();
      expect(await Promise.all(asked)).toEqual(asked.map(() => program));
      // The first actor was asked for nothing but the snapshot.
      expect(world.seats[0]?.asked).toHaveLength(1);
    },
  );

  it('waits, too, if it only wants to know what the database is', async () => {
    world.isSlow = true;
    const slept = world.database.rest.sleep(0);
    await expect.poll(() => world.events).toEqual(['closing']);
    const described = world.database.describe();
    world.endActor();
    expect(await slept).toBe(false);
    world.serve();
    expect(await described).toMatchObject({ programHash: 'ab' });
  });

  it('is answered by the next actor where this one crashes', async () => {
    world.isSlow = true;
    const slept = world.database.rest.sleep(0);
    await expect.poll(() => world.events).toEqual(['closing']);
    const asked = world.database.program();
    const end = { message: 'gone', running: undefined, reached: () => false };
    world.seats[0]?.events.ended({ ...end, cause: 'died' });
    expect([world.state, world.seats.length]).toEqual(['opening', 2]);
    world.endActor();
    expect(await slept).toBe(false);
    world.serve();
    await tick();
    world.answerAll();
    expect(await asked).toBe(program);
  });

  it('is answered before the database is closed', async () => {
    world.isSlow = true;
    const slept = world.database.rest.sleep(0);
    await expect.poll(() => world.events).toEqual(['closing']);
    const asked = world.database.program();
    const closed = world.database.close(hour);
    await tick();
    world.isSlow = false;
    world.endActor();
    expect(await slept).toBe(false);
    world.serve();
    await tick();
    world.answerAll();
    expect(await asked).toBe(program);
    await closed;
    expect([world.state, world.events.filter((event) => event === 'closing').length]).toEqual([
      'stopped',
      2,
    ]);
  });
});

it('[living 6.6] an actor that takes too long to finish is ended with its service', async () => {
  world.isSlow = true;
  const slept = world.database.rest.sleep(0);
  await expect.poll(() => world.events).toEqual(['closing']);
  await world.database.close(1);
  expect([await slept, world.state, world.seats.length]).toEqual([false, 'stopped', 1]);
});

describe('[living 6.6] what keeps a database awake', () => {
  it('is a request, and the time after it', () => {
    void world.database.program();
    expect(world.database.rest.unusedMillis(0)).toBe(0);
    world.clock.advance(hour);
    expect(world.database.rest.unusedMillis(0)).toBe(0);
  });

  it('is somebody who wants to know what it is', async () => {
    await world.database.describe();
    expect(world.database.rest.unusedMillis(0)).toBe(0);
    world.clock.advance(1_000);
    expect(world.database.rest.unusedMillis(0)).toBe(1_000);
  });

  it('is an export that may be read on', async () => {
    const asked = world.database.export({} as never, { kind: 'read', id: 1 });
    await tick();
    const reply = { kind: 'exported', outcome: { kind: 'ended' } } as never;
    world.answer([{ ticket: 1 as never, reply }]);
    await asked;
    world.clock.advance(limits.exportIdleMillisMax - 1);
    expect(world.database.rest.unusedMillis(0)).toBe(0);
    world.clock.advance(1);
    expect(world.database.rest.unusedMillis(0)).toBe(limits.exportIdleMillisMax);
  });

  it('is a connection that requests may name', async () => {
    const connected = world.database.connect({} as never, 1n as never);
    await tick();
    world.answer([{ ticket: 1 as never, reply: { kind: 'connected', refusal: undefined } }]);
    await connected;
    world.clock.advance(hour);
    expect(world.database.rest.unusedMillis(0)).toBe(0);
    const left = world.database.disconnect(1n as never);
    await tick();
    world.answer([{ ticket: 2 as never, reply: { kind: 'disconnected' } }]);
    await left;
    world.clock.advance(hour);
    expect(world.database.rest.unusedMillis(0)).toBe(hour);
  });

  it('is a connection, however quiet', () => {
    const sink = { deliver: () => undefined } as never;
    const live = world.database.live({ connectionId: 1n, confirmed: false } as never, sink);
    world.clock.advance(hour);
    expect(world.database.rest.unusedMillis(0)).toBe(0);
    expect(live).toBeDefined();
  });

  it('is a scheduled run that is due soon, unless schedules are paused', () => {
    world.answer([], world.clock.nowMicros() + 60_000_000n);
    world.clock.advance(1_000);
    expect(world.database.rest.unusedMillis(59_000)).toBe(0);
    expect(world.database.rest.unusedMillis(58_999)).toBe(1_000);
    world.schedules = { exist: true, isPaused: true };
    expect(world.database.rest.unusedMillis(59_000)).toBe(1_000);
  });

  it('is a procedure that runs for a schedule', () => {
    const schedules = { ...nothingMeasured.schedules, running: 1 };
    world.seats[0]?.events.memory({ ...nothingMeasured, schedules });
    expect(world.database.rest.unusedMillis(0)).toBe(0);
    world.seats[0]?.events.memory(nothingMeasured);
    expect(world.database.rest.unusedMillis(0)).toBe(hour);
  });

  it('is work on the files of its history', async () => {
    const asked = world.database.history({ kind: 'status', holds: [] });
    await tick();
    expect(world.database.rest.unusedMillis(0)).toBe(0);
    world.endTask({ kind: 'stopped' });
    await asked;
    expect(world.database.rest.unusedMillis(0)).toBe(hour);
  });

  it('is that it would be lost', async () => {
    const inMemory = new World(openTiny, false);
    inMemory.serve();
    inMemory.clock.advance(hour);
    expect(inMemory.database.rest.unusedMillis(0)).toBe(0);
    expect(await inMemory.database.rest.sleep(0)).toBe(false);
  });

  it('is that it commits something during the snapshot', async () => {
    world.snapshots = [];
    const slept = world.database.rest.sleep(0);
    await tick();
    world.offset = 2;
    world.snapshots = ['taken'];
    const ticket = world.seats[0]?.asked[0]?.ticket ?? (0 as never);
    const outcome = { kind: 'taken' } as never;
    world.answer([{ ticket, reply: { kind: 'snapshot', outcome } }]);
    expect([await slept, world.state]).toEqual([false, 'serving']);
  });
});
