const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const gibibyte = 1024 * mebibyte;
const dayMillis = 86_400_000;

/** The bounds of backups, archives and restores. Part of `limits.ts`. */
export const backupLimits = {
  /** Name of an object in a repository, in bytes. */
  objectNameBytesMax: 256,
  /** The file that makes a place a repository, and the state of one archive. */
  repositoryFileBytesMax: 64 * kibibyte,
  archiveStateBytesMax: 16 * mebibyte,
  /** A manifest, and what it can name. */
  manifestBytesMax: 64 * mebibyte,
  manifestDatabasesMax: 100_000,
  manifestObjectsMax: 1_000_000,
  /** Manifests, the newest first, that are searched for what is known of an object. */
  manifestsSearchedMax: 64,
  /** Backups that one list shows to an agent, and to people. */
  agentBackupsMax: 100,
  backupsListedMax: 10_000,
  /** Bytes that become one member of a gzip file. */
  backupPieceBytes: mebibyte,
  /** Keys that a repository is encrypted to, and keys that are tried to open it. */
  backupKeysMax: 32,
  /** What no manifest names is removed when it is older than this. */
  backupUnnamedMillisMin: dayMillis,
  /** A backup takes a new snapshot if there are more bytes of log since the newest one. */
  backupSnapshotLogBytesMax: 256 * mebibyte,
  /** New commits wait so long for each other before another backup seals a segment for them. */
  backupSealMillisMin: 1_000,
  /** A part of an upload; what fits in one is sent at once. */
  uploadPartBytes: 16 * mebibyte,
  uploadPartsMax: 10_000,
  /** How often one request to a store is sent, and how long is waited in between. */
  storeAttemptsMax: 5,
  storeRetryMillisMin: 200,
  storeRetryMillisMax: 10_000,
  /** Time for the head of an answer, which includes the upload, and for each piece of its body. */
  storeAnswerMillisMax: 300_000,
  storePieceMillisMax: 60_000,
  /** Heap of the thread that replays what was restored, for the other hosts of a cluster. */
  restoreHeapMebibytes: 2_048,
  /** Names that a store is asked for at once. */
  storeListPageMax: 1_000,
  /** Pages of one list, and what is read of an answer that is a page, or an error. */
  storeListPagesMax: 10_000,
  storePageBytesMax: 8 * mebibyte,
  storeErrorBytesMax: 64 * kibibyte,
  /** Log that an archive that cannot be reached keeps from being deleted. */
  archiveLagBytesMax: 8 * gibibyte,
  /** How often new commits are archived, unless that is configured; and the least. */
  archiveMillis: 10_000,
  archiveMillisMin: 1_000,
  /** How long the end of a service waits for the pass under way, and for one to be reported. */
  archiveCloseMillisMax: 3_000,
  archiveStallMillis: 120_000,
  /** How often one pass begins again because a file of the log was replaced meanwhile. */
  archiveTriesMax: 4,
  /** A new snapshot for an archive: log bytes since the last one, or times its size, or its age. */
  archiveBaseLogBytesMin: gibibyte,
  archiveBaseLogTimesMin: 4,
  archiveBaseMillisMax: 7 * dayMillis,
  /** How often an archive of a database without commits says that it is up to date. */
  archiveConfirmMillis: 300_000,
  /** Tails of one segment, beyond which one object takes their place. */
  archiveTailsMax: 32,
  /** Plans of one restore from an archive that deletes what it has replaced. */
  restorePlansMax: 16,
  /** A backup of a whole host waits so long for databases that open, and looks so often. */
  backupOpeningMillisMax: 120_000,
  backupOpeningLookMillis: 100,
  /** A backup or a restore says how far it is, at most this often. */
  backupProgressMillis: 100,
  /** A log that a restore in place has replaced is kept so long; how often that is looked at. */
  replacedKeptMillis: 7 * dayMillis,
  replacedLookMillis: 3_600_000,
  /** Repositories that a configuration can name. */
  repositoriesMax: 32,
  /** Lines of one epoch in an archive. */
  archiveLinesMax: 64,
} as const;
