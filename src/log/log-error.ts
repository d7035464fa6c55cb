import { DiskError } from './disk.ts';

/** Where in the log something was found. */
export interface LogPlace {
  readonly file: string;
  /** Bytes from the start of the file. */
  readonly position: number;
  /** Offset of the commit that is, or should be, there. */
  readonly offset: number;
}

/**
 * The log holds something that no crash leaves behind. Nothing was changed; the database is not
 * served until someone who knows decides.
 */
export class LogDamageError extends Error {
  override readonly name = 'LogDamageError';
  readonly reason: string;
  readonly place: LogPlace;

  /** `advice`: what to do about it, in full sentences. */
  constructor(reason: string, place: LogPlace, more: { cause?: unknown; advice?: string } = {}) {
    const where = `${place.file}, position ${place.position}, offset ${place.offset}`;
    const advice = more.advice === undefined ? '' : `. ${more.advice}`;
    const options = more.cause === undefined ? {} : { cause: more.cause };
    super(`log is damaged: ${reason} (${where})${advice}`, options);
    this.reason = reason;
    this.place = place;
  }
}

/** Whether something was not written, and nothing but that has happened, for want of space. */
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
 * A write or sync failed, so what the disk holds is not known any more. Final for this log object;
 * opening the log again recovers what is durable. `cause` says what happened.
 */
export class LogBrokenError extends Error {
  override readonly name = 'LogBrokenError';

  /** True: there was no space to write. */
  get isForSpace(): boolean {
    return this.cause instanceof DiskError && this.cause.isForSpace;
  }

  constructor(cause: unknown) {
    super(`the log stopped: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
