import { hardeningFile } from '../../node/realm.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Budget } from '../seats/budget.ts';
import type { LocalLanes } from '../seats/local-placement.ts';
import type { EnvSource } from './lane-env.ts';
import { LanePool } from './lane-pool.ts';
import { LanePrograms } from './lane-programs.ts';
import type { LaneTime } from './lane-sleeps.ts';
import { laneThreads } from './lane-thread.ts';

export interface LocalLaneOptions {
  readonly outbound?: Outbound;
  readonly env?: EnvSource;
  /** See `LaneOptions`. */
  readonly time?: LaneTime | undefined;
}

/** Lanes of databases in the caller's thread, which nothing watches. */
export function localLanes(budget: Budget, options: LocalLaneOptions = {}): LocalLanes {
  const { outbound, env, time } = options;
  const startLane = laneThreads({ budget, outbound, env });
  return ({ identity, generation }, nowMillis) => {
    const programs = new LanePrograms();
    return {
      loaded: (source, program) => programs.keep(source, program),
      desk: (report) =>
        new LanePool({
          identity,
          generation,
          hardeningFile: hardeningFile(),
          nowMillis,
          startLane,
          programOf: (source) => programs.of(source),
          report,
          time,
        }),
    };
  };
}
