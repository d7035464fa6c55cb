import type { LogPoint } from '../../log/log-point.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { ClusterId } from '../../shared-log/log-name.ts';
import type { LookAround } from '../../shared-log/member.ts';
import type { SharedLog } from '../../shared-log/shared-log.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { DatabaseRole } from './database-role.ts';
import type { RegistryAnswer, RegistryChange } from './registry-change.ts';

/**
 * What a host that belongs to a cluster is given. All of it is of the gateway's thread; databases
 * on workers reach it through messages. Without it a host is alone, and none of this runs.
 */
export interface HostCluster {
  readonly cluster: ClusterId;
  /** This host, as the entries that begin its terms name it; `history` is filled in at each. */
  readonly me: Omit<Lead, 'history'>;
  /** The engine; its `append` may gather what comes at one moment. */
  readonly sharedLog: SharedLog;
  readonly entryBytesMax: number;
  readonly leaseMillis: number;
  /** False: acknowledged as soon as the engine has it; see `localSync`. */
  readonly waitsForLocalSync: boolean;
  /** What the engine calls its past now. */
  history(): string;
  /** What this host sees of the leader of a database; asked before each look: must be quick. */
  look(database: DatabaseIdentity, leader: Lead | undefined): LookAround;
  /** Where acknowledged history of a database ends, by those hosts that can be reached. */
  acknowledgedElsewhere(database: DatabaseIdentity): Promise<readonly LogPoint[]>;
  /**
   * Has the registry's leader change it. Rejects where nobody knows what has become of it. Absent:
   * it is changed at its leader alone, and elsewhere refused with `database.notLeader`.
   */
  readonly changeRegistry?: (leader: Lead, change: RegistryChange) => Promise<RegistryAnswer>;
  /** Resolves when each living host's copy of the registry has `offset`, or answers no more. */
  readonly untilCopied?: (offset: number) => Promise<void>;
  /** Called when this host's part in a database has changed; must not throw. */
  onRole(database: DatabaseIdentity, role: DatabaseRole): void;
}
