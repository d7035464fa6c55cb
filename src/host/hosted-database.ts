import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { SleepFigures } from './databases/sleepers.ts';
import type { RegisteredDatabase } from './registry/registry-rows.ts';
import type { DatabaseHandle } from './supervision/database-handle.ts';
import type { DatabaseStatistics } from './supervision/database-statistics.ts';
import type { DatabaseHealth } from './supervision/health.ts';
import type { VitalFigures } from './supervision/vitals.ts';

/** A database of this host: what the registry knows of it, and the handle that reaches it. */
export interface HostedDatabase extends RegisteredDatabase {
  readonly handle: DatabaseHandle;
}

export interface HostStatistics {
  readonly databases: readonly HostedStatistics[];
  readonly sleep: SleepFigures;
}

export interface HostedStatistics extends DatabaseStatistics {
  readonly identity: DatabaseIdentity;
  /** At this moment. */
  health(): DatabaseHealth;
  vitals(): VitalFigures;
}
