import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Epoch } from './epoch.ts';
import type { LogRecord } from './record.ts';
import type { SnapshotLoading, SnapshotPlace } from './snapshot.ts';

/** How a commit log is opened. */
export interface LogOptions {
  readonly databaseIdentity: DatabaseIdentity;
  /** Create a new log if there is none; otherwise its absence is damage. */
  readonly create: boolean;
  /** 32 random bits, used when a log is created. */
  readonly salt: number;
  /** 64 random bits, used when a log is created. */
  readonly epoch: Epoch;
  /**
   * Receives the newest snapshot beside the log that can be used; `onRecord` then gets the records
   * behind it. Absent: the log is read from its first record.
   */
  readonly snapshots?: SnapshotLoading;
  /**
   * Called during `open` for each record in order. Byte arrays in it are valid during the call
   * only. An error it throws ends `open` with a `LogDamageError` that names the place.
   */
  readonly onRecord: (record: LogRecord) => void;
  /** Receives full sentences about what recovery cut off. */
  readonly warn: (message: string) => void;
  readonly segmentBytes?: number;
  /** True if nothing is written, and nothing may be appended, because there is no space. */
  readonly isReadOnly?: boolean;
  /**
   * Schedules `work` to run a little later, at most one at a time: the mark beside the log then
   * follows what became durable meanwhile. Absent: it follows each sync.
   */
  readonly later?: (work: () => void) => void;
  /**
   * True: other hosts have the same log, and a shared one decides what is durable. The log then
   * takes what they wrote (`follow`), or appends while this host leads (`lead`). What is missing
   * here can be fetched, so recovery cuts off whatever cannot be read.
   */
  readonly isMember?: boolean;
}

/** A place in a log, between two records; the next one goes into `segment`, or a later one. */
export type LogPlace = Omit<SnapshotPlace, 'begunMicros'>;
