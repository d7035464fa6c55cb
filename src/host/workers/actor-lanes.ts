import type { ModuleLogLine } from '../../module/log-line.ts';
import type { LaneDeath } from '../lanes/lane-messages.ts';
import { LanePool } from '../lanes/lane-pool.ts';
import { LanePrograms } from '../lanes/lane-programs.ts';
import type { ActorStart, FromWorker, Transferred } from '../messages/worker-messages.ts';

/** The lanes of an actor, whose threads another thread starts and watches: see `SeatLanes`. */
export class ActorLanes {
  readonly programs = new LanePrograms();
  readonly pool: LanePool;
  readonly #deaths = new Map<number, (death: LaneDeath) => void>();
  #last = 0;
  #busyCount = 0;

  constructor(
    { identity, generation, hardeningFile }: ActorStart,
    {
      nowMillis,
      post,
      report,
      busy,
    }: {
      readonly nowMillis: () => number;
      readonly post: (message: FromWorker, transfer?: Transferred[]) => void;
      readonly report: (line: ModuleLogLine) => void;
      readonly busy: (lanes: number) => void;
    },
  ) {
    this.pool = new LanePool({
      identity,
      generation,
      hardeningFile,
      nowMillis,
      programOf: (source) => this.programs.of(source),
      report,
      busy: (lanes) => {
        const isFirst = this.#busyCount === 0;
        this.#busyCount = lanes;
        busy(lanes);
        if (isFirst) post({ kind: 'lanesBusy' });
      },
      startLane: (start, port, ended) => {
        this.#last += 1;
        const lane = this.#last;
        this.#deaths.set(lane, ended);
        post({ kind: 'lane', lane, start, port }, [port]);
        return {
          replaced: () => post({ kind: 'laneReplaced', lane }),
          end: (death) => post({ kind: 'endLane', lane, death }),
        };
      },
    });
  }

  ended(lane: number, death: LaneDeath): void {
    const ended = this.#deaths.get(lane);
    this.#deaths.delete(lane);
    ended?.(death);
  }
}
