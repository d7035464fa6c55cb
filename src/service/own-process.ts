import { setFlagsFromString } from 'node:v8';
import { nicenessOf } from '../host/watching/standing.ts';
import { comeFirst, yieldHelpersToThis } from '../node/child-priority.ts';
import { completeConfiguration, type GivenConfiguration } from './configuration.ts';
import { chooseIsolation } from './isolation-choice.ts';

/** Heap growth over live objects that triggers a full collection, in percent. */
const heapGrowth = 300;

/**
 * Configures a process that only runs a service, before it starts one. Throws `ConfigurationError`.
 *
 * Engine threads, which collect garbage for every database on a thread, get lower priority than the
 * gateway.
 *
 * The gateway gets higher priority than the processes of databases where the system permits it:
 * under siege, nine tenths of its waits for a processor were for processes it had just woken.
 *
 * Bodies and responses in transit count as heap growth, of which the engine allows a small heap
 * little: with large traffic it ran five full collections a second, which took a fifth of the
 * gateway's time. Databases on threads have bounded heaps of their own, and the setting affects all
 * heaps of a process, so it is left unchanged there.
 */
export function dedicateProcess(configuration: GivenConfiguration): void {
  yieldHelpersToThis(nicenessOf.usual);
  const { everywhere } = chooseIsolation(completeConfiguration(configuration)).rules;
  if (everywhere !== 'process') return;
  setFlagsFromString(`--heap-growing-percent=${heapGrowth}`);
  comeFirst();
}
