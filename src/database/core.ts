import type { CommitLog } from '../log/commit-log.ts';
import type { CommitInputs } from '../log/record.ts';
import type { SnapshotPlace } from '../log/snapshot.ts';
import type { ModuleLogLine } from '../module/log-line.ts';
import type { ModuleEnv } from '../module/module-env.ts';
import { firstUserId } from '../schema/system-tables.ts';
import type { Rights } from '../sql/rights.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import type { Store } from '../store/store.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity, DatabaseIdentity, OwnerIdentity } from '../values/identity-roles.ts';
import type { ChangedParts, UsedPart } from './changed-parts.ts';
import type { Clock } from './clock.ts';
import type { ReadDeploys } from './deploy-rows.ts';
import type { Entropy } from './entropy.ts';
import type { KeptOutcomes } from './kept-outcomes.ts';
import type { Subscriptions } from './live/subscriptions.ts';
import type { MigrationSizes } from './migrations/migration-sizes.ts';
import type { ModuleLines } from './module-lines.ts';
import { Refusal } from './outcome.ts';
import type { Program } from './program.ts';
import type { Progress } from './progress.ts';
import type { Slices, StartReadRun } from './read-run.ts';
import type { Schedules } from './schedules/schedules.ts';
import type { StatementMemory } from './statement-memory.ts';
import type { StorageQuota } from './storage-quota.ts';
import type { ViewInstances } from './views/view-instances.ts';

/** The state that the work of one turn acts on. Only code that runs inside a turn may touch it. */
export interface DatabaseCore {
  readonly identity: DatabaseIdentity;
  readonly owner: OwnerIdentity;
  readonly store: Store;
  readonly log: CommitLog;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Time limit of one SQL statement (wall clock), in milliseconds. */
  readonly statementMillisMax: number;
  /** Connections that `connect` opened, by connection id. */
  readonly connections: Map<ConnectionNumber, OpenClient>;
  /** Connections that the actor before has left over, and that have not been ended yet. */
  readonly leftover: Map<ConnectionNumber, ConnectedClient>;
  /** What has changed since some of them were opened. */
  readonly changedParts: ChangedParts;
  /** Writes a line into the module's log; `lines` does the writing. */
  readonly report: (line: ModuleLogLine) => void;
  readonly lines: ModuleLines;
  /** Reports a fault of the service itself to the operator. */
  readonly warn: (message: string) => void;
  readonly views: ViewInstances;
  readonly live: Subscriptions;
  readonly schedules: Schedules;
  /** Of calls with an idempotency key. */
  readonly kept: KeptOutcomes;
  /** Where it announces its next step. */
  readonly progress: Progress;
  readonly startReadRun: StartReadRun;
  readonly slices: Slices;
  readonly migrationSizes: MigrationSizes;
  /** Memory that the machine can still give, in bytes. */
  readonly freeBytes: (() => number) | undefined;
  /** The memory that reads hold. */
  readonly statementMemory: StatementMemory;
  /** The storage limits that transactions must respect. */
  readonly quota: StorageQuota;
  /** The configuration at this moment, as the program with this hash reads it, without secrets. */
  readonly env: (program: string) => ModuleEnv;
  /** What was published; `undefined` where nobody lists it. */
  readonly deploys: ReadDeploys | undefined;
  /** When the last commit present at opening was accepted; 0n if there was none. */
  readonly lastMicros: bigint;
  /** The snapshot that the tables were loaded from at opening. */
  readonly snapshot: SnapshotPlace | undefined;
  /** Why nothing can be committed, as a message for callers; `undefined` if commits work. */
  readonly full: string | undefined;
  /** Replaced by an update. */
  program: Program;
}

export interface ConnectedClient {
  readonly identity: CallerIdentity;
  readonly jwtPayload: string;
  /** True if the connection was let in without leaving a trace. */
  readonly isReadOnly?: boolean;
}

/** A connection that stays until its client leaves or an update ends it. */
export interface OpenClient extends ConnectedClient {
  readonly rights: Rights;
  /** The last commit when it was opened: its client knows the program that served then. */
  readonly since: CommitOffset;
  /** What it has called, and read besides its query sets; absent: nothing. */
  uses?: Set<UsedPart>;
}

/** Called before a transaction to be kept: throws `Refusal` when the disk has no space for it. */
export function requireSpace({ full }: Pick<DatabaseCore, 'full'>): void {
  if (full !== undefined) throw fullRefusal(full);
}

export function fullRefusal(full: string): Refusal {
  return new Refusal({ code: 'database.full', message: full, retryAfterSeconds: 1 });
}

/** How many rows of the module's tables a transaction has added and removed. */
export function rowsOf(changes: ChangeSet | undefined): number {
  let count = 0;
  if (changes === undefined) return count;
  for (const { tableId, inserts, deletes } of changes.tables) {
    if (tableId >= firstUserId) count += inserts.count + deletes.count;
  }
  return count;
}

/** Appends the changes of a transaction, if there are any. */
export function appendChanges(
  core: DatabaseCore,
  changes: ChangeSet | undefined,
  inputs: CommitInputs,
): void {
  if (changes !== undefined) core.log.appendCommit(changes, inputs);
}
