import fs from 'node:fs';
import os from 'node:os';

/** More than this process, less than what the operator's own services usually have. */
const outOfMemoryScore = 500;

const nicenessMax = 19;

/** By how much nicer a child is than this process: 5 is a third of its weight, 10 a tenth. */
export type Niceness = 5 | 10;

/**
 * This process comes before its child: for the processors, and when memory runs out. To be called
 * before the child has threads.
 */
export function yieldToThis(child: number, niceness: Niceness): void {
  try {
    os.setPriority(child, Math.min(os.getPriority() + niceness, nicenessMax));
    fs.writeFileSync(`/proc/${child}/oom_score_adj`, String(outOfMemoryScore));
  } catch {
    // Not Linux, or the process is gone: there is nothing to set.
  }
}
