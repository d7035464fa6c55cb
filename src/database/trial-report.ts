/**
 * What a publish would do to the rows of this moment: the account of a migration that was carried
 * out and thrown away. Names are full canonical names.
 */
export interface TrialReport {
  /** The tables that are rewritten, made or dropped, in the order of their names. */
  readonly tables: readonly TrialTable[];
  /** Rows that the new unique constraints and keys do not allow. */
  readonly conflicts: readonly TrialConflict[];
  /** Position of the last migration that the samples went through, or that is left when they go
   * back; below zero: there is none. */
  readonly sampledTo: number;
  /** All assertions up to the first that could not be tried. */
  readonly assertions: readonly TrialAssertion[];
  /** Why the publish would fail, as it would say itself; `undefined`: it would not. */
  readonly failure: string | undefined;
  /** Open connections that the publish would end: clients whose queries or calls it breaks. */
  readonly clients: number;
  /** Bytes that are needed beside those that the database has, at the peak. */
  readonly memoryBytes: number;
  /** How long it took, in milliseconds; a publish needs about the same. */
  readonly millis: number;
  /** True: rows are rewritten beside the turns, and writers stop at the end only. */
  readonly isOnline: boolean;
  /** What the way back does to the result; `undefined`: no migration is applied, or it fails. */
  readonly back: TrialBack | undefined;
}

/**
 * The `down` steps, carried out on what a trial has made: tables before are those of the result.
 */
export interface TrialBack
  extends Pick<TrialReport, 'tables' | 'conflicts' | 'sampledTo' | 'assertions' | 'millis'> {
  /** False: nothing was carried out, and `failure` says why. */
  readonly isTried: boolean;
  /** The migrations that are undone, in that order. */
  readonly migrations: readonly string[];
  /** Why it is not possible to go back; `undefined`: it is. */
  readonly failure: string | undefined;
  /**
   * Tables of now with rows that do not come back as they are; `undefined`: there are too many
   * rows to compare them.
   */
  readonly changed: readonly ChangedRows[] | undefined;
}

export interface ChangedRows {
  readonly table: string;
  readonly rows: number;
}

export interface TrialTable {
  /** Before and after; `undefined` where it is made or dropped. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly rowsBefore: number;
  /** `undefined`: it failed, so nobody knows. */
  readonly rowsAfter: number | undefined;
  /** The first rows, at most `limits.trialSamplesMax`, and what became of each. */
  readonly samples: readonly TrialSample[];
}

/** Rows are encoded: before by the old definition, after by the one that `sampledTo` leads to. */
export interface TrialSample {
  readonly before: Uint8Array;
  readonly after: readonly { readonly table: string; readonly row: Uint8Array }[];
}

export interface TrialConflict {
  readonly table: string;
  readonly constraint: string;
  readonly columns: readonly string[];
  /** The values as errors show them, each with the number of its rows; at most ten. */
  readonly groups: readonly { readonly value: string; readonly rows: number }[];
  /** Groups that there are besides. */
  readonly more: number;
}

export interface TrialAssertion {
  readonly migration: string;
  readonly text: string;
  readonly holds: boolean;
}

/** What an update has taken. */
export interface UpdateFigures {
  /** Rows of the tables that it has rewritten. */
  readonly rows: number;
  /** From its first row until the swap, in milliseconds; and how long of it writers waited. */
  readonly millis: number;
  readonly pauseMillis: number;
}

/** How far a migration is. */
export interface MigrationProgress {
  /** The table that is rewritten, by the name that it has afterwards. */
  readonly table: string;
  /** Rows of all tables of the migration. */
  readonly done: number;
  readonly total: number;
}
