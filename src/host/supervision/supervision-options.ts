import type { Clock } from '../../database/clock.ts';
import type { DatabaseDescription } from '../../database/description.ts';
import type { ProgramHash } from '../../database/program-hash.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { EndedRuns } from '../../database/schedules/ended-runs.ts';
import type { StorageLimits } from '../../database/storage-quota.ts';
import type { ActorEnv } from '../../module/module-env.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Answer, Asked } from '../ledger/activity.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { EngineState } from '../replication/engine-state.ts';
import type { LeaderLine } from '../replication/leader-line.ts';
import type { ReportOfDatabase } from '../seats/end-line.ts';
import type { SeatTaker, StampedLine } from '../seats/seat.ts';
import type { Space } from './full-disk.ts';
import type { WakeReason } from './rest.ts';
import type { ScheduleState } from './schedule-state.ts';

/** Options of a supervised database. */
export interface SupervisionOptions {
  readonly identity: DatabaseIdentity;
  readonly clock: Clock;
  readonly hash: ProgramHash;
  readonly takeSeat: SeatTaker;
  /** Loads a program on a separate worker and returns its description; rejects with `Refusal`. */
  readonly examine: (program: ProgramSource, signal?: AbortSignal) => Promise<Uint8Array>;
  /** Receives the description of the running program, when it may be another one. */
  readonly runs?: (description: DatabaseDescription) => void;
  /** Whether it has schedules, as far as is known without it; absent: it has none. */
  readonly schedules?: () => ScheduleState;
  /** Its configuration at this moment, without the secrets; absent: nothing is set. */
  readonly env?: () => ActorEnv;
  readonly lines: (lines: readonly StampedLine[]) => void;
  /** How much it can hold; absent: any amount. */
  readonly storage?: StorageLimits;
  /** The disk that holds its files. */
  readonly space?: Space | undefined;
  /** Follows what becomes of its requests, for its ledger. */
  readonly answered?: (asked: Asked, reply: Answer) => void;
  /** Follows runs of its schedules, for which nobody asks. */
  readonly ran?: (runs: readonly EndedRuns[]) => void;
  /** Called when the actor has reported what it holds. */
  readonly measured?: () => void;
  /** Bytes of its log that opening it reads; absent: nothing is stored durably. */
  readonly logBytes?: () => number;
  /** Follows how it sleeps and wakes. */
  readonly rests?: {
    /** Its actor is gone; another one may be taken at once. */
    fellAsleep(): void;
    /** It serves again, after so long. */
    woke(wake: WakeReason, millis: number): void;
  };
  /** Follows this host's part in it; absent: the host is alone. */
  readonly role?: ((role: DatabaseRole) => void) | undefined;
  /** Whether the engine of its cluster takes commits; absent: the host is alone. */
  readonly engine?: EngineState | undefined;
  /** The way to the host that leads, for connections that read this host's copy. */
  readonly leaderLine?: LeaderLine | undefined;
  /** See `HostCluster`. */
  readonly provesRead?: (() => Promise<boolean>) | undefined;
  /** Receives restarts and failures: what follows the database's name, and fields. */
  readonly report: ReportOfDatabase;
  /** Receives what its actor warns of: a sentence of its own. */
  readonly warn: (sentence: string) => void;
}
