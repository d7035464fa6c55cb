import type { LiveFigures } from '../../database/live/live-figures.ts';
import type { CommitOffset } from '../../database/outcome.ts';
import type { ScheduleFigures } from '../../database/schedules/schedule-figures.ts';
import type { SnapshotFigures } from '../../database/snapshots/snapshot-outcome.ts';
import type { StorageUse } from '../../database/storage-quota.ts';
import type { ActorTimes } from '../../database/time-counts.ts';
import type { OpeningProgress } from './opening.ts';

export interface DatabaseStatistics {
  /**
   * `closed`: it exists, and opens on the first request. `asleep`: nobody uses it; a request opens
   * it again, and so does a schedule that is due.
   */
  readonly state: 'closed' | 'asleep' | 'opening' | 'serving' | 'broken' | 'stopped';
  /** Progress while it opens. */
  readonly opening: OpeningProgress | undefined;
  /** True while its disk is full: reads are served, writes are rejected. */
  readonly isReadOnly: boolean;
  readonly offset: CommitOffset;
  readonly durableOffset: CommitOffset;
  readonly callsCommitted: number;
  readonly callsAborted: number;
  readonly queries: number;
  readonly restarts: number;
  /** Rows of all tables. */
  readonly rowCount: number;
  readonly rowBytes: number;
  readonly indexBytes: number;
  /** Usage that counts against its quota. */
  readonly used: StorageUse;
  /** Clients that stay connected, and the query sets that they watch. */
  readonly connections: number;
  readonly querySets: number;
  /** The distinct queries in those sets. */
  readonly live: LiveFigures;
  /** Times that the actor has measured since it was opened. */
  readonly times: ActorTimes;
  readonly schedules: ScheduleFigures;
  readonly snapshots: SnapshotFigures;
  /** When the next scheduled run is due; `undefined`: none is to come, or they are paused. */
  readonly nextDueMicros: bigint | undefined;
}
