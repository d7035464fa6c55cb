import { nicenessOf } from '../host/standing.ts';
import { yieldHelpersToThis } from '../node/child-priority.ts';

/**
 * For a process that is a service and nothing else, before it starts one: threads of the engine,
 * which collect the garbage of every database that runs on a thread, come after the gateway.
 */
export function dedicateProcess(): void {
  yieldHelpersToThis(nicenessOf.usual);
}
