import { freemem } from 'node:os';
import { childrenOf, readProc } from './proc.ts';

/** The unit of `/proc`. Where pages are larger, a bound is reached later. */
const pageBytes = 4_096;

/**
 * Resident memory of a process and of its children, in bytes; `undefined` where the machine does
 * not report it (it has no `/proc`), or the process is gone. A few system calls, tens of
 * microseconds.
 */
export function processTreeBytes(pid: number): number | undefined {
  const own = residentBytes(pid);
  if (own === undefined) return undefined;
  return childrenOf(pid).reduce((sum, child) => sum + (residentBytes(child) ?? 0), own);
}

/** The second number of `statm` is that of resident pages. */
function residentBytes(pid: number): number | undefined {
  const pages = readProc(`/proc/${pid}/statm`)?.split(' ')[1];
  return pages === undefined ? undefined : Number(pages) * pageBytes;
}

/** Memory that the machine can still give, in bytes. */
export function freeMemoryBytes(): number {
  return freemem();
}
