import { limits } from '../limits.ts';
import type { Clock } from './clock.ts';
import type { SqlError, SqlOutcome } from './outcome.ts';
import type { PausedQuery } from './paused-query.ts';

/** The outcome of a read that had paused. */
export interface LongReadOutcome {
  readonly ticket: number;
  readonly outcome: SqlOutcome;
}

/**
 * Reads that were not over after their first slice. They go on at the end of each turn, when the
 * requests that waited have run: one after another, each for a slice, for as long together as one
 * slice lasts. So a request waits for one slice at most, however many reads there are.
 */
export class LongReads {
  readonly #clock: Clock;
  readonly #begin: (ticket: number) => void;
  /** The one whose turn it is comes first. */
  #reads: LongRead[] = [];
  /** A read had its first slice in the present turn. */
  #hasBegun = false;

  /** `begin` is told which read goes on, before it does. */
  constructor(clock: Clock, begin: (ticket: number) => void) {
    this.#clock = clock;
    this.#begin = begin;
  }

  get count(): number {
    return this.#reads.length;
  }

  /** Takes a read in; its outcome when there are too many. */
  add(ticket: number, query: PausedQuery): SqlOutcome | undefined {
    if (this.#reads.length >= limits.longReadsMax) return query.end(tooMany);
    this.#reads.push({ ticket, query });
    this.#hasBegun = true;
    return undefined;
  }

  /**
   * Lets reads go on for one slice and returns those that are over now. A turn in which a read has
   * begun has had its slice.
   */
  goOn(): LongReadOutcome[] {
    const hadSlice = this.#hasBegun;
    this.#hasBegun = false;
    return hadSlice ? [] : this.#takeSlice();
  }

  #takeSlice(): LongReadOutcome[] {
    const outcomes: LongReadOutcome[] = [];
    const end = this.#clock.monotonicMillis() + limits.readSliceMillisMax;
    for (let left = this.#reads.length; left > 0; left--) {
      const read = this.#reads.shift();
      if (read === undefined) break;
      this.#begin(read.ticket);
      const outcome = read.query.resume();
      if (outcome === undefined) this.#reads.push(read);
      else outcomes.push({ ticket: read.ticket, outcome });
      if (this.#clock.monotonicMillis() >= end) break;
    }
    return outcomes;
  }

  /** Ends all reads with an error. */
  endAll(error: SqlError): LongReadOutcome[] {
    const reads = this.#reads;
    this.#reads = [];
    return reads.map(({ ticket, query }) => {
      this.#begin(ticket);
      return { ticket, outcome: query.end(error) };
    });
  }

  /** Forgets all reads, for a database that answers nobody any more. */
  abandon(): void {
    for (const { query } of this.#reads) query.abandon();
    this.#reads = [];
  }
}

interface LongRead {
  readonly ticket: number;
  readonly query: PausedQuery;
}

const tooMany: SqlError = {
  code: 'sql.overBudget',
  message:
    `The statement takes long, and ${limits.longReadsMax} such statements run already; try again ` +
    'when one of them has ended, or narrow its WHERE clause or add an index for it',
};

/** What reads are told that an update of the program ends. */
export const endedByUpdate: SqlError = {
  code: 'sql.overBudget',
  message: 'The statement was stopped, because the program was updated while it ran; try again',
};
