import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { ClusterPart } from '../../src/cluster/cluster-part.ts';
import { ClusterSecret } from '../../src/cluster/cluster-secret.ts';
import { EnginePort } from '../../src/cluster/engine-port.ts';
import { random128 } from '../../src/cluster/host-file.ts';
import { serveEngine } from '../../src/cluster/serve-engine.ts';
import { SupervisedDatabase } from '../../src/host/supervision/supervised-database.ts';
import { limits } from '../../src/limits.ts';
import { ClusterDoors } from '../../src/service/cluster-doors.ts';
import { hostedDatabases } from '../../src/service/cluster-host.ts';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { type Service, startServiceWith } from '../../src/service/start-service.ts';
import { entryVersion, restartFormat } from '../../src/shared-log/entry.ts';
import { bootId, hostId } from '../../src/shared-log/host-ids.ts';
import { clusterId } from '../../src/shared-log/log-name.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import type { SharedLog } from '../../src/shared-log/shared-log.ts';
import type { SnapshotStore } from '../../src/shared-log/snapshot-store.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import { sharedLinker } from './shared-linker.ts';

const cluster = clusterId(7n);
const secret = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');

/** One host of the cluster, with its doors. */
export interface ClusterService {
  readonly name: string;
  readonly service: Service;
  readonly part: ClusterPart;
  readonly url: string;
}

/**
 * Services of one cluster in the test's process: real databases, doors, ports and links, on a
 * simulated engine that runs by the real clock.
 */
export class ClusterServices {
  readonly engine = new MemoryEngine({
    clock: {
      now: () => performance.now(),
      after: (millis, work) => void setTimeout(work, millis),
    },
  });
  /** True: leaders of hosts that are started then answer reads within a lease. */
  isReadByLease = false;
  readonly #root = mkdtempSync(path.join(tmpdir(), 'reducerdb-cluster-'));
  readonly #names = new Set<string>();
  readonly #copies: number;
  readonly #snapshots: SnapshotStore | undefined;
  readonly #ends = new Map<string, () => Promise<void>>();

  /** `copies`: how many hosts have each database; else all. `snapshots`: where they share these. */
  constructor(copies: number = limits.copiesMax, snapshots?: SnapshotStore) {
    this.#copies = copies;
    this.#snapshots = snapshots;
  }

  /** The data folder of a host. */
  folderOf(name: string): string {
    return path.join(this.#root, name);
  }

  /**
   * `around`: what stands between the host and the shared logs. `link`: where it listens for other
   * hosts, and where they reach it.
   */
  async start(
    name: string,
    given: GivenConfiguration = {},
    around: (log: SharedLog) => SharedLog = (log) => log,
    link: { readonly port: number; readonly advertise?: string } = { port: 0 },
  ): Promise<ClusterService> {
    this.#names.add(name);
    const { port1, port2 } = new MessageChannel();
    const history = () => this.engine.history;
    serveEngine(port2, {
      sharedLog: around(this.engine.connect(name)),
      directory: this.engine.directory(name),
      time: async () => Date.now(),
      history,
    });
    const engine = new EnginePort();
    engine.attach(port1);
    const [host, boot] = [hostId(BigInt(name.charCodeAt(0))), bootId(random128())];
    const capabilities = { copies: 2, entryBytesMax: limits.entryBytesMin, history: history() };
    const doors = new ClusterDoors();
    const part = await ClusterPart.start({
      joined: {
        ...{ cluster, host, boot, engine, history, capabilities, snapshots: this.#snapshots },
        close: async () => port1.close(),
      },
      ...{ secret, leaseMillis: limits.leaseMillis, now: () => performance.now() },
      facts: {
        ...{ name, clientAddress: `http://${name}.test`, version: '0.1.0', zone: '' },
        ...{ formats: [entryVersion, restartFormat], memoryBytes: 2 ** 36 },
      },
      ...{ listen: { host: '127.0.0.1', port: link.port }, advertise: link.advertise },
      ...{ waitsForLocalSync: true, isReadByLease: this.isReadByLease },
      ...{ onRequest: doors.onRequest, onUpgrade: doors.onUpgrade, copies: this.#copies },
      ...{ onReplaced: () => undefined, report: () => undefined },
    });
    const service = await startServiceWith(
      {
        ...{ listen: { host: '127.0.0.1', port: 0 }, logLevel: 'silent', placement: 'local' },
        dataDirectory: path.join(this.#root, name),
        keyDirectory: path.join(this.#root, 'keys'),
        ...given,
      },
      {
        makeLinker: sharedLinker,
        cluster: {
          ...{ doors, replaced: new Promise(() => undefined), appear: async () => part },
          opened: (host) => {
            part.attach(hostedDatabases(host));
            return undefined;
          },
          drain: async () => true,
          close: async () => undefined,
        },
      },
    );
    this.#ends.set(name, async () => {
      await service.stop();
      await part.close();
    });
    return { name, service, part, url: service.url };
  }

  /** Stops a host, which says goodbye. */
  async stop(name: string): Promise<void> {
    const end = this.#ends.get(name);
    this.#ends.delete(name);
    await end?.();
  }

  async close(): Promise<void> {
    // One that cannot write takes its time to stop.
    for (const name of this.#names) this.engine.heal(name);
    this.engine.isStandbyAway = false;
    for (const name of [...this.#ends.keys()]) await this.stop(name);
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** The identity of a database, by a name that this host knows. */
export function identityOf({ service }: ClusterService, name: string): DatabaseIdentity {
  return databaseIdentity(service.host.resolve(name));
}

export function roleAt({ service }: ClusterService, database: DatabaseIdentity): string {
  return service.host.replication.roleOf(database).kind;
}

/** Resolves when `follower` has all of a database that `leader` leads. */
export async function follows(
  follower: ClusterService,
  leader: ClusterService,
  database: DatabaseIdentity,
): Promise<void> {
  await until(() => leader.part.placeOf(database).kind === 'here');
  for (const { part } of [leader, follower]) {
    await until(() => part.membership.living.length > 1);
  }
  await until(() => follower.part.placeOf(database).kind === 'elsewhere');
}

/** Resolves when a host that follows serves clients from its copy, instead of passing them on. */
export async function readsCopy(
  { service, part }: ClusterService,
  database: DatabaseIdentity,
): Promise<void> {
  const { copy } = service.host.database(identityToHex(database)).handle;
  await until(async () => (await copy.ready(1_000)) !== undefined && part.knowsRights);
}

/** Ends what runs of a database at a host, and its links, as the end of its process does. */
export async function kill(
  { service, part }: ClusterService,
  database: DatabaseIdentity,
): Promise<void> {
  const { handle } = service.host.database(identityToHex(database));
  if (!(handle instanceof SupervisedDatabase)) throw new Error('a host supervises its databases');
  handle.crash();
  part.membership.stop();
  await part.stopListening();
}

/** Resolves when it is so; the limit of the test is its own. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10));
}
