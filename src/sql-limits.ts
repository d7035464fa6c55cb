const mebibyte = 1024 * 1024;

/** Bounds on statements of SQL. */
export const sqlLimits = {
  /** The text of one SQL statement. */
  sqlBytesMax: 50_000,
  /** Parentheses around one SQL expression. */
  sqlParenthesesMax: 47,
  /** Terms of one AND/OR chain. */
  sqlChainTermsMax: 1_600,
  /** Depth of one SQL statement as a tree, with an AND/OR chain as one level: stages recurse. */
  sqlDepthMax: 500,
  /** Depth of one SQL statement through the common table expressions that refer to each other. */
  sqlTypedDepthMax: 1_200,
  /** Relations of one SQL statement, including those of its subqueries and row filters. */
  sqlRelationsMax: 512,
  /** Expressions of one SQL statement, where some stand for several: `x BETWEEN a AND b`. */
  sqlExpressionsMax: 100_000,
  /** Steps of one recursive query: each reads the rows of the one before it. */
  sqlRecursionStepsMax: 10_000,
  /** Prepared SQL statements that a database keeps, and the longest text of one. */
  sqlCachedStatementsMax: 512,
  sqlCachedTextLengthMax: 4_096,
  /** Time zones that SQL keeps ready, and offsets kept of each. */
  sqlTimeZonesMax: 64,
  sqlZoneOffsetsMax: 4_096,
  /** Wall-clock time of a part of an SQL statement that cannot pause: a subquery for one row. */
  sqlStallMillisMax: 250,
  /** Characters of a string that an SQL function builds, or that is the text of another value. */
  sqlTextCharactersMax: 2 ** 20,
  /** Work on one row, counted in rows, after which work that cannot be interrupted ends. */
  sqlRowWorkMax: 2 ** 20,
  /** Elements of an array that are looked up in a set at once, and the sets that are kept. */
  sqlArrayKeysMax: 2 ** 17,
  sqlArraySetsMax: 8,
  /** Worst-case steps of matching one string with `_`: the product of string and pattern length. */
  sqlMatchStepsMax: 2 ** 26,
  /** Characters of a LIKE pattern. */
  sqlPatternCharactersMax: 2 ** 17,
  /** Rows that one SQL statement may return. */
  sqlResultRowsMax: 1_000_000,
  /** Bytes of encoded rows that one SQL statement may return. */
  sqlResultBytesMax: 256 * mebibyte,
  /** Memory that one SQL statement can take besides its result: to sort, to group, to join. */
  sqlMemoryBytesMax: 256 * mebibyte,
  /**
   * Memory that a write can take, including what applying it will need: the rows it found, its
   * result, and copies of inserted rows (page, change set, log record) and deleted rows (the last
   * two). Less than one call can take, so that the statement is rejected before its database is
   * ended.
   */
  sqlWriteBytesMax: 384 * mebibyte,
  /**
   * Memory of reads under way, including paused ones and results: of one caller (all anonymous
   * callers are one), and of one database.
   */
  sqlCallerMemoryBytesMax: 512 * mebibyte,
  sqlDatabaseMemoryBytesMax: 768 * mebibyte,
  /** Uncounted memory that each of them can take, and the steps of what is counted. */
  sqlUncountedBytes: mebibyte,
} as const;
