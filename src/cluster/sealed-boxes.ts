import type { Directory } from '../shared-log/directory.ts';
import { ClusterError } from './cluster-error.ts';
import type { ClusterSecret } from './cluster-secret.ts';

/** The secrets that the hosts of a cluster share: put once, sealed, in the engine. */
export class SealedBoxes {
  readonly #directory: Pick<Directory, 'secretBox'>;
  readonly #secret: ClusterSecret;

  constructor(directory: Pick<Directory, 'secretBox'>, secret: ClusterSecret) {
    this.#directory = directory;
    this.#secret = secret;
  }

  /**
   * What is in the box `name`; `put` is put there if it is empty. The secret that opens it counts.
   * Rejects with `ClusterError` if this host's secret does not open it, and with `EngineError`.
   */
  async get(name: string): Promise<Uint8Array | undefined>;
  async get(name: string, put: Uint8Array): Promise<Uint8Array>;
  async get(name: string, put?: Uint8Array): Promise<Uint8Array | undefined> {
    const sealed = put === undefined ? undefined : this.#secret.seal(name, put);
    const box = await this.#directory.secretBox(name, sealed);
    if (box === undefined) return undefined;
    const opened = this.#secret.opened(name, box);
    if (opened === undefined) throw new ClusterError(shutText);
    this.#secret.count(opened.by, false);
    return opened.plain;
  }
}

export const shutText =
  "The cluster secret of this host is not the cluster's: it does not open what other hosts " +
  'have sealed. Give all hosts the same REDUCERDB_CLUSTER_SECRET or --cluster-secret-file; ' +
  '`reducerdb cluster secret show` at a host that runs says which one the cluster has.';
