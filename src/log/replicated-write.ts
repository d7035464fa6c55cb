import type { LogPoint } from './log-point.ts';

/** What one write of a commit log handed to its disk. */
export interface LogWrite {
  /** Whole records; none if the write only began a segment. */
  readonly records: Uint8Array;
  /** Where the log ends behind them. */
  readonly end: LogPoint;
  /** The encoded header of the segment that begins with them. */
  readonly segment?: Uint8Array | undefined;
}

/** Where the records of a log go besides its own disk, while its host leads a database. */
export interface LogReplicator {
  /** True while so much waits that nothing more may be appended. */
  readonly isFull: boolean;
  /** Takes what was written, which stays as it is. Throws when the host leads no more. */
  write(write: LogWrite): void;
  /** Resolves when everything written before the call is acknowledged; else rejects. */
  sync(): Promise<void>;
}
