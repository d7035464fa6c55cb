import { present } from '../assert.ts';
import type { MakeAlarm } from '../database/alarm.ts';
import type { Clock } from '../database/clock.ts';
import { TimeDuration } from '../values/time-duration.ts';
import { Timestamp } from '../values/timestamp.ts';
import { TestAlarms } from './test-alarms.ts';

/** One run of a schedule, as `TestClock.advance` returns it. */
export interface ScheduledRun {
  /** Name of the scheduled table; of a cron, that of its reducer. */
  readonly schedule: string;
  /** The reducer that ran. */
  readonly function: string;
  /** The row that was due; `undefined`: a cron. */
  readonly row: Readonly<Record<string, unknown>> | undefined;
  readonly due: Timestamp;
  readonly outcome: 'committed' | 'failed';
  /** Why it failed. */
  readonly error?: string;
}

/** What a test database needs of its clock, and users do not see. */
export interface ClockInside {
  readonly makeAlarm: MakeAlarm;
  /** Takes a run, to return it from `advance`. */
  ran(run: () => ScheduledRun): void;
}

const insides = new WeakMap<TestClock, ClockInside>();

export function insideOf(clock: TestClock): ClockInside {
  return present(insides.get(clock), 'what a clock has inside');
}

/** A clock that stands still until `advance` moves it. */
export class TestClock implements Clock {
  #micros: bigint;
  readonly #alarms = new TestAlarms();
  /** What has run since the present move began. */
  readonly #runs: (() => ScheduledRun)[] = [];
  /** Settles when the last of the requested moves has ended. */
  #moving: Promise<unknown> | undefined;

  constructor(start = Timestamp.fromDate(new Date('2025-01-01T00:00:00Z'))) {
    this.#micros = start.microsSinceUnixEpoch;
    insides.set(this, { makeAlarm: this.#alarms.make, ran: (run) => this.#ran(run) });
  }

  /** The `ctx.timestamp` of the next call. */
  get now(): Timestamp {
    return new Timestamp(this.#micros);
  }

  /**
   * Moves time forward by a duration, or by milliseconds. Schedules that become due on the way run
   * at their times; resolves when they have run, with what ran, in order. If nothing becomes due,
   * time has moved as soon as this returns.
   */
  advance(by: TimeDuration | number): Promise<readonly ScheduledRun[]> {
    const { micros } = typeof by === 'number' ? TimeDuration.fromMillis(by) : by;
    if (this.#moving === undefined && this.#alarms.first(this.#micros + micros) === undefined) {
      this.#micros += micros;
      return Promise.resolve([]);
    }
    const moved =
      this.#moving === undefined ? this.#move(micros) : this.#moving.then(() => this.#move(micros));
    const moving = moved.then(() => {
      if (this.#moving === moving) this.#moving = undefined;
    });
    this.#moving = moving;
    return moved;
  }

  nowMicros(): bigint {
    return this.#micros;
  }

  monotonicMillis(): number {
    return Number(this.#micros / 1000n);
  }

  async #move(micros: bigint): Promise<readonly ScheduledRun[]> {
    const until = this.#micros + micros;
    for (;;) {
      const alarm = this.#alarms.first(until);
      if (alarm === undefined) break;
      if (alarm.atMicros > this.#micros) this.#micros = alarm.atMicros;
      await alarm.ringOut();
    }
    this.#micros = until;
    return this.#runs.splice(0).map((run) => run());
  }

  #ran(run: () => ScheduledRun): void {
    if (this.#moving !== undefined) this.#runs.push(run);
  }
}
