import type { Clock } from '../../database/clock.ts';
import type { Hold } from '../../history/retention.ts';
import { limits } from '../../limits.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HistoryFacts } from '../seats/history-task.ts';

export interface HoldOptions extends Hold {
  /** What it may keep on the disk. Absent: as long as it makes progress. */
  readonly bytesMax?: number;
  /** For how long without; absent: `limits.historyHoldMillisMax`. */
  readonly idleMillisMax?: number;
  /** Who reads a backup, in words. */
  readonly who?: string;
  /**
   * Whose forgetting ends it: that of the owner too, or of an operator alone. Absent: nobody's.
   */
  readonly endsFor?: 'owner' | 'operator';
  /** Has the holder read now what it holds, as far as it can. Absent: it comes when it comes. */
  readonly catchUp?: () => Promise<void>;
  /** Called when it keeps nothing any more although it was not released. */
  readonly dropped?: () => void;
}

/** One hold; it may have been dropped. */
export interface HeldHistory {
  readonly isDropped: boolean;
  /** It is still needed; `fromOffset`: from there on only. */
  progress(fromOffset?: number): void;
  release(): void;
}

/** Who holds a history, for people. */
export interface Holder extends Hold {
  readonly who: string | undefined;
  /** How long it holds without progress; `undefined`: it is bounded by bytes. */
  readonly idleMillisLeft: number | undefined;
  /** See `HoldOptions`. */
  readonly catchUp: (() => Promise<void>) | undefined;
}

export type HoldHistory = HistoryHolds['add'];

interface KeptHold extends HoldOptions {
  from: number;
  lastAt: number;
  isDropped: boolean;
}

/**
 * Who needs old commits of which database. Nobody keeps them without a bound: in time, or in bytes
 * for those who wait for something outside.
 */
export class HistoryHolds {
  readonly #clock: Pick<Clock, 'monotonicMillis'>;
  readonly #holds = new Map<DatabaseIdentity, Set<KeptHold>>();

  constructor(clock: Pick<Clock, 'monotonicMillis'>) {
    this.#clock = clock;
  }

  add(database: DatabaseIdentity, options: HoldOptions): HeldHistory {
    const lastAt = this.#clock.monotonicMillis();
    const hold: KeptHold = { ...options, from: options.fromOffset, lastAt, isDropped: false };
    const all = this.#holds.get(database) ?? new Set();
    this.#holds.set(database, all.add(hold));
    return {
      get isDropped() {
        return hold.isDropped;
      },
      progress: (fromOffset) => {
        hold.lastAt = this.#clock.monotonicMillis();
        hold.from = fromOffset ?? hold.from;
      },
      release: () => this.#remove(database, hold),
    };
  }

  /** Those of a database; what has made no progress for too long is dropped. */
  of(database: DatabaseIdentity): Hold[] {
    const holds = [...(this.#holds.get(database) ?? [])];
    const { historyHoldMillisMax } = limits;
    const isOver = ({ bytesMax, lastAt, idleMillisMax = historyHoldMillisMax }: KeptHold) =>
      bytesMax === undefined && this.#clock.monotonicMillis() - lastAt > idleMillisMax;
    for (const hold of holds.filter(isOver)) this.#drop(database, hold);
    return holds
      .filter(({ isDropped }) => !isDropped)
      .map(({ by, from }) => ({ by, fromOffset: from }));
  }

  /** A pass has counted what they keep: those that keep too much are dropped. */
  measured(database: DatabaseIdentity, held: HistoryFacts['held']): void {
    for (const hold of [...(this.#holds.get(database) ?? [])]) {
      const isSame = ({ by, fromOffset }: Hold) => by === hold.by && fromOffset === hold.from;
      const bytes = held.find(isSame)?.bytes ?? 0;
      if (bytes > (hold.bytesMax ?? Number.POSITIVE_INFINITY)) this.#drop(database, hold);
    }
  }

  /** Those of a database, with how long they hold. */
  holders(database: DatabaseIdentity): Holder[] {
    this.of(database);
    const now = this.#clock.monotonicMillis();
    return [...(this.#holds.get(database) ?? [])].map((hold) => {
      const { by, from, who, bytesMax, lastAt, catchUp } = hold;
      const { idleMillisMax = limits.historyHoldMillisMax } = hold;
      const idleMillisLeft = bytesMax === undefined ? lastAt + idleMillisMax - now : undefined;
      return { by, fromOffset: from, who, idleMillisLeft, catchUp };
    });
  }

  /** Its history is to be forgotten, by an operator or an owner: backups must not keep it. */
  dropForgotten(database: DatabaseIdentity, byOperator: boolean): void {
    for (const hold of [...(this.#holds.get(database) ?? [])]) {
      const { endsFor } = hold;
      if (endsFor === 'owner' || (endsFor === 'operator' && byOperator)) this.#drop(database, hold);
    }
  }

  /** The database is gone. */
  forget(database: DatabaseIdentity): void {
    for (const hold of [...(this.#holds.get(database) ?? [])]) this.#drop(database, hold);
  }

  #drop(database: DatabaseIdentity, hold: KeptHold): void {
    hold.isDropped = true;
    this.#remove(database, hold);
    hold.dropped?.();
  }

  #remove(database: DatabaseIdentity, hold: KeptHold): void {
    const all = this.#holds.get(database);
    all?.delete(hold);
    if (all?.size === 0) this.#holds.delete(database);
  }
}
