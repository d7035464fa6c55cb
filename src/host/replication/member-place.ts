import type { LogPoint } from '../../log/log-point.ts';
import type { FetchedSnapshot } from '../../log/snapshot-begin.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import { type LogName, logName } from '../../shared-log/log-name.ts';
import type { LookAround } from '../../shared-log/member-options.ts';
import type { SharedLog } from '../../shared-log/shared-log.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import type { HostCluster } from './host-cluster.ts';

/** What one database of a cluster needs to know of it, where it runs. */
export interface MemberPlace {
  readonly log: LogName;
  readonly owner: OwnerIdentity;
  readonly generation: number;
  readonly me: Omit<Lead, 'history'>;
  readonly sharedLog: SharedLog;
  readonly entryBytesMax: number;
  readonly leaseMillis: number;
  readonly isReadByLease?: boolean | undefined;
  readonly waitsForLocalSync: boolean;
  /** True: followers hear of what is settled with an entry of its own, and not when it gathers. */
  readonly tellsAtOnce?: boolean;
  history(): string;
  look(leader: Lead | undefined): LookAround;
  acknowledgedElsewhere(): Promise<readonly LogPoint[]>;
  readonly restartEvery?: number | undefined;
  /** See `HostCluster`. */
  readonly readRestarts?: (() => boolean) | undefined;
  /** See `LogSurroundings`. */
  readonly fetchSnapshot?: ((position: number) => Promise<FetchedSnapshot | undefined>) | undefined;
}

/** The place of a database that runs in the gateway's thread. */
export function memberPlaceOf(
  cluster: HostCluster,
  database: {
    readonly identity: DatabaseIdentity;
    readonly ownerIdentity: OwnerIdentity;
    readonly generation: number;
  },
  directory?: string,
): MemberPlace {
  const { identity, ownerIdentity: owner, generation } = database;
  const { me, sharedLog, entryBytesMax, leaseMillis, waitsForLocalSync } = cluster;
  const log = logName(cluster.cluster, identity, generation);
  const { fetchSnapshot, restartEvery, readRestarts, isReadByLease } = cluster;
  const canFetch = fetchSnapshot !== undefined && directory !== undefined;
  return {
    ...{ log, restartEvery, readRestarts, isReadByLease },
    ...(canFetch && {
      fetchSnapshot: (position: number) => fetchSnapshot(log, position, directory),
    }),
    ...{ owner, generation, me, sharedLog, entryBytesMax, leaseMillis, waitsForLocalSync },
    history: () => cluster.history(),
    look: (leader) => cluster.look(identity, leader),
    acknowledgedElsewhere: () => cluster.acknowledgedElsewhere(identity),
  };
}
