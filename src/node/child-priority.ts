import fs from 'node:fs';
import os from 'node:os';

/** More than this process, less than the operator's other services usually have. */
const outOfMemoryScore = 500;

const nicenessMax = 19;

let ownNiceness = os.getPriority();

/** From where niceness counts in this process: 0 is that of the gateway at its start. */
export function baseNiceness(): number {
  return ownNiceness;
}

/** Has niceness count from where it does in the gateway, in a process that it has started. */
export function countNicenessFrom(base: number): void {
  ownNiceness = base;
}

/** By how much less nice a gateway is: its databases, 5 nicer, have a twelfth of its weight. */
const precedence = 6;

/**
 * How much nicer something is than this process. The scheduler gives it less time accordingly: 5 is
 * a third of its weight, 10 a tenth, 15 a thirtieth, 19 a seventieth.
 */
export type Niceness = 0 | 5 | 10 | 15 | 19;

/**
 * Ranks this process before its child: for the processors, and when memory runs out. Must be called
 * before the child has threads.
 */
export function yieldToThis(child: number, niceness: Niceness): void {
  setNiceness(child, niceness);
  try {
    fs.writeFileSync(`/proc/${child}/oom_score_adj`, String(outOfMemoryScore));
  } catch {
    // Not Linux, or the process is gone: nothing can be set.
  }
}

/**
 * `yieldToThis` for a child that leads a session of its own. Where the system shares the processors
 * among sessions first (Linux with autogroups), niceness counts within one, and each has its own.
 */
export function yieldSessionToThis(child: number, niceness: Niceness): void {
  yieldToThis(child, niceness);
  try {
    const own = /nice (-?\d+)/.exec(fs.readFileSync('/proc/self/autogroup', 'latin1'))?.[1];
    const nice = Math.min(Number(own ?? 0) + niceness, nicenessMax);
    fs.writeFileSync(`/proc/${child}/autogroup`, String(nice));
  } catch {
    // The system has no such groups, or the process is gone.
  }
}

/**
 * Ranks this process before those that run beside it, where the system permits it (root, or
 * CAP_SYS_NICE). The niceness of children stays what it would be without that.
 */
export function comeFirst(): void {
  setNiceness(process.pid, -precedence);
}

/**
 * Ranks all threads of this process but the first behind it. Before a service starts these are the
 * engine's own, which also collect the garbage of threads that start later.
 */
export function yieldHelpersToThis(niceness: Niceness): void {
  try {
    const ids = fs.readdirSync('/proc/self/task').map(Number);
    for (const id of ids) if (id !== process.pid) setNiceness(id, niceness);
  } catch {
    // Not Linux.
  }
}

/** Sets niceness of a process's first thread or, on Linux, of the thread with system id `id`. */
export function setNiceness(id: number, niceness: number): void {
  try {
    os.setPriority(id, Math.min(ownNiceness + niceness, nicenessMax));
  } catch {
    // It is gone, or the system does not allow this process to set it.
  }
}

let canTakeBack: boolean | undefined;

/**
 * Whether niceness can be lowered again: without the privilege for it (root, or CAP_SYS_NICE) a
 * process can be made nicer, and stays so. Tested on `child`, whose niceness changes for a moment.
 */
export function canLowerNiceness(child: number): boolean {
  if (process.platform !== 'linux') return false;
  canTakeBack ??= tryBoth(child);
  return canTakeBack;
}

function tryBoth(child: number): boolean {
  try {
    const before = os.getPriority(child);
    if (before === nicenessMax) return false;
    os.setPriority(child, before + 1);
    os.setPriority(child, before);
    return true;
  } catch {
    return false;
  }
}
