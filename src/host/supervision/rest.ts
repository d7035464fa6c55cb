import type { Clock } from '../../database/clock.ts';
import { Refusal } from '../../database/outcome.ts';
import type { SnapshotOutcome } from '../../database/snapshots/snapshot-outcome.ts';
import type { StorageUse } from '../../database/storage-quota.ts';
import type { Ticket } from '../../database/ticket.ts';
import type { Seat, SeatMemory } from '../seats/seat.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import type { OtherUses } from './other-uses.ts';
import type { ScheduleState } from './schedule-state.ts';

/** Who wakes a database. */
export type WakeReason = 'request' | 'schedule';

/** What the log says of it. */
export const wakeTexts: Readonly<Record<WakeReason, string>> = {
  request: 'wakes for a request',
  schedule: 'wakes because a schedule is due',
};

/** What is known of a database that sleeps, without opening it. */
export interface RestFacts {
  /** Its last commit. */
  readonly offset: number;
  /** When its next scheduled run is due; `undefined`: none is to come. */
  readonly nextDueMicros: bigint | undefined;
  /** Usage that counts against its quota. */
  readonly used: StorageUse;
  /** How long it took to open the last time. */
  readonly openMillis: number;
}

/** The database whose rest it is. */
export interface RestOwner {
  /** False: it is kept in memory, and would be lost. */
  readonly isStored: boolean;
  readonly life: RestingLife;
  /** How it is at this moment. */
  now(): RestState;
  snapshot(): Promise<SnapshotOutcome>;
}

/** See `DatabaseLife`. */
interface RestingLife {
  readonly isAsleep: boolean;
  readonly servingSeat: Seat | undefined;
  readonly figures: Pick<DatabaseStatistics, 'isReadOnly'>;
  readonly openMillis: number | undefined;
  sleep(): Promise<boolean>;
  wake(): void;
}

interface RestState {
  /** True while requests or connections are there, or answers that wait to be durable. */
  readonly isUsed: boolean;
  /** When it last got a request, or did something, by the monotonic clock. */
  readonly usedAt: number;
  readonly lastTicket: Ticket;
  /** When the next scheduled run is due, unless they are paused. */
  readonly nextDueMicros: bigint | undefined;
  readonly offset: number;
  readonly memory: Pick<SeatMemory, 'used' | 'schedules'>;
}

interface RestOptions {
  readonly uses: OtherUses;
  readonly clock: Clock;
  readonly schedules?: () => ScheduleState;
}

/** When one database may sleep, and how it goes to sleep. */
export class Rest {
  readonly #owner: RestOwner;
  readonly #options: RestOptions;
  readonly #before: RestFacts | undefined;

  /** `before`: it begins asleep, and this is known of it. */
  constructor(owner: RestOwner, options: RestOptions, before: RestFacts | undefined) {
    this.#owner = owner;
    this.#options = options;
    this.#before = before;
  }

  get isAsleep(): boolean {
    return this.#owner.life.isAsleep;
  }

  /** When its next scheduled run is due; `undefined`: none is to come, or they are paused. */
  get dueMicros(): bigint | undefined {
    if (this.#options.schedules?.().isPaused === true) return undefined;
    return this.#owner.now().nextDueMicros;
  }

  /** How long it took to open the last time; 0: that is not known. */
  get openMillis(): number {
    return this.#owner.life.openMillis ?? this.#before?.openMillis ?? 0;
  }

  get facts(): RestFacts {
    const { offset, memory, nextDueMicros } = this.#owner.now();
    return { offset, used: memory.used, nextDueMicros, openMillis: this.openMillis };
  }

  /**
   * For how long nobody has used it, though it serves; 0: it is in use, or a run of a schedule is
   * due within `aheadMillis`.
   */
  unusedMillis(aheadMillis: number): number {
    const { uses, clock } = this.#options;
    const now = clock.monotonicMillis();
    const askedAt = uses.askedAt(now);
    return this.#isUnused(aheadMillis) ? now - Math.max(this.#owner.now().usedAt, askedAt) : 0;
  }

  /**
   * Puts a database to sleep that nobody uses: takes a snapshot, unless nothing was committed since
   * the last one, and ends its actor. Where no snapshot can be taken it sleeps, too: the log has
   * everything. Resolves to true when it sleeps; somebody may have come meanwhile.
   */
  async sleep(aheadMillis: number): Promise<boolean> {
    if (!this.#isUnused(aheadMillis)) return false;
    const before = this.#owner.now();
    try {
      await this.#owner.snapshot();
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
    const { lastTicket, offset } = this.#owner.now();
    const hasCome = lastTicket > before.lastTicket + 1 || offset !== before.offset;
    return !hasCome && this.#isUnused(aheadMillis) && this.#owner.life.sleep();
  }

  /** Opens it before it is asked, because a schedule is due soon. */
  wake(): void {
    this.#owner.life.wake();
  }

  #isUnused(aheadMillis: number): boolean {
    const { isStored, life } = this.#owner;
    if (!isStored || life.servingSeat === undefined || life.figures.isReadOnly) return false;
    const { isUsed, memory } = this.#owner.now();
    const { uses, clock } = this.#options;
    if (isUsed || memory.schedules.running > 0) return false;
    if (uses.isUsedAt(clock.monotonicMillis())) return false;
    const due = this.dueMicros;
    return due === undefined || Number(due - clock.nowMicros()) > aheadMillis * 1_000;
  }
}
