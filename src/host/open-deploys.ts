import type { RunningDatabases } from './databases/running-databases.ts';
import { Deploys } from './deploys/deploys.ts';
import type { HostOptions } from './host-options.ts';
import type { DatabaseFiles } from './registry/database-files.ts';
import type { Registry } from './registry/registry.ts';

interface DeployParts {
  readonly files: DatabaseFiles;
  readonly registry: Registry;
  /** They are made later, with what is made here. */
  readonly running: () => RunningDatabases;
}

export function openDeploys(
  { clock, report }: HostOptions,
  { files, registry, running }: DeployParts,
): Deploys {
  return new Deploys({
    folderOf: (database) => files.deployFolder(database),
    nowMillis: () => Number(clock.nowMicros() / 1_000n),
    generation: (database) => registry.database(database)?.generation,
    running: (database) => running().program(database),
    program: async (database) => (await running().entry(database).handle.program()).bytes,
    report,
  });
}
