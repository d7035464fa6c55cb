import type { LogPoint } from '../../log/log-point.ts';
import type { FetchedSnapshot } from '../../log/snapshot-begin.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { ClusterId, LogName } from '../../shared-log/log-name.ts';
import type { LookAround } from '../../shared-log/member-options.ts';
import type { SharedLog } from '../../shared-log/shared-log.ts';
import type { SnapshotStore } from '../../shared-log/snapshot-store.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { DatabaseRole } from './database-role.ts';
import type { EngineState } from './engine-state.ts';
import type { LeaderLine } from './leader-line.ts';
import type { LogsElsewhere } from './logs-elsewhere.ts';
import type { RegistryAnswer, RegistryChange } from './registry-change.ts';

/** A snapshot of a place of a log, which lies beside that. */
export interface LocalSnapshot {
  readonly directory: string;
  readonly name: string;
  readonly point: LogPoint;
  /** An entry of the shared log up to which it has everything. */
  readonly seq: number;
}

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
  /** Whether leaders answer confirmed reads within a lease; the same on all hosts. Absent: no. */
  readonly isReadByLease?: boolean | undefined;
  /** False: acknowledged as soon as the engine has it; see `localSync`. */
  readonly waitsForLocalSync: boolean;
  /** Whether the engine takes commits; absent: it is never away. */
  readonly engine?: EngineState | undefined;
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
  /** What other hosts have of the log of a module; `lines` of each, or fewer. Never rejects. */
  readonly logsElsewhere?: (database: DatabaseIdentity, lines: number) => Promise<LogsElsewhere>;
  /** The way of clients that are attached to this host to the leader; absent: there is none. */
  readonly leaderLine?: LeaderLine;
  /** True once it is proved that this host led a generation at a moment after the call. */
  readonly provesLead?: (database: DatabaseIdentity, generation: number) => Promise<boolean>;
  /** True once what was read here before may be let out: nobody else leads yet. */
  readonly provesRead?: (database: DatabaseIdentity, generation: number) => Promise<boolean>;
  /**
   * Puts a snapshot of a log position, or of a later one, beside the log in a directory; absent:
   * the shared logs are kept whole.
   */
  readonly fetchSnapshot?: (
    log: LogName,
    position: number,
    directory: string,
  ) => Promise<FetchedSnapshot | undefined>;
  /** Puts a snapshot where hosts share them; absent: they have no place for any. */
  readonly storeSnapshot?: (log: LogName, snapshot: LocalSnapshot) => Promise<void>;
  /** Whether anything of the snapshots of a log is where hosts share them. */
  readonly hasSnapshots?: (log: LogName) => Promise<boolean>;
  /** Where hosts share static files of databases; absent: nowhere. */
  readonly siteFiles?: SnapshotStore | undefined;
  /** Whether all hosts read entries from which a log can be read on; absent: they do. */
  readonly readRestarts?: () => boolean;
  /** Used instead of `limits.restartEveryEntries`, for tests without workers. */
  readonly restartEvery?: number;
  /** Whether this host shall have a copy of a database that it does not lead; absent: of all. */
  readonly holds?: (database: DatabaseIdentity) => boolean;
  /** Called when this host has no copy of a database any more; must not throw. */
  readonly onGone?: (database: DatabaseIdentity) => void;
  /** Called when this host's part in a database has changed; must not throw. */
  onRole(database: DatabaseIdentity, role: DatabaseRole): void;
}
