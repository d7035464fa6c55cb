import { readFileSync } from 'node:fs';

/** Processor time of one thread since it began, in milliseconds. */
export interface ProcessorTime {
  /** Spent on a processor. */
  readonly runMillis: number;
  /** Spent ready to run, while others had the processors. */
  readonly waitMillis: number;
}

/**
 * Processor time of the first thread of a process, or of another thread of this process, by its
 * system id. `undefined` where the system does not count it (only Linux does), and once it is gone.
 */
export function processorTime(
  of: { readonly process: number } | { readonly thread: number },
): ProcessorTime | undefined {
  const folder = 'process' in of ? `/proc/${of.process}` : `/proc/self/task/${of.thread}`;
  try {
    const [run, wait] = readFileSync(`${folder}/schedstat`, 'latin1').split(' ').map(Number);
    return { runMillis: Number(run) / 1e6, waitMillis: Number(wait) / 1e6 };
  } catch {
    return undefined;
  }
}
