import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { fetchSnapshot } from '../../src/cluster/fetch-snapshot.ts';
import { Host } from '../../src/host/host.ts';
import type { HostOptions } from '../../src/host/host-options.ts';
import type { PublishRequest } from '../../src/host/publishing/publish-request.ts';
import type { HostCaller } from '../../src/host/registry/host-caller.ts';
import type { RegisteredDatabase } from '../../src/host/registry/registry-rows.ts';
import type { DatabaseRole } from '../../src/host/replication/database-role.ts';
import type { RegistryAnswer, RegistryChange } from '../../src/host/replication/registry-change.ts';
import { SupervisedDatabase } from '../../src/host/supervision/supervised-database.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { limits } from '../../src/limits.ts';
import type { ReportLine } from '../../src/node/report-line.ts';
import type { Lead } from '../../src/shared-log/entry-payloads.ts';
import { type BootId, bootId, hostId } from '../../src/shared-log/host-ids.ts';
import { clusterId, type LogName, logName } from '../../src/shared-log/log-name.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import type { SharedLog } from '../../src/shared-log/shared-log.ts';
import { StoredSnapshots } from '../../src/shared-log/stored-snapshots.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { callerIdentity, type DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { buildText } from './build-text.ts';
import { hostOptions } from './host-options.ts';
import { MemoryParts } from './memory-parts.ts';
import { shopModule } from './shop-module.ts';

export const ada: HostCaller = {
  identity: callerIdentity(0xadan),
  payload: '{"sub":"ada"}',
  isAnonymous: false,
};

/** Hosts of one cluster in the test's process, on a simulated engine that runs by the real clock. */
export class ClusterHosts {
  readonly engine = new MemoryEngine({
    clock: {
      now: () => performance.now(),
      after: (millis, work) => void setTimeout(work, millis),
    },
  });
  readonly parts = new MemoryParts();
  /** Every so many entries the shared log can be read on from one of them. */
  readonly restartEvery = 16;
  /** False: a host of an earlier version is in the cluster. */
  readsRestarts = true;
  readonly #root = mkdtempSync(path.join(tmpdir(), 'reducerdb-cluster-'));
  readonly #hosts = new Set<ClusterHost>();
  /** Boots that are known to be gone, as a connection that is refused shows it. */
  readonly gone = new Set<BootId>();
  /** Names of hosts that are not told what became of their changes of the registry. */
  readonly lostAnswersTo = new Set<string>();
  readonly #placement: 'local' | 'worker';
  #boots = 0n;

  constructor(placement: 'local' | 'worker') {
    this.#placement = placement;
  }

  async start(name: string, more: Partial<HostOptions> = {}): Promise<ClusterHost> {
    const { host, opened } = this.starting(name, more);
    await opened;
    return host;
  }

  /** A host that opens. */
  starting(name: string, more: Partial<HostOptions> = {}) {
    const host = new ClusterHost(this, name, ++this.#boots);
    const directory = path.join(this.#root, name);
    const opened = host.open(directory, { placement: this.#placement, ...more });
    return { host, opened: opened.then(() => void this.#hosts.add(host)) };
  }

  /** What a link between hosts does: the answer gets lost where one of them is cut off. */
  async changeRegistry(
    from: ClusterHost,
    { boot }: Lead,
    change: RegistryChange,
  ): Promise<RegistryAnswer> {
    const leader = [...this.#hosts].find(({ lead }) => lead.boot === boot);
    if (leader === undefined || this.gone.has(boot)) return { kind: 'notLeader' };
    const answer = await leader.host.replication.changeRegistry(change);
    if (this.lostAnswersTo.has(from.name)) throw new Error('the connection was cut');
    return answer;
  }

  /** The snapshots that its hosts share. */
  snapshotsOf(log: LogName): StoredSnapshots {
    const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
    return new StoredSnapshots(this.parts, log, hashOf);
  }

  /** False for who leads by the log, and was no host: an import. */
  hasBegun({ address }: Lead): boolean {
    return address !== '';
  }

  /** The folder of a host that is closed. */
  folderOf(name: string): string {
    return path.join(this.#root, name);
  }

  /** Entries of a database in the engine. */
  async entryCountOf(database: DatabaseIdentity, generation: number): Promise<number> {
    const log = logName(clusterId(7n), database, generation);
    const { sharedReadBytesMax } = limits;
    return (await this.engine.connect('test').read(log, 0, sharedReadBytesMax)).entries.length;
  }

  async untilCopied(offset: number): Promise<void> {
    const living = [...this.#hosts].filter(({ lead }) => !this.gone.has(lead.boot));
    await Promise.all(living.map(({ host }) => host.replication.untilRegistry(offset)));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#hosts].map((host) => host.host.close()));
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** One run of one host. */
export class ClusterHost {
  readonly name: string;
  readonly lead: Lead;
  readonly reports: ReportLine[] = [];
  readEntries = 0;
  readonly #cluster: ClusterHosts;
  readonly #listeners = new Set<() => void>();
  #host: Host | undefined;

  constructor(cluster: ClusterHosts, name: string, boot: bigint) {
    this.#cluster = cluster;
    this.name = name;
    this.lead = {
      host: hostId(BigInt(name.charCodeAt(0))),
      boot: bootId(boot),
      name,
      address: `${name}.test:3001`,
      history: '',
      format: 1,
    };
  }

  get host(): Host {
    if (this.#host === undefined) throw new Error(`host ${this.name} is not open`);
    return this.#host;
  }

  async open(directory: string, more: Partial<HostOptions>): Promise<void> {
    const cluster = this.#cluster;
    const { engine, gone } = cluster;
    this.#host = await Host.open(
      hostOptions({
        directory,
        report: (line) => this.reports.push(line),
        cluster: {
          cluster: clusterId(7n),
          me: this.lead,
          sharedLog: this.#counted(engine.connect(this.name)),
          entryBytesMax: limits.entryBytesMin,
          leaseMillis: limits.leaseMillisMax,
          waitsForLocalSync: true,
          history: () => engine.history,
          readRestarts: () => this.#cluster.readsRestarts,
          acknowledgedElsewhere: async () => [],
          look: (_, leader) => ({
            isEngineReached: true,
            beatAgeMillis: 0,
            isGone: leader !== undefined && (gone.has(leader.boot) || !cluster.hasBegun(leader)),
            rank: 0,
            skewMillis: 0,
            isCandidate: true,
          }),
          ...{ restartEvery: cluster.restartEvery },
          fetchSnapshot: (log, position, place) =>
            fetchSnapshot(cluster.snapshotsOf(log), position, place),
          changeRegistry: (leader, change) => this.#cluster.changeRegistry(this, leader, change),
          untilCopied: (offset) => this.#cluster.untilCopied(offset),
          onRole: () => {
            for (const listener of this.#listeners) listener();
          },
        },
        ...more,
      }),
    );
  }

  /** Counts the entries that this host reads. */
  #counted(inner: SharedLog): SharedLog {
    return {
      append: (items) => inner.append(items),
      read: async (...asked) => {
        const answer = await inner.read(...asked);
        this.readEntries += answer.entries.length;
        return answer;
      },
      wait: (...asked) => inner.wait(...asked),
      confirm: (items) => inner.confirm(items),
      truncate: (...asked) => inner.truncate(...asked),
      create: (...asked) => inner.create(...asked),
      remove: (log) => inner.remove(log),
      capabilities: () => inner.capabilities(),
    };
  }

  /** Publishes the module of the tests; this host leads it. */
  async publish(
    target = 'shop',
    text = shopModule(),
    env?: PublishRequest['env'],
  ): Promise<RegisteredDatabase> {
    await this.host.publish({
      ...{ caller: ada, target, program: await buildText(text), clear: false },
      ...{ policy: 'compatible', token: undefined, confirmMillis: 5_000 },
      ...(env !== undefined && { env }),
    });
    const { handle: _, ...record } = this.host.registered(target);
    return record;
  }

  /** Ends what runs of a database at this host, as the end of its process does. */
  crash(database: DatabaseIdentity): void {
    const { handle } = this.host.database(hexOf(database));
    if (!(handle instanceof SupervisedDatabase)) throw new Error('a host supervises its databases');
    handle.crash();
  }

  role(database: DatabaseIdentity): DatabaseRole {
    return this.host.replication.roleOf(database);
  }

  /** Resolves when this host's part in a database is as `test` wants it. */
  async until(
    database: DatabaseIdentity,
    test: (role: DatabaseRole) => boolean,
  ): Promise<DatabaseRole> {
    for (;;) {
      const role = this.role(database);
      if (test(role)) return role;
      await new Promise<void>((resolve) => {
        const listener = (): void => {
          this.#listeners.delete(listener);
          resolve();
        };
        this.#listeners.add(listener);
      });
    }
  }

  /** Calls `add`, confirmed. */
  add(database: DatabaseIdentity, text: string): Promise<number> {
    return this.call(database, 'add', text);
  }

  /** Calls a reducer with one text, confirmed. */
  async call(database: DatabaseIdentity, reducer: string, text: string): Promise<number> {
    const { host } = this;
    const hosted = host.database(hexOf(database));
    const { schemaVersion } = await hosted.handle.describe();
    const outcome = await hosted.handle.call({
      caller: host.callerFor(ada, hosted),
      connection: temporaryConnection(),
      reducer,
      args: encodeValue(
        { kind: 'product', elements: [{ name: 'text', type: { kind: 'string' } }] },
        [text],
      ),
      schemaVersion,
      confirmed: true,
    });
    if (outcome.kind !== 'committed') throw new Error(outcome.error.code);
    return hosted.handle.statistics().offset;
  }

  /** The texts of all items, in order. */
  async items(database: DatabaseIdentity): Promise<string[]> {
    const { host } = this;
    const hosted = host.database(hexOf(database));
    const outcome = await hosted.handle.query({
      caller: host.callerFor(ada, hosted),
      connection: temporaryConnection(),
      sql: 'SELECT text FROM item ORDER BY id',
      confirmed: true,
    });
    if (outcome.kind === 'failed') throw new Error(outcome.error.message);
    return textsOf(outcome.rows);
  }
}

/** Strings one after another, each with its length before it. */
export function textsOf(rows: Uint8Array): string[] {
  const view = new DataView(rows.buffer, rows.byteOffset, rows.length);
  const texts: string[] = [];
  for (let at = 0; at < rows.length; ) {
    const length = view.getUint32(at, true);
    texts.push(new TextDecoder().decode(rows.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return texts;
}

function hexOf(database: DatabaseIdentity): string {
  return database.toString(16).padStart(64, '0');
}
