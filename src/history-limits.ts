const mebibyte = 1024 * 1024;

/** The bounds of what is kept of a database's past: snapshots. Part of `limits.ts`. */
export const historyLimits = {
  /** Memory kept for a snapshot: so many bytes, or that share of the rows if it is more. */
  snapshotHeldBytesMin: 256 * mebibyte,
  snapshotHeldShareMax: 0.25,
} as const;
