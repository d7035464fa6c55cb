import { limits } from '../../limits.ts';

/** When a migration runs beside the turns, and in which portions. */
export interface MigrationSizes {
  /** From more rows on, tables are rewritten beside the turns. */
  readonly onlineRowsMin: number;
  /** Rows that a program takes at once. */
  readonly batchRows: number;
  readonly sliceMillis: number;
  /** So few rows that others have changed are taken over while writers are stopped. */
  readonly lastRowsMax: number;
  /** Absent: those in `limits.ts`. */
  readonly bounds?: MigrationBounds;
}

/** What a migration may take while it runs: see `run-bounds.ts`. */
export interface MigrationBounds {
  readonly standstillMillisMax: number;
  readonly madeRowsMax: number;
  /** So much is always allowed, and so many times the bytes that rows are made from. */
  readonly madeBytesMin: number;
  readonly madeBytesFactor: number;
  readonly freeBytesMin: number;
  /** Growth after which the memory of the machine is looked at. */
  readonly measuredBytes: number;
}

export const migrationBoundsOfLimits: MigrationBounds = {
  standstillMillisMax: limits.migrationStandstillMillisMax,
  madeRowsMax: limits.migrationMadeRowsMax,
  madeBytesMin: limits.migrationMadeBytesMin,
  madeBytesFactor: limits.migrationMadeBytesFactor,
  freeBytesMin: limits.migrationFreeBytesMin,
  measuredBytes: limits.migrationMeasuredBytes,
};

export const migrationSizesOfLimits: MigrationSizes = {
  onlineRowsMin: limits.migrationOnlineRowsMin,
  batchRows: limits.migrationBatchRows,
  sliceMillis: limits.migrationSliceMillis,
  lastRowsMax: limits.migrationLastRowsMax,
};
