const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Bounds of the static files that databases serve. They are part of `limits.ts`. */
export const siteLimits = {
  /** Static files of one database: their number, the bytes of all of them, and those of one. */
  siteFilesMax: 10_000,
  siteBytesMax: 1024 * mebibyte,
  siteFileBytesMax: 256 * mebibyte,
  /** The path of one, and the JSON that announces all of them. */
  sitePathBytesMax: 1_024,
  siteListBytesMax: 4 * mebibyte,
  /** A file `_headers`, its rules, and the headers of one rule. */
  siteHeadersBytesMax: 64 * kibibyte,
  siteHeaderRulesMax: 256,
  siteRuleHeadersMax: 32,
  /** Time for which a file that was replaced is still served. */
  siteEarlierMillis: 600_000,
  /** Sets of one database that were announced and not published, and for how long they are kept. */
  siteAnnouncedMax: 2,
  siteAnnouncedMillis: 3_600_000,
  /** Files that are uploaded at once to one database. */
  siteUploadsMax: 16,
  /** Files that are compressed at once, and the smallest that is. */
  siteCompressionsMax: 2,
  siteCompressBytesMin: 512,
  /** Files up to this size are compressed as well as it goes, which is slow. */
  siteCompressFullyBytesMax: 512 * kibibyte,
  /**
   * A file is read from disk and sent in pieces of this size. One answer has at most three in
   * memory, as many as the HTTP library reads ahead.
   */
  sitePieceBytes: 256 * kibibyte,
  siteAnswerHeldBytesMax: 768 * kibibyte,
  /** What hosts share of the sets that were served last; and how much of it one read takes. */
  siteRecordsKept: 3,
  siteRecordsReadMax: 32,
  /** Numbers that a host tries for its record, each of which another host has taken. */
  siteRecordTriesMax: 16,
  /** A file that could not be fetched from there is not asked for again for so long. */
  siteFetchAgainMillis: 30_000,
  siteFetchFailuresMax: 1_024,
  /** Files of all databases whose names are kept in memory. */
  siteFilesKeptMax: 200_000,
  /** `Host` headers for which it is remembered whether they name an app. */
  appHostsKeptMax: 1_024,
} as const;
