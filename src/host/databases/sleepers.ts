import type { Clock } from '../../database/clock.ts';
import { TimeCounts, type TimeFigures } from '../../database/time-counts.ts';
import { limits } from '../../limits.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Rest, RestFacts, WakeReason } from '../supervision/rest.ts';
import { isTimeToWake, type Sleeping, wakeMillis } from './wake-plan.ts';

/** A database as far as its sleep is concerned. */
export interface Sleeper {
  readonly rest: Pick<Rest, 'isAsleep' | 'unusedMillis' | 'openMillis' | 'sleep' | 'wake'>;
  /** Resolves once it serves, rejects when it will not. */
  started(): Promise<void>;
}

export interface SleepersOptions {
  readonly find: (database: DatabaseIdentity) => Sleeper | undefined;
  /** Time without use after which a database sleeps; 0: none does. */
  readonly sleepAfterMillis: number;
  readonly clock: Clock;
}

/** How often databases fell asleep and woke, since the service started. */
export interface SleepFigures {
  readonly sleeps: number;
  readonly wakes: ReadonlyMap<WakeReason, number>;
  /** From the moment that one was woken until it served. */
  readonly wakeTimes: TimeFigures;
}

/**
 * Puts databases to sleep that nobody uses, a few at a time, and wakes those whose schedules are
 * due soon. It looks at them every now and then; requests wake databases without it.
 */
export class Sleepers {
  readonly #options: SleepersOptions;
  #timer: NodeJS.Timeout | undefined;
  /** Those that may be awake: looking at all, each second, would take too long. */
  readonly #awake = new Set<DatabaseIdentity>();
  readonly #falling = new Map<DatabaseIdentity, Promise<void>>();
  /** Those that sleep and have a run to come. */
  readonly #due = new Map<DatabaseIdentity, Sleeping>();
  /** The same by their due times; `undefined`: to be sorted again. */
  #queue: (readonly [DatabaseIdentity, Sleeping])[] | undefined;
  /** Those that were woken for a run, and open. */
  readonly #waking = new Set<DatabaseIdentity>();
  /** When that run is due: until then they stay awake. */
  readonly #expected = new Map<DatabaseIdentity, bigint>();
  #sleeps = 0;
  readonly #wakes = new Map<WakeReason, number>([
    ['request', 0],
    ['schedule', 0],
  ]);
  readonly #wakeTimes = new TimeCounts();

  constructor(options: SleepersOptions) {
    this.#options = options;
  }

  get figures(): SleepFigures {
    return { sleeps: this.#sleeps, wakes: this.#wakes, wakeTimes: this.#wakeTimes.figures() };
  }

  /** Looks often enough, until `close`. */
  start(): void {
    const { sleepAfterMillis } = this.#options;
    if (sleepAfterMillis === 0) return;
    const millis = Math.min(limits.sleepLookMillis, sleepAfterMillis / 4);
    this.#timer = setInterval(() => void this.look(), millis).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A database sleeps; these are the facts about it. */
  sleeps(database: DatabaseIdentity, { nextDueMicros, openMillis }: RestFacts): void {
    if (nextDueMicros === undefined) {
      this.forget(database);
      return;
    }
    this.#due.set(database, { dueMicros: nextDueMicros, openMillis });
    this.#queue = undefined;
  }

  /** It has fallen asleep just now. */
  fellAsleep(database: DatabaseIdentity, facts: RestFacts): void {
    this.#sleeps += 1;
    this.sleeps(database, facts);
  }

  /** It takes an actor, or is another one by that name. */
  opens(database: DatabaseIdentity): void {
    this.#awake.add(database);
  }

  /** It is gone. One that has woken may stay until its run would have been due. */
  forget(database: DatabaseIdentity): void {
    if (this.#due.delete(database)) this.#queue = undefined;
  }

  woke(reason: WakeReason, millis: number): void {
    this.#wakes.set(reason, (this.#wakes.get(reason) ?? 0) + 1);
    this.#wakeTimes.add(millis);
  }

  /** Begins what is to be done; resolves when that has ended. */
  async look(): Promise<void> {
    this.#wakeDue();
    const now = this.#options.clock.nowMicros();
    for (const [identity, due] of this.#expected) {
      if (due < now) this.#expected.delete(identity);
    }
    for (const identity of this.#awake) {
      if (this.#falling.size >= limits.fallingAsleepMax) break;
      const rest = this.#options.find(identity)?.rest;
      if (rest === undefined || rest.isAsleep) this.#awake.delete(identity);
      else if (this.#isUnused(identity, rest)) this.#putToSleep(identity, rest);
    }
    await Promise.all(this.#falling.values());
  }

  #isUnused(identity: DatabaseIdentity, rest: Sleeper['rest']): boolean {
    if (this.#expected.has(identity) || this.#falling.has(identity)) return false;
    const { sleepAfterMillis } = this.#options;
    return rest.unusedMillis(this.#aheadOf(rest)) >= sleepAfterMillis;
  }

  /** A run that is due within this time keeps a database awake. */
  #aheadOf(rest: Sleeper['rest']): number {
    return this.#options.sleepAfterMillis + limits.wakeSpareMillis + wakeMillis(rest);
  }

  #putToSleep(identity: DatabaseIdentity, rest: Sleeper['rest']): void {
    const done = rest
      .sleep(this.#aheadOf(rest))
      .then(() => undefined)
      .finally(() => this.#falling.delete(identity));
    this.#falling.set(identity, done);
  }

  /** Wakes as many as are due soon, the next one when one of them serves. */
  #wakeDue(): void {
    const { clock, find } = this.#options;
    while (this.#waking.size < limits.scheduledWakesMax) {
      const queue = this.#sorted();
      const now = clock.nowMicros();
      const [first] = queue;
      if (first === undefined || !isTimeToWake(sleepingOf(queue), now)) return;
      const [identity, { dueMicros }] = first;
      this.forget(identity);
      const database = find(identity);
      if (database?.rest.isAsleep !== true) continue;
      this.#waking.add(identity);
      this.#expected.set(identity, dueMicros);
      database.rest.wake();
      const ended = (): void => {
        this.#waking.delete(identity);
        this.#wakeDue();
      };
      // Its supervision reports why it does not serve.
      database.started().then(ended, ended);
    }
  }

  #sorted(): readonly (readonly [DatabaseIdentity, Sleeping])[] {
    this.#queue ??= [...this.#due].sort(([, one], [, other]) => {
      if (one.dueMicros === other.dueMicros) return 0;
      return one.dueMicros < other.dueMicros ? -1 : 1;
    });
    return this.#queue;
  }
}

function* sleepingOf(queue: readonly (readonly [DatabaseIdentity, Sleeping])[]) {
  for (const [, sleeping] of queue) yield sleeping;
}
