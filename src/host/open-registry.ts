import { limits } from '../limits.ts';
import { MachineDisk } from '../node/disk.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import type { DatabaseFiles } from './database-files.ts';
import type { HostOptions } from './host-options.ts';
import { LocalSeat } from './local-seat.ts';
import { programHash } from './program-hash.ts';
import { Registry, registryIdentity } from './registry.ts';
import { RegistryRunner, registryProgram } from './registry-module.ts';
import type { SeatMode } from './seat.ts';
import { SupervisedDatabase } from './supervised-database.ts';

/** Opens the registry's database, or makes it; it runs in this thread. Rejects when it cannot. */
export async function openRegistry(
  { clock, entropy, report }: HostOptions,
  files: DatabaseFiles,
): Promise<Registry> {
  const directory = files.registry;
  const disk = directory === undefined ? new MemoryDisk() : new MachineDisk(directory);
  const seat = {
    identity: registryIdentity,
    ownerIdentity: registryIdentity,
    disk,
    clock,
    entropy,
    loaderFor:
      () =>
      (_: unknown, { store }: { store: ConstructorParameters<typeof RegistryRunner>[0] }) =>
        Promise.resolve(new RegistryRunner(store)),
    hash: programHash,
    statementMillisMax: limits.callMillisMax,
  };
  const program = { kind: 'js', bytes: registryProgram() } as const;
  const mode: SeatMode = { kind: 'openOrCreate', program, createdMicros: clock.nowMicros() };
  const database = new SupervisedDatabase(
    {
      identity: registryIdentity,
      clock,
      hash: programHash,
      takeSeat: (start, events) => new LocalSeat(seat, start, events),
      examine: () => Promise.resolve(program.bytes),
      lines: () => undefined,
      report: (level, message) => report({ level, message: `The registry ${message}` }),
    },
    mode,
  );
  return Registry.open(database);
}
