import { availableParallelism } from 'node:os';
import v8 from 'node:v8';

/** Sets flags of the engine for a process with databases; they apply to all of its threads. */
export function tuneEngine(): void {
  keepYoung();
  collectAlone();
}

/**
 * Keeps the engine from pretenuring objects that live for one call, as it sometimes decides to do
 * after a busy moment. In old space each dead object keeps the young ones that it references until
 * a full collection: they are copied, and look long-lived themselves. It cost a third of the time.
 */
function keepYoung(): void {
  v8.setFlagsFromString('--no-allocation-site-pretenuring');
}

/**
 * Makes each thread collect its young garbage alone on machines with few processors. Almost none of
 * it survives, so helper threads find little to do and take processors from the other threads.
 */
function collectAlone(): void {
  if (availableParallelism() > fewProcessors) return;
  v8.setFlagsFromString('--no-parallel-scavenge');
}

const fewProcessors = 4;
