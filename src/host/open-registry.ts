import { limits } from '../limits.ts';
import type { RunnerContext } from '../module/runner.ts';
import { MachineDisk } from '../node/disk.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import { type DatabaseFiles, RegistryError } from './database-files.ts';
import type { ProgramSource } from './database-handle.ts';
import type { HostOptions } from './host-options.ts';
import { LocalSeat } from './local-seat.ts';
import { programHash } from './program-hash.ts';
import { Registry, registryIdentity } from './registry.ts';
import { RegistryRunner, registryProgram } from './registry-module.ts';
import type { SeatMode } from './seat.ts';
import { SupervisedDatabase } from './supervised-database.ts';

/** Time for an older registry to take its new tables in. */
const registryMillisMax = 60_000;

export type RegistryOptions = Pick<HostOptions, 'clock' | 'entropy' | 'report'>;

/**
 * Opens the registry's database, or makes it; it runs in this thread. Rejects with `RegistryError`
 * when it cannot.
 */
export async function openRegistry(
  options: RegistryOptions,
  files: DatabaseFiles,
): Promise<Registry> {
  const program = { kind: 'js', bytes: registryProgram() } as const;
  const database = registryDatabase(options, files, program);
  await database.started().catch((cause: Error) => {
    const advice = '`reducerdb verify` checks every log; put this one back from a copy.';
    throw new RegistryError(`${files.registry}: ${cause.message}. ${advice}`, { cause });
  });
  // A registry of an earlier version lacks tables; the same program does nothing.
  await database.update(program, { policy: 'compatible', token: undefined }, registryMillisMax);
  return Registry.open(database);
}

/** The database alone; `program` is what it is made with when there is none. */
export function registryDatabase(
  { clock, entropy, report }: RegistryOptions,
  files: DatabaseFiles,
  program: ProgramSource,
): SupervisedDatabase {
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
      ({ bytes }: ProgramSource, { store }: RunnerContext) =>
        Promise.resolve(new RegistryRunner(store, bytes)),
    hash: programHash,
    statementMillisMax: limits.callMillisMax,
  };
  const mode: SeatMode = { kind: 'openOrCreate', program, createdMicros: clock.nowMicros() };
  return new SupervisedDatabase(
    {
      identity: registryIdentity,
      clock,
      hash: programHash,
      takeSeat: (start, events) => new LocalSeat(seat, start, events),
      examine: ({ bytes }) => Promise.resolve(bytes),
      lines: () => undefined,
      report: (level, message) => report({ level, message: `The registry ${message}` }),
    },
    mode,
  );
}
