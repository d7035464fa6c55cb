import type { DatabaseDescription } from '../../database/description.ts';
import { type LiveFigures, noLiveFigures } from '../../database/live/live-figures.ts';
import type { CommitOffset, RefusalBody } from '../../database/outcome.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import {
  noScheduleFigures,
  type ScheduleFigures,
} from '../../database/schedules/schedule-figures.ts';
import type { FailedSchedule, ScheduledMark } from '../../database/schedules/scheduled-mark.ts';
import {
  noSnapshotFigures,
  type SnapshotFigures,
} from '../../database/snapshots/snapshot-outcome.ts';
import type { StorageLimits, StorageUse } from '../../database/storage-quota.ts';
import type { Ticket } from '../../database/ticket.ts';
import { type ActorTimes, noTimes } from '../../database/time-counts.ts';
import type { TicketedRequest, TurnReport } from '../../database/turn.ts';
import type { WriteNumber } from '../../database/write-number.ts';
import type { Epoch } from '../../log/epoch.ts';
import type { ModuleLogLine } from '../../module/log-line.ts';
import type { ActorEnv } from '../../module/module-env.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { SettledNote } from '../../shared-log/member-options.ts';
import type { Handed } from '../../shared-log/replicator.ts';
import type { CopyReading, DatabaseRole } from '../replication/database-role.ts';
import type { HistoryAnswer, HistoryTask } from './history-task.ts';
import type { OwnEnd } from './own-ends.ts';

/**
 * Where an actor sits: `local-seat.ts` in the caller's thread, `worker-seat.ts` on a thread of its
 * own. A seat holds one actor from its start to its end; `supervised-database.ts` takes a new seat
 * when an actor ended before its time.
 */
export interface Seat {
  /** Only after `opened`, or reads while it is `readable`. Requests are run in this order. */
  submit(requests: readonly TicketedRequest[]): void;
  /**
   * Nobody wants the result of this update any more: the actor sees that even while it reads no
   * messages, because it takes rows in one go. Absent: it has no thread of its own.
   */
  abandon?(ticket: Ticket): void;
  /** Holds the actor to other limits from now on. */
  setStorage(limits: StorageLimits): void;
  /** Replaces the configuration; calls that run later see this one. */
  setEnv(env: ActorEnv): void;
  /**
   * Does something with the files of its history, off its thread, while it serves; `signal` stops
   * that. Absent: the database is kept in memory.
   */
  history?(task: HistoryTask, signal?: AbortSignal): Promise<HistoryAnswer>;
  /**
   * Finishes submitted work, makes it durable; resolves when the seat is empty. Within
   * `snapshotMillis`, if given, a last snapshot may be taken.
   */
  close(snapshotMillis?: number): Promise<void>;
  /** Ends the actor at once, wherever it is; `ended` follows. */
  kill(end: Kill): void;
  /** Of a member of a cluster: has it look at the shared log at once. */
  wake?(): void;
  /** Of a member that follows: what the leader says of its commits. */
  noteSettled?(note: SettledNote): void;
  /** Of a member that leads: has it append something; see `ReplicationControl`. */
  renewLead?(): void;
  /** Of a member that follows: has its copy made ready for reads; `readable` tells. */
  prepareReads?(): void;
  /** Gives the database to another host; rejects where that was not done. */
  handOver?(to: Lead): Promise<void>;
}

/** Takes a seat; `events` receives everything that happens on it. */
export type SeatTaker = (start: SeatStart, events: SeatEvents) => Seat;

export interface SeatStart {
  readonly mode: SeatMode;
  /** Requests up to this ticket belong to earlier actors of the same database. */
  readonly lastTicket: Ticket;
  /** How much the database can hold. */
  readonly storage: StorageLimits;
  /** True: no scheduled run begins until the schedules are resumed. */
  readonly schedulesPaused: boolean;
  /** The configuration, without its secrets; absent: nothing is set. */
  readonly env?: ActorEnv | undefined;
  /** True: this new database stands for one that existed; else `mode` says so. */
  readonly isReopening?: boolean;
  /** Bytes of the log to read, if there is one. */
  readonly logBytes?: number;
  /** The term that this host gave away, if that ended the actor before. */
  readonly handedTerm?: number | undefined;
  /** Why a follower does not load its program for a while: it has ended the actor before. */
  readonly coldReason?: string | undefined;
  /** What has to be done before anything is read. */
  readonly after?: Promise<void> | undefined;
}

export type SeatMode =
  | {
      readonly kind: 'open';
      /** True: the `client_disconnected` of the first connection left over does not run. */
      readonly skipFirstDisconnect: boolean;
      /** Why it is read-only, in words for callers: its disk is full. */
      readonly full?: string | undefined;
      /** The scheduled run that ended the last actor. */
      readonly failedSchedule?: FailedSchedule | undefined;
    }
  /**
   * For a database of which a crash may have left the beginnings; `create` requires that none
   * exist.
   */
  | {
      readonly kind: 'openOrCreate';
      readonly program: ProgramSource;
      readonly createdMicros: bigint;
    }
  | { readonly kind: 'create'; readonly program: ProgramSource; readonly createdMicros: bigint };

export interface SeatEvents {
  /** Reports how many bytes of the log were read in all, while it opens. */
  hasRead(bytes: number): void;
  /** Of a member: reports how many bytes of the shared log came in all, while it opens. */
  hasFetched?(bytes: number): void;
  /** Reports whether its program is being linked, while it opens. */
  links(isLinking: boolean): void;
  /** The actor serves. All commits up to `offset` are durable. */
  opened(opening: SeatOpening): void;
  handOver(turn: TurnReport): void;
  durable(write: WriteNumber, offset: CommitOffset): void;
  /** Lines of the module's log. */
  lines(lines: readonly StampedLine[]): void;
  /** Reports to the operator what recovery cut off, in full sentences. */
  warn(message: string): void;
  memory(memory: SeatMemory): void;
  /** Reports this host's part in a database of a cluster, at each look and when it has changed. */
  role?(role: DatabaseRole): void;
  /** The copy of a member that follows takes reads from now on, or no more. */
  readable?(reading: CopyReading): void;
  /** The actor is gone without `close`; the last event. */
  ended(end: SeatEnd): void;
}

export interface SeatOpening {
  readonly description: DatabaseDescription;
  readonly offset: CommitOffset;
  /** When its last commit was accepted; no request gets an earlier time. */
  readonly lastMicros: bigint;
  /** See `TurnReport`. */
  readonly nextDueMicros: bigint | undefined;
  /** That of its log; absent: nobody asks. */
  readonly epoch?: Epoch;
}

/** Sizes and counters, reported every now and then. */
export interface SeatMemory {
  /** Rows of all tables. */
  readonly rowCount: number;
  readonly rowBytes: number;
  readonly indexBytes: number;
  /** Usage that counts against its quota. */
  readonly used: StorageUse;
  readonly live: LiveFigures;
  readonly times: ActorTimes;
  readonly schedules: ScheduleFigures;
  readonly snapshots: SnapshotFigures;
}

export const nothingMeasured: SeatMemory = {
  rowCount: 0,
  rowBytes: 0,
  indexBytes: 0,
  used: { rowBytes: 0, logBytes: 0, programBytes: 0 },
  live: noLiveFigures,
  times: noTimes,
  schedules: noScheduleFigures,
  snapshots: noSnapshotFigures,
};

export interface StampedLine {
  /** Microseconds since the Unix epoch. */
  readonly micros: bigint;
  readonly line: ModuleLogLine;
}

/**
 * Why an actor is ended from outside. `budget`: its module took too much. `silent`: it made no
 * progress outside of any module.
 */
export interface Kill {
  readonly cause: 'budget' | 'silent' | 'bug' | 'closed';
  readonly message: string;
  /** True: a read held it while its host may have to take over; the read itself is not at fault. */
  readonly isForTakeOver?: boolean | undefined;
}

/** Ends an actor that has not ended by itself when its service stops. */
export const killAtStop: Kill = { cause: 'closed', message: 'The service stopped.' };

export interface SeatEnd {
  /**
   * `refused`: it could not start, and would not the next time. `log`: the disk failed. `full`: the
   * disk had no space. `sync`: the disk failed in a way after which its content is unknown. `bug`:
   * an assertion. `died`: the thread is gone, for lack of memory or by a fault of the platform.
   * `superseded`: another service may write to the data folder. `killed`: something ended its
   * process, and not for its memory. `deposed`: another host leads the database.
   */
  readonly cause: OwnEnd | 'killed' | Kill['cause'];
  readonly message: string;
  /** The refusal that a seat that could not start gives to the caller who wanted it. */
  readonly body?: RefusalBody;
  /** True: nothing remains of what was not handed over, whatever `reached` says. */
  readonly isUndone?: boolean | undefined;
  /** See `Kill`. */
  readonly isForTakeOver?: boolean | undefined;
  /** The term that was given to another host, after everything that had begun was finished. */
  readonly handed?: Handed | undefined;
  /** Ticket of the request that the actor was running, if any. */
  readonly running: Ticket | undefined;
  /** The scheduled run that was under way, if any. */
  readonly scheduled?: ScheduledMark | undefined;
  /** True when the records of this ticket were written, or were being written. */
  readonly reached: (ticket: Ticket) => boolean;
}
