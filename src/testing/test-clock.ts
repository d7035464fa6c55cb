import { present } from '../assert.ts';
import type { MakeAlarm } from '../database/alarm.ts';
import type { Clock } from '../database/clock.ts';
import type { CallCounts } from '../host/lanes/lane-sleeps.ts';
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
  /** A scheduled procedure is about to run. */
  began(): void;
  /** True while one computes: whatever else is due waits. */
  isHeld(): boolean;
  /** Takes a run, to return it from `advance`; one of a procedure was announced. */
  ran(target: 'reducer' | 'procedure', run: () => ScheduledRun): void;
  /** Resolves when an actor sets its alarm, which it does when it has nothing more to do. */
  rested(): Promise<void>;
  /** Takes how many procedures run, and wait. */
  counted(calls: CallCounts): void;
  /** Marks a call of the test as running, as long as the promise is not settled. */
  during<Value>(call: Promise<Value>): Promise<Value>;
}

const insides = new WeakMap<TestClock, ClockInside>();

export function insideOf(clock: TestClock): ClockInside {
  return present(insides.get(clock), 'what a clock has inside');
}

/** A clock that stands still until `advance` moves it. */
export class TestClock implements Clock {
  #micros: bigint;
  readonly #alarms = new TestAlarms(() => this.#wasSet());
  /** What `advance` is to return. */
  readonly #runs: (() => ScheduledRun)[] = [];
  /** Scheduled procedures that have not ended, or whose actor is still at work with their end. */
  #underWay = 0;
  /** Those of them that have ended. */
  #ended = 0;
  /** Settles when the last of the requested moves has ended. */
  #moving: Promise<unknown> | undefined;
  /** Calls of the test that have no result yet. */
  #callCount = 0;
  #counts: CallCounts = { busy: 0, waiting: 0 };
  #whenAtRest: (() => void)[] = [];

  constructor(start = Timestamp.fromDate(new Date('2025-01-01T00:00:00Z'))) {
    this.#micros = start.microsSinceUnixEpoch;
    insides.set(this, {
      makeAlarm: this.#alarms.make,
      began: () => {
        this.#underWay += 1;
      },
      isHeld: () => this.#isHeld,
      ran: (target, run) => this.#ran(target, run),
      rested: () => this.#alarms.nextSet(),
      counted: (counts) => {
        this.#counts = counts;
        this.#lookForRest();
      },
      during: (call) => this.#during(call),
    });
  }

  /** The `ctx.timestamp` of the next call. */
  get now(): Timestamp {
    return new Timestamp(this.#micros);
  }

  /**
   * Moves time forward by a duration, or by milliseconds. Schedules that become due on the way run
   * at their times, and so do procedures whose `ctx.sleep` ends; resolves when they have run, with
   * the schedules that ran since the last move, in order. First it waits until every call that runs
   * has ended or sleeps; it waits for requests that procedures send. If nothing runs and nothing
   * becomes due, time has moved as soon as this returns.
   */
  advance(by: TimeDuration | number): Promise<readonly ScheduledRun[]> {
    const { micros } = typeof by === 'number' ? TimeDuration.fromMillis(by) : by;
    const isQuiet = this.#moving === undefined && this.#isAtRest;
    if (isQuiet && this.#alarms.first(this.#micros + micros) === undefined) {
      this.#micros += micros;
      return Promise.resolve(this.#takeRuns());
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
      await this.#untilAtRest();
      const alarm = this.#alarms.first(until);
      if (alarm === undefined) break;
      if (alarm.atMicros > this.#micros) this.#micros = alarm.atMicros;
      await alarm.ringOut();
    }
    this.#micros = until;
    return this.#takeRuns();
  }

  #takeRuns(): readonly ScheduledRun[] {
    return this.#runs.splice(0).map((run) => run());
  }

  /** True when every call of the test and every scheduled procedure sleeps, and no other runs. */
  get #isAtRest(): boolean {
    const { busy, waiting } = this.#counts;
    return busy === 0 && this.#callCount + this.#underWay <= waiting;
  }

  get #isHeld(): boolean {
    const { busy, waiting } = this.#counts;
    return this.#underWay > 0 && (busy > 0 || this.#underWay > waiting);
  }

  async #during<Value>(call: Promise<Value>): Promise<Value> {
    this.#callCount += 1;
    try {
      return await call;
    } finally {
      this.#callCount -= 1;
      this.#lookForRest();
    }
  }

  #untilAtRest(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenAtRest.push(resolve);
      this.#lookForRest();
    });
  }

  #lookForRest(): void {
    if (!this.#isAtRest) return;
    for (const resolve of this.#whenAtRest.splice(0)) resolve();
  }

  #ran(target: 'reducer' | 'procedure', run: () => ScheduledRun): void {
    if (target === 'procedure') this.#ended += 1;
    this.#runs.push(run);
  }

  /** An actor has nothing to do for now: the ends of its procedures are dealt with. */
  #wasSet(): void {
    this.#underWay -= this.#ended;
    this.#ended = 0;
    this.#lookForRest();
  }
}
