import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { HostOptions } from './host-options.ts';
import type { DatabaseFiles } from './registry/database-files.ts';
import type { Registry } from './registry/registry.ts';
import { Sites, type SitesOptions } from './sites/sites.ts';

interface SiteParts extends Pick<SitesOptions, 'running' | 'earlierSets'> {
  readonly files: DatabaseFiles;
  readonly registry: Registry;
  /** Bytes of static files that a database may have. */
  readonly limitOf: (database: DatabaseIdentity) => number;
}

/** The static files of all databases, measured. */
export async function openSites(
  { clock, report, cluster }: HostOptions,
  { files, registry, running, earlierSets, limitOf }: SiteParts,
): Promise<Sites> {
  const sites = new Sites({
    folderOf: (database) => files.staticFolder(database),
    nowMillis: () => Number(clock.nowMicros() / 1_000n),
    generation: (database) => registry.database(database)?.generation,
    running,
    earlierSets,
    earlierBytesMax: (database) => Math.min(limitOf(database), limits.siteBytesMax),
    isOfCluster: cluster !== undefined,
    report,
  });
  for (const { identity } of registry.databases) await sites.measure(identity);
  return sites;
}
