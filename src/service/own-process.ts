import { setFlagsFromString } from 'node:v8';
import { nicenessOf } from '../host/standing.ts';
import { comeFirst, yieldHelpersToThis } from '../node/child-priority.ts';
import { completeConfiguration, type GivenConfiguration } from './configuration.ts';
import { chooseIsolation } from './isolation-choice.ts';

/** What may come on top of live objects before all garbage is collected, in percent of them. */
const heapGrowth = 300;

/**
 * For a process that is a service and nothing else, before it starts one. Throws
 * `ConfigurationError`.
 *
 * Threads of the engine, which collect the garbage of every database that runs on a thread, come
 * after the gateway.
 *
 * The gateway comes before the processes of databases, and before others where it may: under siege
 * nine tenths of its waits for a processor were for what it had just woken.
 *
 * Bodies and answers that pass through count as growth of the heap, of which the engine allows a
 * small one little: clients that send or want much had it collect all garbage five times a second,
 * which took a fifth of the gateway's time. Databases on threads have heaps with bounds of their
 * own, and the setting is for all heaps of a process, so it is left as it is there.
 */
export function dedicateProcess(configuration: GivenConfiguration): void {
  yieldHelpersToThis(nicenessOf.usual);
  const { everywhere } = chooseIsolation(completeConfiguration(configuration)).rules;
  if (everywhere !== 'process') return;
  setFlagsFromString(`--heap-growing-percent=${heapGrowth}`);
  comeFirst();
}
