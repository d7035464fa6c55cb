import { LaterVersionError } from '../schema/later-version.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { DiskError } from './disk.ts';
import { segmentFirstOffset, segmentName } from './segment.ts';

/** Where in the log something was found. */
export interface LogPlace {
  readonly file: string;
  /** Bytes from the start of the file. */
  readonly position: number;
  /** Offset of the commit that is, or should be, there. */
  readonly offset: number;
}

/**
 * The log is in a state that no crash leaves behind. Nothing was changed; the database is not
 * served until an operator decides.
 */
export class LogDamageError extends Error {
  override readonly name = 'LogDamageError';
  readonly reason: string;
  readonly place: LogPlace;
  /** True if it holds commits of two histories, each complete now or once. */
  readonly isForked: boolean;
  /** True if a later version wrote it, so that nothing may be wrong with it. */
  readonly isLater: boolean;

  constructor(reason: string, place: LogPlace, more: DamageDetail = {}) {
    const where = `${place.file}, position ${place.position}, offset ${place.offset}`;
    const advice = more.advice === undefined ? '' : `. ${more.advice}`;
    const options = more.cause === undefined ? {} : { cause: more.cause };
    const isForked = more.isForked === true;
    const isLater = more.isLater === true;
    const written = isLater ? 'a later version of reducerdb has written to the log' : undefined;
    const what = written ?? (isForked ? 'forked history' : 'log is damaged');
    super(`${what}: ${reason} (${where})${advice}`, options);
    this.reason = reason;
    this.place = place;
    this.isForked = isForked;
    this.isLater = isLater;
  }
}

/** A file is no valid snapshot of this database. An older one, or the log, is used instead. */
export class SnapshotDamageError extends Error {
  override readonly name = 'SnapshotDamageError';
  readonly reason: string;
  readonly file: string;
  /** Bytes from the start of the file. */
  readonly position: number;
  /** True if a later version wrote it, so that nothing may be wrong with it. */
  readonly isLater: boolean;

  constructor(
    reason: string,
    file: string,
    position: number,
    more: { readonly cause?: unknown; readonly isLater?: boolean } = {},
  ) {
    const options = more.cause === undefined ? {} : { cause: more.cause };
    super(`snapshot is damaged: ${reason} (${file}, position ${position})`, options);
    this.reason = reason;
    this.file = file;
    this.position = position;
    this.isLater = more.isLater === true;
  }
}

export interface DamageDetail {
  readonly cause?: unknown;
  /** The next step, in full sentences. */
  readonly advice?: string;
  readonly isForked?: boolean;
  readonly isLater?: boolean;
}

/** What an operator does with files of a later version. */
const laterAdvice =
  'Start that version or a later one, or put back a copy of the data folder from before that ' +
  'version was started';

/** A record that cannot be replayed; only a later version can if `cause` says so. */
export function replayError(place: LogPlace, cause: unknown): LogDamageError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof LaterVersionError) {
    return new LogDamageError(reason, place, { cause, isLater: true, advice: laterAdvice });
  }
  return new LogDamageError(`a record cannot be replayed: ${reason}`, place, { cause });
}

/** The first segment is missing: no other one can be read without it. */
export function beginningGoneError(reason: string): LogDamageError {
  const place = { file: segmentName(1, 1), position: 0, offset: 1 };
  const advice = 'Restore it from a backup: without it the log cannot be read';
  return new LogDamageError(reason, place, { advice });
}

/** `first`: the first segment, which is not the beginning, as no snapshot can be read instead. */
export function noSnapshotError(databaseIdentity: DatabaseIdentity, first: string): LogDamageError {
  const identity = databaseIdentity.toString(16).padStart(64, '0');
  const offset = segmentFirstOffset(first);
  const what = `no snapshot of database ${identity} can be read`;
  const reason = `${what}, and its log begins at offset ${offset}`;
  const advice = 'Restore it from a backup';
  return new LogDamageError(reason, { file: first, position: 0, offset }, { advice });
}

/** Commits of two services, or of two copies of a log, are mixed in one log. */
export function forkedError(
  reason: string,
  place: LogPlace,
  databaseIdentity: DatabaseIdentity,
): LogDamageError {
  const advice =
    'Two services have written to it, or two copies of it were mixed. Stop the service: ' +
    `${repairCommand(databaseIdentity)} shows what each has written, and keeps one of them`;
  return new LogDamageError(reason, place, { isForked: true, advice });
}

/** The command that shows the contents of a refused log, in backticks. */
export function repairCommand(databaseIdentity: DatabaseIdentity): string {
  return `\`reducerdb repair ${databaseIdentity.toString(16).padStart(64, '0')}${commandEnd}`;
}

/** Ends a command if its data folder is unknown. */
export const commandEnd = '` (with the --data-dir of the service)';

/** Whether a write failed for lack of space, and for no other reason. */
export function isForSpace(error: unknown): boolean {
  return (error instanceof DiskError || error instanceof LogBrokenError) && error.isForSpace;
}

/**
 * Another service may write to the folder of the log, so this one must not: two would give the same
 * offsets to different commits. Final for this service; opening the log again does not help.
 */
export class WriterError extends Error {
  override readonly name = 'WriterError';
}

/**
 * A write or sync failed, so the contents of the disk are unknown. Final for this log object;
 * opening the log again recovers everything durable. `cause` is the original error.
 */
export class LogBrokenError extends Error {
  override readonly name = 'LogBrokenError';

  /** True if there was no space to write. */
  get isForSpace(): boolean {
    return this.cause instanceof DiskError && this.cause.isForSpace;
  }

  constructor(cause: unknown) {
    super(`the log stopped: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
