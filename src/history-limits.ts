const mebibyte = 1024 * 1024;

/** The bounds of what is kept of a database's past. Part of `limits.ts`. */
export const historyLimits = {
  /** Log records after which a snapshot is due, and after which it is whatever it costs. */
  snapshotLogBytesMin: 64 * mebibyte,
  snapshotLogBytesMax: 1024 * mebibyte,
  /** Share of the time of a database that snapshots may take from one to the next. */
  snapshotCostShareMax: 0.04,
  /** Memory kept for a snapshot: so many bytes, or that share of the rows if it is more. */
  snapshotHeldBytesMin: 256 * mebibyte,
  snapshotHeldShareMax: 0.25,
  /** How long rows are read for it at a stretch, and how often it looks at the clock. */
  snapshotSliceMillisMin: 0.25,
  snapshotSliceMillisMax: 1,
  snapshotLookRows: 64,
  /** Entries of images of derived indexes between two looks. */
  snapshotLookEntries: 1_024,
  /** Share of the time of a busy database; the second while half of the held memory is used. */
  snapshotShareMax: 0.1,
  snapshotHurryShareMax: 0.25,
  /** A database without requests for this long is idle: it reads without pauses. */
  snapshotIdleMillis: 2,
  /** Blocks of rows that are on their way to be written. */
  snapshotBlocksMax: 4,
  /** Snapshots that are taken at the same time, in all databases of a service. */
  hostSnapshotsMax: 2,
  /** For how long one keeps others waiting, and when the thread that writes them ends. */
  snapshotPlaceMillisMax: 1_800_000,
  snapshotThreadIdleMillis: 10_000,
  /** Delay after a snapshot that could not be written; it doubles each time. */
  snapshotRetryMillisMin: 60_000,
  snapshotRetryMillisMax: 3_600_000,
  /** Jobs that run or wait: in a service, those of operators apart, of a caller, of a database. */
  jobsMax: 64,
  callerJobsMax: 8,
  databaseJobsMax: 8,
  /** Jobs remembered after their ends: of a caller, of all, and how long. */
  callerJobsKeptMax: 16,
  jobsKeptMax: 1_024,
  jobKeptMillis: 3_600_000,
  /** Snapshots that failed one after another, from which on a database is not healthy. */
  healthSnapshotFailuresMax: 3,
  /** Space that a snapshot must leave free: bytes, or a share of the disk if that is more. */
  snapshotFreeBytesMin: 1024 * mebibyte,
  snapshotFreeShareMin: 0.05,
  /** Interval between two lines in the service log about a snapshot that finds no space. */
  snapshotSpaceReportMillis: 3_600_000,
  /** What opening takes for the log: a clean stop takes a snapshot if it saves so much of it. */
  replayBytesPerMilli: 60_000,
  replayMillisAtStop: 500,
  /** What writing a snapshot takes, by estimate, and the share of the time to stop it may have. */
  snapshotBytesPerMilli: 100_000,
  snapshotStopShareMax: 0.5,
  /** What is kept of the history of a database, unless its owner or the operator says otherwise. */
  historyKeepMillis: 7 * 24 * 3_600_000,
  historyKeepBytes: 2048 * mebibyte,
  /** The same of the registry, which nobody sets. */
  registryKeepMillis: 30 * 24 * 3_600_000,
  /** Interval of looking whether something of a history can go, and of doing so for its age. */
  historyLookMillis: 10_000,
  historyAgeMillis: 300_000,
  /** Interval of doing so for a database that sleeps, and wakes for it. */
  historyAsleepMillis: 86_400_000,
  /** Delay after a pass over a history that failed; it doubles each time. */
  historyRetryMillisMin: 60_000,
  historyRetryMillisMax: 3_600_000,
  /** Bytes that passes write in a second. */
  historyBytesPerSecondMax: 32 * mebibyte,
  /** Times that a live check reads a history which is deleted and packed meanwhile. */
  verifyTriesMax: 5,
  /**
   * Live checks that run at the same time, those of operators apart; how many of them are deep; and
   * for how long one keeps others waiting.
   */
  hostVerifiesMax: 2,
  hostDeepVerifiesMax: 1,
  verifyTurnMillisMax: 1_800_000,
  /** Heap of the thread of a live check, and of a deep one, which has the program and all keys. */
  verifyHeapMebibytes: 64,
  deepVerifyHeapMebibytes: 512,
  /**
   * The history of a row: changes in an answer, unless it says how many; at most; characters of a
   * row that is shown, and of all in an answer; and how long it may take.
   */
  rowHistoryChanges: 100,
  rowHistoryChangesMax: 1_000,
  rowHistoryRowCharactersMax: 64 * 1024,
  rowHistoryCharactersMax: mebibyte,
  rowHistoryMillisMax: 20_000,
  /** How long an opening waits for the pass that the end of its database has stopped. */
  historyStopMillisMax: 1_000,
  /** For how long something keeps old commits from being deleted without making progress. */
  historyHoldMillisMax: 3_600_000,
  /** For how long deleting on request waits for an archive to read what would go. */
  historyForgetWaitMillisMax: 60_000,
  /** `historyHoldMillisMax` for a backup that a client reads over HTTP. */
  streamedHoldMillisMax: 300_000,
  /** Interval between two lines in the service log about a disk that is nearly full. */
  historySpaceReportMillis: 3_600_000,
  /** Log between the neighbours of a snapshot up to which it is not kept for reading the past. */
  snapshotGapBytesMax: 256 * mebibyte,
  /** Share that such snapshots may take of the bytes that history may take. */
  oldSnapshotsShareMax: 0.25,
  /** Free space below which history is given up: bytes, or a share of the disk if that is more. */
  historyFreeBytesMin: 1024 * mebibyte,
  historyFreeShareMin: 0.05,
  /** The index of a segment: all of it, bytes of the segment from one entry on, and entries. */
  segmentIndexBytesMax: mebibyte,
  segmentIndexStepBytes: 64 * 1024,
  segmentIndexEntriesMax: 4096,
} as const;
