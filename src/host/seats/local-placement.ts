import type { MakeAlarm } from '../../database/alarm.ts';
import type { Clock } from '../../database/clock.ts';
import type { Entropy } from '../../database/entropy.ts';
import type { LaneDesk } from '../../database/procedures/lane-desk.ts';
import { noProgress } from '../../database/progress.ts';
import type { ScheduleFollower } from '../../database/schedules/ran-schedule.ts';
import { LocalSnapshots } from '../../database/snapshots/local-snapshots.ts';
import type { SnapshotDesk } from '../../database/snapshots/snapshot-desk.ts';
import type { Disk } from '../../log/disk.ts';
import type { ModuleLogLine } from '../../module/log-line.ts';
import { cronReader } from '../../node/cron.ts';
import { MachineDisk } from '../../node/disk.ts';
import { FolderSpace } from '../../node/folder-space.ts';
import { machineAlarms } from '../../node/machine-alarm.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import type { WriterPlace } from '../../node/writer-mark.ts';
import { linkHere } from '../linking/local-linker.ts';
import { programHash } from '../linking/program-hash.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import { memberPlaceOf } from '../replication/member-place.ts';
import { examineAside } from './assemble.ts';
import type { Budget } from './budget.ts';
import { statementMillis } from './budget.ts';
import { HistoryDesk } from './history-desk.ts';
import type { HistoryTask } from './history-task.ts';
import { LocalSeat } from './local-seat.ts';
import type { DatabasePlace, Placement } from './placement.ts';
import { type LoaderOptions, programLoader } from './program-loader.ts';
import { runHistoryTask } from './run-history-task.ts';

export interface LocalPlacementOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly budget: Budget;
  /** Absent: those of the machine, which ring by `clock`. */
  readonly makeAlarm?: MakeAlarm;
  readonly follower?: ScheduleFollower | undefined;
  /** Absent: databases run no procedures. */
  readonly lanes?: LocalLanes;
  /** The mark of the data folder; see `HostOptions`. */
  readonly writer?: WriterPlace | undefined;
  /** The cluster that the databases belong to; absent: the host is alone. */
  readonly cluster?: HostCluster | undefined;
}

/** Lanes beside databases in the caller's thread; `lanes/local-lanes.ts` has them. */
export type LocalLanes = (
  database: Pick<DatabasePlace, 'identity' | 'generation'>,
  nowMillis: () => number,
) => OwnLanes;

/** The lanes of one database. */
export interface OwnLanes {
  readonly loaded: NonNullable<LoaderOptions['loaded']>;
  readonly desk: (report: (line: ModuleLogLine) => void) => LaneDesk;
}

/**
 * Runs all databases in the caller's thread. Data in memory outlives the actor, not the process.
 */
export function localPlacement(given: LocalPlacementOptions): Placement {
  const {
    clock,
    entropy,
    budget,
    writer,
    makeAlarm = machineAlarms(clock),
    follower,
    lanes,
    cluster,
  } = given;
  return {
    seatsOf({ identity, ownerIdentity, generation, directory }) {
      const disk =
        directory === undefined ? new MemoryDisk() : new MachineDisk(directory, { writer });
      const own = lanes?.({ identity, generation }, () => clock.monotonicMillis());
      const options = {
        identity,
        ownerIdentity,
        disk,
        clock,
        entropy,
        loaderFor: (progress: typeof noProgress) =>
          programLoader(linkHere, progress, { loaded: own?.loaded }),
        ...(own === undefined ? {} : { makeLanes: own.desk }),
        hash: programHash,
        statementMillisMax: statementMillis(budget),
        makeAlarm,
        cron: cronReader,
        follower,
        snapshotDesk: snapshotDeskOf(directory, disk, entropy),
        member:
          cluster && memberPlaceOf(cluster, { identity, ownerIdentity, generation }, directory),
        ...(directory !== undefined && {
          historyDesk: new HistoryDesk(),
          history: (task: HistoryTask, signal: AbortSignal) =>
            runHistoryTask(task, { disk, identity, signal, nowMicros: () => clock.nowMicros() }),
        }),
      };
      return (start, events) => new LocalSeat(options, start, events);
    },
    examine(program, { identity }) {
      const loader = programLoader(linkHere, noProgress);
      const around = { loader, hash: programHash, progress: noProgress, cron: cronReader };
      return examineAside(program, { identity, clock, ...around });
    },
    close: () => Promise.resolve(),
  };
}

/** A database in memory has nothing to keep. */
function snapshotDeskOf(
  directory: string | undefined,
  disk: Disk,
  entropy: Entropy,
): SnapshotDesk | undefined {
  if (directory === undefined) return undefined;
  const folder = new FolderSpace(directory);
  const salt = (): number => {
    const bytes = new Uint8Array(4);
    entropy.fill(bytes);
    return new DataView(bytes.buffer).getInt32(0);
  };
  return new LocalSnapshots({ disk, salt, space: () => folder.space() });
}
