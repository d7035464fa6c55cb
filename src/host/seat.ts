import { type LiveFigures, noLiveFigures } from '../database/database.ts';
import type { DatabaseDescription } from '../database/description.ts';
import type { CommitOffset, RefusalBody } from '../database/outcome.ts';
import type { ProgramSource } from '../database/program-source.ts';
import type { StorageLimits, StorageUse } from '../database/storage-quota.ts';
import { type ActorTimes, noTimes } from '../database/time-counts.ts';
import type { TicketedRequest, TurnReport } from '../database/turn.ts';
import type { ModuleLogLine } from '../module/log-line.ts';
import type { OwnEnd } from './own-ends.ts';

/**
 * Where an actor sits: `local-seat.ts` in the caller's thread, `worker-seat.ts` on a thread of its
 * own. A seat holds one actor from its start to its end; `supervised-database.ts` takes a new seat
 * when an actor ended before its time.
 */
export interface Seat {
  /** Only after `opened`. Requests are run in this order. */
  submit(requests: readonly TicketedRequest[]): void;
  /** Holds the actor to other limits from now on. */
  setStorage(limits: StorageLimits): void;
  /** Finishes what was submitted, makes it durable; resolves when the seat is empty. */
  close(): Promise<void>;
  /** Ends the actor at once, wherever it is; `ended` follows. */
  kill(end: Kill): void;
}

/** Takes a seat; everything that happens on it is told to `events`. */
export type SeatTaker = (start: SeatStart, events: SeatEvents) => Seat;

export interface SeatStart {
  readonly mode: SeatMode;
  /** Requests up to this ticket belong to earlier actors of the same database. */
  readonly lastTicket: number;
  /** How much it may hold. */
  readonly storage: StorageLimits;
  /** Says of a new database that it stands for one that was there; else `mode` says so. */
  readonly isReopening?: boolean;
  /** Bytes of the log that it is to read, if there is one. */
  readonly logBytes?: number;
}

export type SeatMode =
  | {
      readonly kind: 'open';
      /** True: the `client_disconnected` of the first connection left over does not run. */
      readonly skipFirstDisconnect: boolean;
      /** Why it is to be read only, in words for callers: its disk is full. */
      readonly full?: string | undefined;
    }
  /**
   * For a database of which a crash may have left the beginnings; `create` demands that there are
   * none.
   */
  | {
      readonly kind: 'openOrCreate';
      readonly program: ProgramSource;
      readonly createdMicros: bigint;
    }
  | { readonly kind: 'create'; readonly program: ProgramSource; readonly createdMicros: bigint };

export interface SeatEvents {
  /** While it opens: so many bytes of the log were read in all. */
  hasRead(bytes: number): void;
  /** The actor serves. All commits up to `offset` are durable. */
  opened(opening: SeatOpening): void;
  handOver(turn: TurnReport): void;
  durable(write: number, offset: CommitOffset): void;
  /** Lines of the module's log. */
  lines(lines: readonly StampedLine[]): void;
  /** For the operator: what recovery cut off, in full sentences. */
  warn(message: string): void;
  memory(memory: SeatMemory): void;
  /** The actor is gone without `close`; the last event. */
  ended(end: SeatEnd): void;
}

export interface SeatOpening {
  readonly description: DatabaseDescription;
  readonly offset: CommitOffset;
  /** When its last commit was accepted; requests get no earlier time. */
  readonly lastMicros: bigint;
}

/** Sizes and counters, told every now and then. */
export interface SeatMemory {
  readonly rowBytes: number;
  readonly indexBytes: number;
  /** What counts against its quota. */
  readonly used: StorageUse;
  readonly live: LiveFigures;
  readonly times: ActorTimes;
}

export const nothingMeasured: SeatMemory = {
  rowBytes: 0,
  indexBytes: 0,
  used: { rowBytes: 0, logBytes: 0, programBytes: 0 },
  live: noLiveFigures,
  times: noTimes,
};

export interface StampedLine {
  /** Microseconds since the Unix epoch. */
  readonly micros: bigint;
  readonly line: ModuleLogLine;
}

/**
 * Why an actor is ended from outside. `budget`: its module took too much. `silent`: it got no
 * further outside of any module.
 */
export interface Kill {
  readonly cause: 'budget' | 'silent' | 'bug' | 'closed';
  readonly message: string;
}

export interface SeatEnd {
  /**
   * `refused`: it could not start, and would not the next time. `log`: the disk failed. `full`: it
   * had no space. `sync`: it failed in a way after which its content is unknown. `bug`: an
   * assertion. `died`: the thread is gone, for want of memory or by a fault of the platform.
   * `superseded`: another service may write to the data folder. `killed`: somebody ended its
   * process, and not for its memory.
   */
  readonly cause: OwnEnd | 'killed' | Kill['cause'];
  readonly message: string;
  /** What a seat that could not start says to the caller who wanted it. */
  readonly body?: RefusalBody;
  /** True: nothing is left of what was not handed over, whatever `reached` says. */
  readonly isUndone?: boolean | undefined;
  /** What the actor was doing; its ticket when it ran a request. */
  readonly running: number | undefined;
  /** True when the records of this ticket were written, or were just being written. */
  readonly reached: (ticket: number) => boolean;
}
