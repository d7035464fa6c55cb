import { DatabaseFiles } from '../host/registry/database-files.ts';
import { registryIdentity } from '../host/registry/registry.ts';
import type { Report } from '../node/report-line.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import { logName } from '../shared-log/log-name.ts';
import type { SharedLog } from '../shared-log/shared-log.ts';
import { bigintToHex } from '../values/hex.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { ClusterPart } from './cluster-part.ts';
import type { JoinedHost } from './join-cluster.ts';
import { type LedLog, LogKeeper } from './log-keeper.ts';
import type { Copy } from './operations.ts';

export interface LedLogsOptions {
  readonly part: ClusterPart;
  readonly joined: Pick<JoinedHost, 'cluster' | 'engine' | 'host'>;
  readonly dataDirectory: string;
  /** The generation of a database, and its name; `undefined`: it is not there any more. */
  readonly facts: (
    database: DatabaseIdentity,
  ) => { readonly generation: number; readonly shown: string } | undefined;
  readonly report: Report;
}

/** Keeps the shared logs short of those databases that this host leads; see `LogKeeper`. */
export function keepLedLogs(options: LedLogsOptions): LogKeeper {
  const { part, joined, report } = options;
  const sharedLog: SharedLog = joined.engine;
  const keeper = new LogKeeper({
    ...{ sharedLog, report, now: () => performance.now() },
    snapshotsOf: (log) => part.snapshotsOf(log),
    led: () => ledBy(options),
  });
  keeper.start();
  return keeper;
}

/** The registry is small, and every host reads it before it can do anything: it is kept whole. */
async function ledBy(options: LedLogsOptions): Promise<LedLog[]> {
  const { part, joined, dataDirectory, facts } = options;
  const led = [...part.roles].flatMap(([database, { kind }]) =>
    kind === 'leader' && database !== registryIdentity ? [database] : [],
  );
  if (led.length === 0) return [];
  const copies = (await part.operations?.copies()) ?? new Map<HostId, readonly Copy[]>();
  const files = new DatabaseFiles(dataDirectory);
  return led.flatMap((database) => {
    const found = facts(database);
    const directory = found && files.logDirectory(database, found.generation);
    if (found === undefined || directory === undefined) return [];
    const others = new Map<string, number>();
    for (const [host, ofHost] of copies) {
      const copy = ofHost.find((one) => one.database === database);
      if (host !== joined.host && copy !== undefined)
        others.set(bigintToHex(host, 32), copy.offset);
    }
    const log = logName(joined.cluster, database, found.generation);
    return [{ log, shown: found.shown, directory, others }];
  });
}
