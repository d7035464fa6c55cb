import { limits } from '../limits.ts';
import type { Clock } from './clock.ts';
import type { Caller, SqlError, SqlOutcome } from './outcome.ts';
import type { PausedQuery } from './paused-query.ts';
import { StatementPlaces } from './statement-places.ts';
import type { DatabaseReply, TurnResult } from './turn.ts';

/** A request whose read was not over after its first slice. */
export interface PausedRead {
  /** Its connection, if it ends with it. */
  readonly connectionId: bigint | undefined;
  /** True when the next slice will be its last, and short: others have read what it needs. */
  readonly isReady: boolean;
  /** True when its last slice may commit something. */
  readonly isWrite: boolean;
  /** Runs one slice. The reply, when that was the last. */
  resume(): DatabaseReply | undefined;
  /** Ends it because the program is about to be updated. */
  stop(): DatabaseReply;
  /** Ends it with an error. */
  cancel(error: string): DatabaseReply;
  /** Lets go of what it holds, and of nothing else: the database writes no more. */
  abandon(): void;
}

/**
 * Reads that were not over after their first slice, and writes that still find out what to change,
 * which is to read. They go on at the end of each turn, when the requests that waited have run: one
 * after another, each for a slice, for as long together as one slice lasts. So a request waits for
 * one slice at most, however many reads there are.
 *
 * Of the writes one goes on; the others wait for its end, in order, and hold nothing meanwhile.
 * Side by side they would make each other look again, and hold memory that only one can use.
 */
export class LongReads {
  readonly #clock: Clock;
  readonly #begin: (ticket: number) => void;
  /** The one whose turn it is comes first. */
  #reads: LongRead[] = [];
  readonly #readPlaces = new StatementPlaces(readPlaces);
  readonly #writePlaces = new StatementPlaces(writePlaces);
  /** The write that goes on, which is one of the reads, and those that wait for its end. */
  #write: PausedRead | undefined;
  #waiting: LongRead[] = [];
  /** A read had its first slice in the present turn. */
  #hasBegun = false;
  #hasWritten = false;

  /** `begin` is told which read goes on, before it does. */
  constructor(clock: Clock, begin: (ticket: number) => void) {
    this.#clock = clock;
    this.#begin = begin;
  }

  /** Those that go on. There is one while a write waits. */
  get count(): number {
    return this.#reads.length;
  }

  /** True when a write came to its end the last time that they went on. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Takes a statement in; its reply when there are too many. */
  addStatement(ticket: number, query: PausedQuery): DatabaseReply | undefined {
    const fault = this.#placesOf(query).take(query.caller);
    if (fault !== undefined) return replyOf(query.end(fault));
    const read = new PausedStatement(query);
    if (query.isWrite && this.#write !== undefined) {
      query.startAgain();
      this.#waiting.push({ ticket, read });
      this.#hasBegun = true;
      return undefined;
    }
    if (query.isWrite) this.#write = read;
    this.add(ticket, read);
    return undefined;
  }

  #placesOf({ isWrite }: Pick<PausedRead, 'isWrite'>): StatementPlaces {
    return isWrite ? this.#writePlaces : this.#readPlaces;
  }

  add(ticket: number, read: PausedRead): void {
    this.#reads.push({ ticket, read });
    this.#hasBegun = true;
  }

  /**
   * Lets reads go on for one slice and returns the replies of those that are over now. A turn in
   * which a read has begun has had its slice.
   */
  goOn(): TurnResult[] {
    const hadSlice = this.#hasBegun;
    this.#hasBegun = false;
    this.#hasWritten = false;
    return hadSlice ? [] : this.#takeSlice();
  }

  #takeSlice(): TurnResult[] {
    const results: TurnResult[] = [];
    const end = this.#clock.monotonicMillis() + limits.readSliceMillisMax;
    const later: LongRead[] = [];
    const reads = this.#reads;
    this.#reads = [];
    let isOver = false;
    for (const [at, one] of reads.entries()) {
      if (isOver && !one.read.isReady) {
        this.#reads.push(one);
        continue;
      }
      this.#begin(one.ticket);
      const reply = one.read.resume();
      if (reply === undefined) later.push(one);
      else results.push(this.#ended(one, reply));
      if (reply !== undefined && one.read.isWrite) this.#hasWritten = true;
      isOver = at < reads.length - 1 && this.#clock.monotonicMillis() >= end;
    }
    this.#reads.push(...later);
    return results;
  }

  /** Ends all reads, as each does before an update of the program. */
  stopAll(): TurnResult[] {
    return this.#endThose(
      () => true,
      (read) => read.stop(),
    );
  }

  /** Ends the reads that wait for a connection which leaves. */
  cancelOf(connectionId: bigint, error: string): TurnResult[] {
    return this.#endThose(
      (read) => read.connectionId === connectionId,
      (read) => read.cancel(error),
    );
  }

  /** Forgets all reads, for a database that answers nobody any more. */
  abandon(): void {
    for (const { read } of [...this.#reads, ...this.#waiting]) read.abandon();
    this.#reads = [];
    this.#waiting = [];
  }

  #endThose(
    isMeant: (read: PausedRead) => boolean,
    end: (read: PausedRead) => DatabaseReply,
  ): TurnResult[] {
    const meant = [...this.#reads, ...this.#waiting].filter(({ read }) => isMeant(read));
    if (meant.length === 0) return [];
    this.#reads = this.#reads.filter(({ read }) => !isMeant(read));
    this.#waiting = this.#waiting.filter(({ read }) => !isMeant(read));
    return meant.map((one) => {
      this.#begin(one.ticket);
      return this.#ended(one, end(one.read));
    });
  }

  #ended({ ticket, read }: LongRead, reply: DatabaseReply): TurnResult {
    if (read instanceof PausedStatement) this.#placesOf(read).giveBack(read.caller);
    if (read === this.#write) {
      const next = this.#waiting.shift();
      this.#write = next?.read;
      if (next !== undefined) this.#reads.push(next);
    }
    return { ticket, reply };
  }
}

interface LongRead {
  readonly ticket: number;
  readonly read: PausedRead;
}

/** A statement keeps its connection until it is over; it ends with one of its own. */
class PausedStatement implements PausedRead {
  readonly connectionId: bigint | undefined;
  readonly isReady = false;
  readonly isWrite: boolean;
  readonly caller: Caller;
  readonly #query: PausedQuery;

  constructor(query: PausedQuery) {
    this.#query = query;
    this.isWrite = query.isWrite;
    this.caller = query.caller;
    this.connectionId = query.connectionId;
  }

  resume(): DatabaseReply | undefined {
    const outcome = this.#query.resume();
    return outcome === undefined ? undefined : replyOf(outcome);
  }

  stop(): DatabaseReply {
    return replyOf(this.#query.end(endedByUpdate));
  }

  cancel(message: string): DatabaseReply {
    return replyOf(this.#query.end({ code: 'sql.overBudget', message }));
  }

  abandon(): void {
    this.#query.abandon();
  }
}

function replyOf(outcome: SqlOutcome): DatabaseReply {
  return { kind: 'queried', outcome };
}

const readPlaces = {
  max: limits.longReadsMax,
  callerMax: limits.callerLongReadsMax,
  othersMax: limits.othersLongReadsMax,
  plural: 'long statements',
  advice: 'try again when one of them has ended, or narrow its WHERE clause or add an index for it',
};

const writePlaces = {
  max: limits.longWritesMax,
  callerMax: limits.callerLongWritesMax,
  othersMax: limits.longWritesMax,
  plural: 'large writes',
  advice: 'they run one after another; try again when one of them has ended',
};

/** What statements are told that an update of the program ends. */
const endedByUpdate: SqlError = {
  code: 'sql.overBudget',
  message: 'The statement was stopped, because the program was updated while it ran; try again',
};
