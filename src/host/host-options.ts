import type { Clock } from '../database/clock.ts';
import type { Entropy } from '../database/entropy.ts';
import type { WriterPlace } from '../node/writer-mark.ts';
import type { Creators } from './host-types.ts';
import type { IsolationRules } from './isolation.ts';
import type { LogBounds } from './module-log.ts';
import type { StartChoice } from './open-at-start.ts';
import type { QuotaLimits } from './quota-limits.ts';
import type { ReportLine } from './report-line.ts';

export interface HostOptions {
  /** Folder that holds everything; `undefined` keeps it all in memory until the process ends. */
  readonly directory: string | undefined;
  /** The mark of the folder, which says who writes to it; absent: nobody else can. */
  readonly writer?: WriterPlace | undefined;
  /**
   * `worker`: a thread or a process for each database. `local`: all in the caller's thread, for
   * tests.
   */
  readonly placement: 'worker' | 'local';
  /** What keeps databases on workers apart; left out: a thread for each. */
  readonly isolation?: IsolationRules;
  /** Which databases open at once; left out: `lazily`. */
  readonly startDatabases?: StartChoice;
  readonly creators: Creators;
  /** Identities that have the owner's rights on every database. */
  readonly operators: readonly bigint[];
  /** Issuer that new databases' identities are derived under; the host's own. */
  readonly issuer: string;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly budget: Partial<Budget>;
  /** How much identities, addresses and databases may have; absent: any amount. */
  readonly quotas?: QuotaLimits;
  /** How much modules log; what is left out comes from `limits.ts`. */
  readonly moduleLogs?: Partial<LogBounds>;
  /** For the operator: one sentence each, no secrets and no row contents. */
  readonly report: (line: ReportLine) => void;
}

/** What one database's module may use; what is left out comes from `limits.ts`. */
export interface Budget {
  readonly callMillisMax: number;
  readonly publishMillisMax: number;
  readonly workerHeapMebibytesMax: number;
  readonly callBufferBytesMax: number;
}
