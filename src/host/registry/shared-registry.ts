import { DatabaseCopy } from '../../database/database-copy.ts';
import type { Entropy } from '../../database/entropy.ts';
import type { LogWrite } from '../../log/replicated-write.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import type { Beginning } from '../../shared-log/entry-payloads.ts';
import { fetchLog } from '../../shared-log/fetch-log.ts';
import { type ClusterId, logName } from '../../shared-log/log-name.ts';
import type { SharedLog } from '../../shared-log/shared-log.ts';
import type { Value } from '../../values/value.ts';
import { registryIdentity } from './registry.ts';
import type { RegistryContent } from './registry-content.ts';
import { registryTables } from './registry-module.ts';
import { decodedRows, type RegistryTable } from './registry-rows.ts';

/**
 * What the registry of a cluster holds by its shared log, without taking part in it; `undefined`:
 * the cluster has none yet. Rejects with `EngineError`.
 */
export async function readSharedRegistry(
  sharedLog: Pick<SharedLog, 'read'>,
  cluster: ClusterId,
  { entropy }: { readonly entropy: Entropy },
): Promise<RegistryContent | undefined> {
  const copy = await DatabaseCopy.open({
    ...{ identity: registryIdentity, disk: new MemoryDisk(), entropy, full: undefined },
    warn: () => undefined,
  });
  try {
    const sink = {
      begin: (beginning: Beginning) => copy.begin(beginning),
      apply: (write: LogWrite) => copy.apply(write),
      copy,
    };
    await fetchLog(sharedLog, logName(cluster, registryIdentity, 0), sink);
    if (copy.isEmpty || !copy.hasProgram) return undefined;
    const content = new Map<RegistryTable, readonly (readonly Value[])[]>();
    for (const table of Object.keys(registryTables) as RegistryTable[]) {
      // A registry of an earlier version lacks some.
      content.set(table, decodedRows(table, copy.rowsOf(table) ?? new Uint8Array(0)));
    }
    return content;
  } finally {
    await copy.close();
  }
}
