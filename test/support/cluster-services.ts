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
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { type Service, startServiceWith } from '../../src/service/start-service.ts';
import { bootId, hostId } from '../../src/shared-log/host-ids.ts';
import { clusterId } from '../../src/shared-log/log-name.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
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
  readonly #root = mkdtempSync(path.join(tmpdir(), 'reducerdb-cluster-'));
  readonly #names = new Set<string>();
  readonly #ends: (() => Promise<void>)[] = [];

  async start(name: string, given: GivenConfiguration = {}): Promise<ClusterService> {
    this.#names.add(name);
    const { port1, port2 } = new MessageChannel();
    const history = () => this.engine.history;
    serveEngine(port2, {
      sharedLog: this.engine.connect(name),
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
        ...{ cluster, host, boot, engine, history, capabilities },
        close: async () => port1.close(),
      },
      ...{ secret, leaseMillis: limits.leaseMillis, now: () => performance.now() },
      facts: {
        ...{ name, clientAddress: `http://${name}.test`, version: '0.1.0', zone: '' },
        ...{ formats: [1, 1], memoryBytes: 1 },
      },
      ...{ listen: { host: '127.0.0.1', port: 0 }, advertise: undefined, waitsForLocalSync: true },
      ...{ onRequest: doors.onRequest, onUpgrade: doors.onUpgrade },
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
          opened: ({ replication }) => {
            part.attach(replication);
            return undefined;
          },
          drain: async () => undefined,
          close: async () => undefined,
        },
      },
    );
    this.#ends.push(async () => {
      await service.stop();
      await part.close();
    });
    return { name, service, part, url: service.url };
  }

  async close(): Promise<void> {
    // One that cannot write takes its time to stop.
    for (const name of this.#names) this.engine.heal(name);
    this.engine.isStandbyAway = false;
    for (const end of this.#ends.splice(0)) await end();
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
