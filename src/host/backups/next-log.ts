import type { LogPoint } from '../../backup/manifest.ts';

/** What has become the next log of a database that exists. */
export interface FilledLog {
  readonly at: LogPoint;
  readonly source: string;
  /** What it serves, in a folder, with the program; absent: what is served stays. */
  readonly site?: RestoredSite;
}

export interface RestoredSite {
  readonly folder: string;
  /** Hash of the program. */
  readonly program: string;
}

export interface NextLog {
  /** Bytes of its segments, and of all that is written. */
  readonly logBytes: number;
  readonly bytes: number;
  /** Puts it into a folder that is not there yet. */
  readonly fill: (directory: string) => Promise<FilledLog>;
}
