import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { HostOptions } from './host-options.ts';
import type { DatabaseFiles } from './registry/database-files.ts';
import type { Registry } from './registry/registry.ts';
import { Sites, type SitesOptions } from './sites/sites.ts';

interface SiteParts extends Pick<SitesOptions, 'running' | 'earlierSets'> {
  readonly files: DatabaseFiles;
  readonly registry: Registry;
  /** The term in which this host leads a database; `undefined`: it does not. */
  readonly leadTerm: (database: DatabaseIdentity) => number | undefined;
  /** Bytes of static files that a database may have. */
  readonly limitOf: (database: DatabaseIdentity) => number;
}

/** The static files of all databases, measured. */
export async function openSites(
  { clock, report, cluster }: HostOptions,
  { files, registry, running, earlierSets, limitOf, leadTerm }: SiteParts,
): Promise<Sites> {
  const sites = new Sites({
    folderOf: (database) => files.staticFolder(database),
    nowMillis: () => Number(clock.nowMicros() / 1_000n),
    generation: (database) => registry.database(database)?.generation,
    running,
    earlierSets,
    earlierBytesMax: (database) => Math.min(limitOf(database), limits.siteBytesMax),
    shared: cluster && {
      store: cluster.siteFiles,
      term: leadTerm,
      provesLead: async (database) => {
        const generation = registry.database(database)?.generation ?? 1;
        return (await cluster.provesLead?.(database, generation)) ?? true;
      },
    },
    report,
  });
  for (const { identity } of registry.databases) await sites.measure(identity);
  return sites;
}
