import type { CommitLog } from '../log/commit-log.ts';
import type { CommitInputs } from '../log/record.ts';
import type { ModuleLogLine } from '../module/log-line.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from './clock.ts';
import type { Entropy } from './entropy.ts';
import type { LiveFeed } from './live/live-feed.ts';
import type { ModuleLines } from './module-lines.ts';
import { Refusal } from './outcome.ts';
import type { Program } from './program.ts';
import type { Slices, StartRead } from './read-execution.ts';
import type { StatementMemory } from './statement-memory.ts';
import type { StorageQuota } from './storage-quota.ts';
import type { ViewInstances } from './views/view-instances.ts';

/** What the work of one turn acts on. Only code that runs inside a turn may touch it. */
export interface DatabaseCore {
  readonly identity: bigint;
  readonly owner: bigint;
  readonly store: Store;
  readonly log: CommitLog;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Wall-clock time of one SQL statement, in milliseconds. */
  readonly statementMillisMax: number;
  /** Connections that `connect` opened, by connection id. */
  readonly connections: Map<bigint, OpenConnection>;
  /** Writes a line into the module's log; it is what `lines` does. */
  readonly report: (line: ModuleLogLine) => void;
  readonly lines: ModuleLines;
  /** Tells the operator of a fault that is the service's own. */
  readonly warn: (message: string) => void;
  readonly views: ViewInstances;
  readonly live: LiveFeed;
  readonly startRead: StartRead;
  readonly slices: Slices;
  /** What reads hold. */
  readonly statementMemory: StatementMemory;
  /** What transactions are held to. */
  readonly quota: StorageQuota;
  /** When the last commit was accepted that it was opened with; 0n: there is none. */
  readonly lastMicros: bigint;
  /** Why nothing can be committed, in words for callers; `undefined`: everything can. */
  readonly full: string | undefined;
  /** Replaced by an update. */
  program: Program;
}

export interface OpenConnection {
  readonly identity: bigint;
  readonly jwtPayload: string;
  /** True: it was let in, and nobody learned of it. */
  readonly isReadOnly?: boolean;
}

/** Before a transaction that is to be kept: throws `Refusal` when there is no space for it. */
export function requireSpace({ full }: Pick<DatabaseCore, 'full'>): void {
  if (full === undefined) return;
  throw new Refusal({ code: 'database.full', message: full, retryAfterSeconds: 1 });
}

/** Appends what a transaction changed, if it changed anything. */
export function appendChanges(
  core: DatabaseCore,
  changes: ChangeSet | undefined,
  inputs: CommitInputs,
): void {
  if (changes !== undefined) core.log.appendCommit(changes, inputs);
}
