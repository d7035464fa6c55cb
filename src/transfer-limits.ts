const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** The bounds of exports, imports, and projects that move here. Part of `limits.ts`. */
export const transferLimits = {
  /** Exports of one database at the same time, and those of one caller. */
  exportsMax: 8,
  callerExportsMax: 4,
  /** Rows that an export takes from a database at a time: their bytes, and how long it reads. */
  exportBlockBytes: 256 * kibibyte,
  exportSliceMillisMax: 1,
  /** How often it looks at the clock. */
  exportLookRows: 64,
  /** Time in which a client takes nothing before its export ends. */
  exportIdleMillisMax: 60_000,
  /** Imports of a service at the same time, and those of one caller. */
  importsMax: 16,
  callerImportsMax: 4,
  /** Rows of an import that are committed together, unless their encoded bytes are as many. */
  importBatchRows: 1_000,
  importBatchBytesMax: 8 * mebibyte,
  /** Encoded rows of an import that is one commit. */
  importAtomicBytesMax: 64 * mebibyte,
  /** Rows of one import that are skipped before it ends. */
  importSkippedMax: 10_000,
  /** What is shown of such a row. */
  importShownBytes: kibibyte,
  /** Blank lines of a text, so many more bytes than its rows have. */
  importBlankBytesMax: 16 * mebibyte,
  /** A row as text, imported or exported, and the commas and brackets in the JSON of one. */
  rowTextBytesMax: 80 * mebibyte,
  rowTextPartsMax: 2 ** 22,
  /** Unfinished rows that all imports of a service hold together. */
  importHeldBytesMax: 256 * mebibyte,
  /** The name of an import, and the ranges of batches that a database remembers. */
  importIdLengthMax: 128,
  importRangesMax: 1_000,
  /** The body of one import. */
  importBodyBytesMax: 2 ** 40,
  /**
   * What the command line sends of a file in one request: so many bytes, up to the end of a batch,
   * or the second number and a row. Imports are resumed by these: they must not change.
   */
  importPartBytes: 4 * mebibyte,
  importPartBytesMax: 16 * mebibyte,
  /** Heap of the thread that reads and writes rows as text, and when it ends. */
  rowThreadMebibytes: 2_048,
  rowThreadIdleMillis: 10_000,
  /** Files of a project that is moved from another server, and bytes of each that is read. */
  movedFilesMax: 20_000,
  movedFileBytesMax: 2 * mebibyte,
} as const;
