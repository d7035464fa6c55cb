import { readFileSync } from 'node:fs';

/** Ids of the processes that the first thread of a process has started. */
export function childrenOf(pid: number): number[] {
  const text = readProc(`/proc/${pid}/task/${pid}/children`) ?? '';
  return text.split(' ').filter(Boolean).map(Number);
}

/** A file of `/proc`; `undefined` where there is none, or the process is gone. */
export function readProc(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
