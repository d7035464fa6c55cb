import type { ClusterPart } from '../cluster/cluster-part.ts';
import type { JoinedHost } from '../cluster/join-cluster.ts';
import { advisedFaults } from '../cluster/verify-logs.ts';
import type { Host } from '../host/host.ts';
import { registryIdentity } from '../host/registry/registry.ts';
import { ClusterRefusal, type ShownDatabase, type ShownLog } from '../http/cluster-desk.ts';
import { logName } from '../shared-log/log-name.ts';
import { verifySharedLog } from '../shared-log/verify-log.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** How commands name the database in which hosts keep what they share. */
export const registryTarget = '(registry)';

/** Refuses what names no database. */
export function identityOf(host: Host, target: string): DatabaseIdentity {
  const isRegistry = target === registryTarget || target === identityToHex(registryIdentity);
  return isRegistry ? registryIdentity : host.database(target).identity;
}

/** The generation of a database whose log is wanted. */
export function generationOf(host: Host, database: DatabaseIdentity): number {
  return database === registryIdentity ? 0 : host.registered(identityToHex(database)).generation;
}

export interface LogVerifierOptions {
  readonly part: ClusterPart;
  readonly joined: JoinedHost;
  readonly host: Host;
}

export interface WantedLog {
  readonly database: DatabaseIdentity;
  readonly signal: AbortSignal;
  /** What the hosts have. */
  readonly databases: () => Promise<readonly ShownDatabase[]>;
}

/** Reads shared logs whole, one at a time: that is as much work for the engine as a new host. */
export class LogVerifier {
  readonly #options: LogVerifierOptions;
  #isBusy = false;

  constructor(options: LogVerifierOptions) {
    this.#options = options;
  }

  /** Rejects with `ClusterRefusal` while another one is read, and with `EngineError`. */
  async run(wanted: WantedLog): Promise<ShownLog> {
    if (this.#isBusy) throw new ClusterRefusal(409, busyText);
    this.#isBusy = true;
    try {
      return await this.#run(wanted);
    } finally {
      this.#isBusy = false;
    }
  }

  async #run({ database, signal, databases }: WantedLog): Promise<ShownLog> {
    const { part, joined, host } = this.#options;
    const generation = generationOf(host, database);
    const log = logName(joined.cluster, database, generation);
    const hex = identityToHex(database);
    // What hosts have said before the log is read must be in it.
    const found = (await databases()).find((one) => one.database === hex);
    const copies = found?.copies ?? [];
    const names = database === registryIdentity ? [registryTarget] : host.namesOf(database);
    const report = await verifySharedLog({
      ...{ sharedLog: joined.engine, log, signal },
      // The registry's log is kept whole.
      snapshots: database === registryIdentity ? undefined : part.snapshotsOf(log),
    });
    // One that was deleted meanwhile is not there, which is no fault of its log.
    const isReplaced = generationOf(host, database) !== generation;
    if (isReplaced) throw new ClusterRefusal(409, replacedText);
    const { first, entryCount, bytes, term, offset, snapshotCount } = report;
    return {
      ...{ database: hex, names, first, entries: entryCount, bytes, term, offset },
      snapshots: snapshotCount,
      faults: advisedFaults(names[0] ?? hex, report, copies),
      copies: copies.map(({ host: name, role, offset: has, acknowledged }) => {
        return { host: name, role, offset: has, acknowledged };
      }),
    };
  }
}

const busyText = 'This host reads another log whole now; try again when that is done.';
const replacedText = 'The database was reset or restored while its log was read; try again.';
