const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Bounds on migrations that programs declare. */
export const migrationLimits = {
  /** Rows that a program takes through a migration at once. */
  migrationBatchRows: 512,
  migrationBatchBytes: mebibyte,
  /** From more rows on, tables are rewritten beside the turns. */
  migrationOnlineRowsMin: 50_000,
  /** A slice beside the turns, and the share of the time of slices while others are served. */
  migrationSliceMillis: 5,
  migrationShare: 0.25,
  /** Without a request for so long, nobody is there who could have to wait. */
  migrationIdleMillis: 50,
  /** Changes of other commits that can wait to be taken over. */
  migrationBacklogRowsMax: 1_000_000,
  /** So few of them are taken over while writers are stopped. */
  migrationLastRowsMax: 256,
  /** Rows that break a unique constraint of the new tables, after which it is given up. */
  migrationConflictsMax: 10_000,
  /** While nobody is served: a whole migration, or a trial with its way back. */
  migrationStandstillMillisMax: 120_000,
  /** Rows that one stage makes, and between how many of them it looks whether to go on. */
  migrationMadeRowsMax: 100_000_000,
  migrationLookRows: 4_096,
  /** The tables of one stage take that much, or so many times what they are made from. */
  migrationMadeBytesMin: 512 * mebibyte,
  migrationMadeBytesFactor: 16,
  /** It is given up when less memory is free, which it looks up each time it has made so much. */
  migrationFreeBytesMin: 128 * mebibyte,
  migrationMeasuredBytes: 16 * mebibyte,
  /** Rows of one staged record, and rows that a migration made in its own record. */
  migrationStagedBytes: mebibyte,
  migrationInlineBytes: 8 * mebibyte,
  /** Rows of each table that a trial shows, with what became of them. */
  trialSamplesMax: 3,
  /** Rows that a trial compares with what comes of them there and back. */
  trialComparedRowsMax: 50_000,
  /** Between two reports on how far it is. */
  migrationReportMillis: 200,
  /** Between two lines about that in the log of the database. */
  migrationLogMillis: 5_000,
} as const;
