import { limits } from '../../limits.ts';
import { logName } from '../../shared-log/log-name.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { noEngine, untilTaken } from '../replication/engine-state.ts';
import type { HostCluster } from '../replication/host-cluster.ts';

/** The logs of generations in the engine of a cluster; none on a single machine. */
export class SharedLogs {
  readonly #cluster: HostCluster | undefined;
  readonly #complain: (database: DatabaseIdentity, problem: string) => void;

  constructor(
    cluster: HostCluster | undefined,
    complain: (database: DatabaseIdentity, problem: string) => void,
  ) {
    this.#cluster = cluster;
    this.#complain = complain;
  }

  /**
   * The first generation from `first` on of which the engine has no log: a host that was lost may
   * have begun one that never counted. Throws `Refusal` where the engine does not answer.
   */
  async freeGeneration(database: DatabaseIdentity, first: number): Promise<number> {
    const cluster = this.#cluster;
    if (cluster === undefined) return first;
    await untilTaken(cluster.engine);
    for (let generation = first; ; generation++) {
      if (!(await isThere(cluster, database, generation))) return generation;
    }
  }

  /** Removes those of generations that are no more, in the background; `before`: the next one. */
  drop(database: DatabaseIdentity, first: number, before = first + 1): void {
    const cluster = this.#cluster;
    if (cluster === undefined) return;
    for (let generation = first; generation < before; generation++) {
      const log = logName(cluster.cluster, database, generation);
      cluster.sharedLog.remove(log).catch((error: unknown) => {
        this.#complain(database, `its log in the engine stays: ${String(error)}`);
      });
    }
  }
}

async function isThere(
  { cluster, sharedLog }: HostCluster,
  database: DatabaseIdentity,
  generation: number,
): Promise<boolean> {
  try {
    const log = logName(cluster, database, generation);
    const { entries, first } = await sharedLog.read(log, 0, limits.sharedReadBytesMax, 1);
    return entries.length > 0 || first > 0;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw noEngine();
  }
}
