import type { DatabaseCore } from './core.ts';
import type { LiveFigures } from './live/live-figures.ts';
import { rowBytesOf, type StorageUse } from './storage-quota.ts';

/** The usage that counts against the quota of a database. */
export function storageUseOf({ store, log, program, quota }: DatabaseCore): StorageUse {
  const programBytes = program.source.bytes.length;
  return { rowBytes: rowBytesOf(store), logBytes: quota.logBytesOf(log), programBytes };
}

/**
 * Rows of tables, and the bytes taken by rows and indexes, including those of views and of changes
 * that are kept for clients that come back.
 */
export function memoryOf({ store, views, live }: DatabaseCore): MemoryUse {
  const { tables, totalBytes } = store.memory();
  const rowBytes = tables.reduce((sum, table) => sum + table.rowBytes + table.freeBytes, 0);
  const rowCount = tables.reduce((sum, table) => sum + table.rowCount, 0);
  const indexBytes = totalBytes - rowBytes;
  return { rowCount, rowBytes: rowBytes + views.bytes + live.kept.bytes, indexBytes };
}

export interface MemoryUse {
  readonly rowCount: number;
  readonly rowBytes: number;
  readonly indexBytes: number;
}

/** Watched live queries, their memory, the memory of reads, and counters since the start. */
export function liveFiguresOf({ live, store }: DatabaseCore, pausedReads: number): LiveFigures {
  const { count, bytes, counters } = live.queries;
  return { queries: count, bytes, pausedReads, heldBytes: store.heldBytes, ...counters };
}
