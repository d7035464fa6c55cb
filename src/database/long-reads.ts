import { limits } from '../limits.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { Clock } from './clock.ts';
import type { Caller, SqlError, SqlOutcome } from './outcome.ts';
import type { PausedQuery } from './paused-query.ts';
import { StatementPlaces } from './statement-places.ts';
import type { Ticket } from './ticket.ts';
import type { DatabaseReply, TurnResult } from './turn.ts';

/** A request whose read was not finished after its first slice. */
export interface PausedRead {
  /** The connection whose end also ends the read, if any. */
  readonly connectionId: ConnectionNumber | undefined;
  /** True when the next slice will be its last, and short: other reads have read what it needs. */
  readonly isReady: boolean;
  /** True when its last slice can commit something. */
  readonly isWrite: boolean;
  /** Runs one slice. Returns the reply if it was the last. */
  resume(): DatabaseReply | undefined;
  /** Ends it because the program is about to be updated. */
  stop(): DatabaseReply;
  /** Ends it with an error. */
  cancel(error: string): DatabaseReply;
  /** Releases what it holds and does nothing else: the database writes no more. */
  abandon(): void;
}

/**
 * Reads that were not finished after their first slice, and writes that are still searching for the
 * rows to change, which is a read too. They continue at the end of each turn, after the queued
 * requests: round robin, within one slice of time altogether. So a request waits for at most one
 * slice, however many reads there are.
 *
 * Only one write runs at a time; the others wait for its end, in order, and hold nothing meanwhile.
 * Concurrent writes would force each other to search again, and hold memory only one can use.
 */
export class LongReads {
  readonly #clock: Clock;
  readonly #begin: (ticket: Ticket) => void;
  /** The next one to run comes first. */
  #reads: LongRead[] = [];
  readonly #readPlaces = new StatementPlaces(readPlaces);
  readonly #writePlaces = new StatementPlaces(writePlaces);
  /** The write in progress, which is one of the reads, and the writes waiting for its end. */
  #write: PausedRead | undefined;
  #waiting: LongRead[] = [];
  /** True if a read had its first slice in the current turn. */
  #hasBegun = false;
  #hasWritten = false;

  /** `begin` is called with the ticket of a read before it continues. */
  constructor(clock: Clock, begin: (ticket: Ticket) => void) {
    this.#clock = clock;
    this.#begin = begin;
  }

  /** Reads in progress; at least one while a write waits. */
  get count(): number {
    return this.#reads.length;
  }

  /** True when a write finished during the last `goOn`. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Adds a statement; returns its reply when there are too many. */
  addStatement(ticket: Ticket, query: PausedQuery): DatabaseReply | undefined {
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

  add(ticket: Ticket, read: PausedRead): void {
    this.#reads.push({ ticket, read });
    this.#hasBegun = true;
  }

  /**
   * Runs reads for one slice and returns the replies of those that finished. A turn in which a read
   * began has already used its slice.
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

  /** Ends all reads, as required before an update of the program. */
  stopAll(): TurnResult[] {
    return this.#endThose(
      () => true,
      (read) => read.stop(),
    );
  }

  /** Ends the reads of a connection that is leaving. */
  cancelOf(connectionId: ConnectionNumber, error: string): TurnResult[] {
    return this.#endThose(
      (read) => read.connectionId === connectionId,
      (read) => read.cancel(error),
    );
  }

  /** Drops all reads, for a database that no longer replies to anyone. */
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
  readonly ticket: Ticket;
  readonly read: PausedRead;
}

/** A statement keeps its connection until it is over; removing a temporary one ends it. */
class PausedStatement implements PausedRead {
  readonly connectionId: ConnectionNumber | undefined;
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

/** The error of statements that are ended by an update of the program. */
const endedByUpdate: SqlError = {
  code: 'sql.overBudget',
  message: 'The statement was stopped, because the program was updated while it ran; try again',
};
