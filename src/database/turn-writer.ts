import { DiskError } from '../log/disk.ts';
import type { DatabaseCore } from './core.ts';
import type { Progress } from './progress.ts';
import type { Ticket } from './ticket.ts';
import { TimeCounts } from './time-counts.ts';
import type { DatabaseOwner, RollOutcome, TurnResult } from './turn.ts';
import { type WriteNumber, writeNumber } from './write-number.ts';

/** The parts of the actor that its writer reports to. */
export interface WriterSurroundings {
  readonly owner: Pick<DatabaseOwner, 'durable'>;
  readonly progress: Pick<Progress, 'writing'>;
  /** True: nothing more becomes durable, and no one is to be notified. */
  readonly isOver: () => boolean;
  /** Receives the error of a sync in the background. */
  readonly failed: (error: unknown) => void;
  /** Called when there are results that no turn has taken. */
  readonly wake: () => void;
}

/**
 * Writes the records of turns and makes them durable. At most one sync is in flight; the next one
 * covers all that was written since.
 */
export class TurnWriter {
  readonly #core: Pick<DatabaseCore, 'clock' | 'log' | 'store' | 'full'>;
  readonly #around: WriterSurroundings;
  /** Durations of the syncs. */
  readonly times = new TimeCounts();
  #sync: Promise<void> | undefined;
  #writes = writeNumber(0);
  #durableWrites = writeNumber(0);
  /** Those who have asked for the active segment to be sealed, and the answers to them. */
  #rollTickets: Ticket[] = [];
  #rolls = new Set<Promise<void>>();
  #results: TurnResult[] = [];

  constructor(
    core: Pick<DatabaseCore, 'clock' | 'log' | 'store' | 'full'>,
    around: WriterSurroundings,
  ) {
    this.#core = core;
    this.#around = around;
  }

  /** Number of the last write. */
  get last(): WriteNumber {
    return this.#writes;
  }

  /** Number of the last write that is durable. */
  get durable(): WriteNumber {
    return this.#durableWrites;
  }

  /** True if everything that was written is durable. */
  get isDurable(): boolean {
    return this.#writes === this.#durableWrites;
  }

  /** Hands the records of the turn to the operating system; false if there are none. */
  write(lastTicket: Ticket | undefined): boolean {
    const { log, store, full } = this.#core;
    if (full !== undefined) return false;
    const marks = store.takeSequenceMarks();
    if (marks.length > 0) log.appendMarks(marks);
    const hasWritten = log.hasUnwritten;
    if (hasWritten) {
      if (lastTicket !== undefined) this.#around.progress.writing(lastTicket);
      log.write();
      this.#writes = writeNumber(this.#writes + 1);
    }
    if (this.#rollTickets.length > 0) this.#roll();
    return hasWritten;
  }

  /** The active segment is sealed behind the records of this turn, and then it is answered. */
  roll(ticket: Ticket): void {
    this.#rollTickets.push(ticket);
  }

  /** Whether there are answers that no turn has taken. */
  get hasResults(): boolean {
    return this.#results.length > 0;
  }

  takeResults(): readonly TurnResult[] {
    return this.#results.length === 0 ? noResults : this.#results.splice(0);
  }

  #roll(): void {
    const tickets = this.#rollTickets.splice(0);
    const answer = (outcome: RollOutcome): void => {
      for (const ticket of tickets) {
        this.#results.push({ ticket, reply: { kind: 'rolled', outcome } });
      }
      this.#around.wake();
    };
    const roll = this.#core.log.roll().then(
      (place) => answer({ kind: 'sealed', place }),
      (error: unknown) => {
        if (error instanceof DiskError) answer({ kind: 'failed', message: error.message });
        else this.#around.failed(error);
      },
    );
    this.#rolls.add(roll);
    void roll.finally(() => this.#rolls.delete(roll));
  }

  /** False if the disk is slow or busy. */
  syncAtOnce(): boolean {
    if (this.#sync !== undefined || this.isDurable) return false;
    const { clock, log } = this.#core;
    const startedAt = clock.monotonicMillis();
    if (!log.syncAtOnce()) return false;
    this.times.add(clock.monotonicMillis() - startedAt);
    this.#durableWrites = this.#writes;
    return true;
  }

  /** Keeps a sync running whenever something written is not durable. */
  startSync(mayBlock = false): void {
    if (this.#sync !== undefined || this.isDurable) return;
    const write = this.#writes;
    const { offset } = this.#core.store;
    const { owner, isOver, failed } = this.#around;
    if (mayBlock && this.syncAtOnce()) {
      owner.durable(write, offset);
      return;
    }
    const { clock, log } = this.#core;
    const startedAt = clock.monotonicMillis();
    const done = (): void => {
      this.#sync = undefined;
      this.times.add(clock.monotonicMillis() - startedAt);
      if (isOver()) return;
      this.#durableWrites = write;
      owner.durable(write, offset);
      this.startSync();
    };
    this.#sync = log.sync().then(done, (error: unknown) => {
      failed(error);
      // Who waits for the end of syncs must not wait for this one again.
      this.#sync = undefined;
    });
  }

  /** Resolves once no sync is in flight, and no segment is being sealed. */
  async settled(): Promise<void> {
    await Promise.all(this.#rolls);
    while (this.#sync !== undefined) await this.#sync;
  }
}

const noResults: readonly TurnResult[] = [];
