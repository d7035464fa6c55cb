import type { CommitOffset } from '../outcome.ts';

/** What became of a snapshot that was asked for. */
export type SnapshotOutcome =
  | {
      readonly kind: 'taken';
      /** The last commit that it has. */
      readonly offset: CommitOffset;
      readonly bytes: number;
      readonly rowCount: number;
      readonly millis: number;
    }
  /** Nothing was committed since that one. */
  | { readonly kind: 'kept'; readonly offset: CommitOffset }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'cancelled' }
  /** The database is kept in memory only. */
  | { readonly kind: 'off' };

/** The last snapshot, and counters since the database was opened. */
export interface SnapshotFigures {
  /** Offset of the newest snapshot, -1 if there is none, and when it was begun. */
  readonly offset: number;
  readonly begunMicros: number;
  /** Its bytes, and how long it took: in all, and of the time of the database. */
  readonly bytes: number;
  readonly millis: number;
  readonly costMillis: number;
  readonly taken: number;
  readonly failures: number;
  readonly givenUp: number;
  /** Tries since the last success that failed. */
  readonly failuresInRow: number;
  /** Rows of the one that is being taken, and how many of them were read; 0 if none is. */
  readonly rowCount: number;
  readonly rowsRead: number;
  /** Bytes kept for it. */
  readonly heldBytes: number;
  /** Bytes of the log since the newest one. */
  readonly logBytes: number;
}

export const noSnapshotFigures: SnapshotFigures = {
  ...{ offset: -1, begunMicros: 0, bytes: 0, millis: 0, costMillis: 0 },
  ...{ taken: 0, failures: 0, givenUp: 0, failuresInRow: 0 },
  ...{ rowCount: 0, rowsRead: 0, heldBytes: 0, logBytes: 0 },
};
