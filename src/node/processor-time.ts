import { readFileSync } from 'node:fs';
import { childrenOf, readProc } from './proc.ts';

/** Processor time of one thread since it began, in milliseconds. */
export interface ProcessorTime {
  /** Spent on a processor. */
  readonly runMillis: number;
  /** Spent ready to run, while others had the processors. */
  readonly waitMillis: number;
}

/**
 * Processor time of a thread of this process, or of a process: of its first thread, unless another
 * one is named. `undefined` where the system does not count it (only Linux does), and once it is
 * gone.
 */
export function processorTime(
  of: { readonly process?: number; readonly thread: number } | { readonly process: number },
): ProcessorTime | undefined {
  const process = `/proc/${of.process ?? 'self'}`;
  const folder = 'thread' in of ? `${process}/task/${of.thread}` : process;
  try {
    const [run, wait] = readFileSync(`${folder}/schedstat`, 'latin1').split(' ').map(Number);
    return { runMillis: Number(run) / 1e6, waitMillis: Number(wait) / 1e6 };
  } catch {
    return undefined;
  }
}

/**
 * Processor time of all threads of a process and of its children, in milliseconds, in steps of 10;
 * `undefined` where the system does not show it (only Linux does), and once the process is gone.
 */
export function processTreeMillis(pid: number): number | undefined {
  const own = processMillis(pid);
  if (own === undefined) return undefined;
  return childrenOf(pid).reduce((sum, child) => sum + (processMillis(child) ?? 0), own);
}

/** Fields 14 and 15 of `stat`, user and system time; the name in field 2 can hold anything. */
function processMillis(pid: number): number | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMillis;
}

/** The unit of `stat`, which is the same on all of Linux. */
const tickMillis = 10;
