import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { keyFilesIn } from '../../src/auth/keys.ts';
import { ClusterPart } from '../../src/cluster/cluster-part.ts';
import { ClusterSecret } from '../../src/cluster/cluster-secret.ts';
import { engineReach, joinCluster } from '../../src/cluster/join-cluster.ts';
import { parsePostgresPlace } from '../../src/engines/postgres/postgres-place.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { limits } from '../../src/limits.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ada, type ClusterHost, ClusterHosts, textsOf } from './cluster-hosts.ts';
import { PostgresCluster } from './postgres-cluster.ts';

/** A host in the test's process, and what it has said. */
export interface PostgresMember {
  readonly name: string;
  readonly host: ClusterHost;
  readonly part: ClusterPart;
  readonly lines: readonly string[];
}

export interface HostPlace {
  /** By which it reaches PostgreSQL. */
  readonly address?: string;
  /** Where it listens for other hosts, and where those reach it. */
  readonly listens?: { readonly port: number; readonly advertise: string };
}

/** Hosts of one cluster in the test's process, on a real PostgreSQL with a standby. */
export class PostgresHosts {
  readonly postgres: PostgresCluster;
  readonly #secret = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');
  readonly #hosts = new ClusterHosts('local');
  readonly #root = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-hosts-'));
  readonly #parts: ClusterPart[] = [];

  private constructor(postgres: PostgresCluster) {
    this.postgres = postgres;
  }

  static async start(): Promise<PostgresHosts> {
    return new PostgresHosts(await PostgresCluster.start());
  }

  async start(
    name: string,
    { address = this.postgres.address, listens }: HostPlace = {},
  ): Promise<PostgresMember> {
    const reading = parsePostgresPlace(address);
    if (reading.kind !== 'valid') throw new Error(reading.reason);
    const secret = this.#secret;
    const dataDirectory = path.join(this.#root, name);
    mkdirSync(dataDirectory, { recursive: true });
    const lines: string[] = [];
    const report = ({ message }: { readonly message: string }) => void lines.push(message);
    const joined = await joinCluster({
      ...{ dataDirectory, hasDatabases: false, secret, allowsSingle: false, report },
      keyFiles: keyFilesIn(path.join(dataDirectory, 'keys')),
      leaseMillis: limits.leaseMillis,
      reach: engineReach(reading.place, 0, report),
    });
    const part = await ClusterPart.start({
      ...{ joined, secret, leaseMillis: limits.leaseMillis, now: () => performance.now() },
      // Each host has a copy.
      copies: limits.copiesMax,
      facts: {
        ...{ name, clientAddress: `http://${name}.test`, version: '0.1.0', zone: '' },
        ...{ formats: [1, 1], memoryBytes: 2 ** 36 },
      },
      listen: { host: '127.0.0.1', port: listens?.port ?? 0 },
      advertise: listens?.advertise,
      ...{ waitsForLocalSync: true, report, onReplaced: () => undefined },
      onRequest: (_, response) => void response.end(name),
      onUpgrade: (_, stream) => void stream.destroy(),
    });
    this.#parts.push(part);
    const host = await this.#hosts.start(name, { cluster: part.forHost });
    part.attach(host.host.replication);
    return { name, host, part, lines };
  }

  async close(): Promise<void> {
    for (const part of this.#parts) await part.close();
    await this.#hosts.close();
    await this.postgres.stop();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** The texts of all items in the copy of a host that follows; `undefined`: it takes no reads. */
export async function copiedItems(
  { host: { host } }: PostgresMember,
  database: DatabaseIdentity,
): Promise<string[] | undefined> {
  const hosted = host.database(database.toString(16).padStart(64, '0'));
  const { copy } = hosted.handle;
  if ((await copy.ready(limits.copyReadyMillisMax)) === undefined) return undefined;
  const outcome = await copy.query({
    caller: host.callerFor(ada, hosted),
    connection: temporaryConnection(),
    sql: 'SELECT text FROM item ORDER BY id',
    confirmed: true,
  });
  return outcome.kind === 'failed' ? undefined : textsOf(outcome.rows);
}
