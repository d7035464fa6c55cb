import type { ReplicationControl } from '../host/databases/replication-control.ts';
import type { RepairOutcome } from '../shared-log/repair-log.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { HostedCopies } from './copy-line.ts';
import type { Copy } from './operations.ts';
import type { HostedRegistry } from './registry-line.ts';
import type { HostedPlaces } from './wishes.ts';

/** The databases of this host. */
export interface HostedDatabases
  extends Pick<ReplicationControl, 'wake' | 'handOver'>,
    HostedCopies,
    HostedPlaces,
    HostedRegistry {
  /** Last commit of a database here, the last durable one, their term, and what it takes. */
  offsetsOf?(
    database: DatabaseIdentity,
  ): Pick<Copy, 'offset' | 'acknowledged' | 'term' | 'bytes' | 'turnMillis'> | undefined;
  /** The newest lines of the log of a module here. */
  ownLog?(database: DatabaseIdentity, lines: number): Promise<string>;
  /** Has one that is led here append something; see `ReplicationControl`. */
  renewLead?(database: DatabaseIdentity): void;
  /** True if a job is known here. */
  hasJob?(id: string): boolean;
  repair?(database: DatabaseIdentity): Promise<RepairOutcome>;
}
