import { readFileSync } from 'node:fs';

/**
 * Memory that single threads of this process touched for the first time, by the page faults that
 * the kernel counts for each. A thread that computes has next to none; one that grows has as many
 * as it takes pages. Only Linux reports them, and not usefully where it hands out huge pages on its
 * own: there one fault is 4 KiB or 2 MiB.
 */
export function threadFaultBytes(systemId: number): number | undefined {
  if (systemId === 0 || hasHugePages()) return undefined;
  const text = read(`/proc/self/task/${systemId}/stat`);
  // The second field is a name in brackets, which may hold anything.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  const faults = Number(fields?.[minorFaultsField]);
  return Number.isInteger(faults) ? faults * pageBytes : undefined;
}

/**
 * Where the system shows the number of the thread that reads it: the one file of `/proc` that
 * threads with permissions of their own may read.
 */
export const ownThreadFile = '/proc/thread-self/stat';

/** The number of this thread for `threadFaultBytes`; 0 where it is unknown. */
export function systemThreadId(): number {
  const id = Number.parseInt(read(ownThreadFile) ?? '', 10);
  return Number.isInteger(id) ? id : 0;
}

/** Counted from the third field of the file. */
const minorFaultsField = 7;

/** Where pages are larger, threads differ by the same factor. */
const pageBytes = 4_096;

let hugePages: boolean | undefined;

function hasHugePages(): boolean {
  const setting = '/sys/kernel/mm/transparent_hugepage/enabled';
  hugePages ??= read(setting)?.includes('[always]') ?? false;
  return hugePages;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
