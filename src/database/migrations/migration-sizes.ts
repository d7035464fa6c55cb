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
}

export const migrationSizesOfLimits: MigrationSizes = {
  onlineRowsMin: limits.migrationOnlineRowsMin,
  batchRows: limits.migrationBatchRows,
  sliceMillis: limits.migrationSliceMillis,
  lastRowsMax: limits.migrationLastRowsMax,
};
