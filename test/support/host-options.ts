import type { HostOptions } from '../../src/host/host-options.ts';
import { MachineClock } from '../../src/node/clock.ts';
import { MachineEntropy } from '../../src/node/entropy.ts';
import { sharedLinker } from './shared-linker.ts';

/** Of a host in memory, in the caller's thread, in which anyone can create databases. */
export function hostOptions(more: Partial<HostOptions> = {}): HostOptions {
  return {
    directory: undefined,
    placement: 'local',
    creators: 'anyone',
    operators: [],
    issuer: 'test',
    clock: new MachineClock(),
    entropy: new MachineEntropy(),
    budget: {},
    report: () => undefined,
    makeLinker: sharedLinker,
    ...more,
  };
}

/** Isolates each database in a process of its own. */
export const inProcesses = {
  placement: 'worker',
  isolation: { everywhere: 'process', exceptions: new Map() },
} as const satisfies Partial<HostOptions>;
