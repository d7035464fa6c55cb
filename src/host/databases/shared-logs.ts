import { Refusal } from '../../database/outcome.ts';
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
   * The first generation from `first` on of which hosts share nothing, neither a log nor a
   * snapshot: a host that was lost may have begun one that never counted. Throws `Refusal` where
   * the engine does not answer.
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
  drop(database: DatabaseIdentity, first: number, before: number): void {
    for (let generation = first; generation < before; generation++) {
      this.#remove(database, generation).catch((error: unknown) => this.#stays(database, error));
    }
  }

  /** The same of a database that is no more, with what was begun after its last generation. */
  dropAll(database: DatabaseIdentity, last: number): void {
    this.#dropFrom(database, last).catch((error: unknown) => this.#stays(database, error));
  }

  async #dropFrom(database: DatabaseIdentity, last: number): Promise<void> {
    await this.#remove(database, last);
    const cluster = this.#cluster;
    if (cluster === undefined) return;
    for (let generation = last + 1; await isThere(cluster, database, generation); generation++) {
      await this.#remove(database, generation);
    }
  }

  async #remove(database: DatabaseIdentity, generation: number): Promise<void> {
    const cluster = this.#cluster;
    await cluster?.sharedLog.remove(logName(cluster.cluster, database, generation));
  }

  #stays(database: DatabaseIdentity, error: unknown): void {
    this.#complain(database, `its log in the engine stays: ${String(error)}`);
  }
}

async function isThere(
  { cluster, sharedLog, hasSnapshots }: HostCluster,
  database: DatabaseIdentity,
  generation: number,
): Promise<boolean> {
  try {
    const log = logName(cluster, database, generation);
    const { entries, first } = await sharedLog.read(log, 0, limits.sharedReadBytesMax, 1);
    if (entries.length > 0 || first > 0) return true;
    return (await hasSnapshots?.(log).catch(unreachable)) === true;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw noEngine();
  }
}

/** Without the place for snapshots nobody knows what is there, and nothing is begun. */
function unreachable(cause: unknown): never {
  const body = {
    code: 'database.noEngine',
    message: unreachableText,
    retryAfterSeconds: 1,
  } as const;
  throw new Refusal(body, { cause });
}

const unreachableText =
  'The place where the hosts of the cluster share snapshots does not answer (database.noEngine). ' +
  'Nothing was done; try again.';
