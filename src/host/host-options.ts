import type { SecretKeys } from '../auth/secret-keys.ts';
import type { MakeAlarm } from '../database/alarm.ts';
import type { Clock } from '../database/clock.ts';
import type { Entropy } from '../database/entropy.ts';
import type { ScheduleFollower } from '../database/schedules/ran-schedule.ts';
import type { Report } from '../node/report-line.ts';
import type { WriterPlace } from '../node/writer-mark.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { ArchiveSettings } from './backups/archiver.ts';
import type { RepositorySettings } from './backups/backup-messages.ts';
import type { LogBounds } from './databases/module-log.ts';
import type { StartChoice } from './databases/open-at-start.ts';
import type { LaneTime } from './lanes/lane-sleeps.ts';
import type { LedgerBounds } from './ledger/ledger-files.ts';
import type { LinkerOptions } from './linking/linker.ts';
import type { OutboundRules } from './outbound/outbound-rules.ts';
import type { Creators } from './registry/access.ts';
import type { HistoryChoice } from './registry/history-choice.ts';
import type { QuotaLimits } from './registry/quota-limits.ts';
import type { RegistryPart } from './registry/registry-content.ts';
import type { HostCluster } from './replication/host-cluster.ts';
import type { Budget } from './seats/budget.ts';
import type { IsolationRules } from './workers/isolation.ts';
import type { LinksPrograms } from './workers/worker-placement.ts';

export interface HostOptions {
  /** Folder that holds everything; `undefined` keeps it all in memory until the process ends. */
  readonly directory: string | undefined;
  /** The mark of the folder, which says who writes to it; absent: no other service can. */
  readonly writer?: WriterPlace | undefined;
  /**
   * `worker`: a thread or a process for each database. `local`: all in the caller's thread, for
   * tests.
   */
  readonly placement: 'worker' | 'local';
  /** How databases on workers are isolated; absent: a thread for each. */
  readonly isolation?: IsolationRules;
  /** Which databases open when the host does; absent: `lazily`. */
  readonly startDatabases?: StartChoice;
  /** Time without use after which a database sleeps; absent, or 0: none does. */
  readonly sleepAfterMillis?: number;
  /** True: publishes come first, and what they take is kept ready; absent: they come last. */
  readonly isDevelopment?: boolean;
  /** Links the programs of databases on workers; absent: a linker of the host's own. */
  readonly makeLinker?: (options: LinkerOptions) => LinksPrograms;
  readonly creators: Creators;
  /** Identities that have the owner's rights on every database. */
  readonly operators: readonly CallerIdentity[];
  /** Issuer that new databases' identities are derived under; the host's own. */
  readonly issuer: string;
  readonly clock: Clock;
  /** Alarms of databases in the caller's thread; absent: those of the machine. */
  readonly makeAlarm?: MakeAlarm;
  /** Follows the scheduled runs of those databases. */
  readonly follower?: ScheduleFollower;
  /** Time for lanes of those databases; absent: that of the machine. */
  readonly laneTime?: LaneTime;
  readonly entropy: Entropy;
  readonly budget: Partial<Budget>;
  /** Quotas of identities, addresses and databases; absent: unlimited. */
  readonly quotas?: QuotaLimits;
  /** What is kept of the history of databases; what is absent has the default. */
  readonly history?: HistoryChoice;
  /** What is kept of ledgers; what is absent comes from `limits.ts`. */
  readonly ledger?: Partial<LedgerBounds>;
  /** Bounds on module logs; what is absent comes from `limits.ts`. */
  readonly moduleLogs?: Partial<LogBounds>;
  /** Encrypt the secrets of databases at rest; absent: a key that ends with the process. */
  readonly secretKeys?: SecretKeys;
  /** Where modules can send HTTP requests; absent: to public addresses. */
  readonly outbound?: OutboundRules;
  /** Name servers for these requests, with their ports; absent: those of the system. */
  readonly nameServers?: readonly string[];
  /** Repositories for backups, as the operator has named them. */
  readonly repositories?: readonly RepositorySettings[];
  /** The continuous archive of databases; absent: there is none. */
  readonly archive?: ArchiveSettings | undefined;
  /** How long a log is kept that a restore in place has replaced; absent: see `limits.ts`. */
  readonly keepReplacedMillis?: number;
  /** The folder of the keys that sign tokens, for backups. */
  readonly keyDirectory?: string;
  /** Name and version of the program, as backups show them. */
  readonly program?: string;
  /** The cluster that this host belongs to; absent: it is alone. */
  readonly cluster?: HostCluster | undefined;
  /** What the registry takes over before databases open; `done` is called when it has. */
  readonly adopts?: {
    readonly parts: readonly RegistryPart[];
    done(): Promise<void>;
  };
  /** Receives lines for the operator: one sentence each, no secrets and no row contents. */
  readonly report: Report;
}
