import { limits } from '../../limits.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { SettledNote } from '../../shared-log/member-options.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { type Registry, registryIdentity } from '../registry/registry.ts';
import type { RegistryContent } from '../registry/registry-content.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import type { MemberState } from '../replication/member-state.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import type { RegistryAnswer, RegistryChange } from '../replication/registry-change.ts';
import { logOfAllHosts } from './merged-log.ts';
import type { FollowedLog, LogRequest, LogStream } from './module-log.ts';
import type { RunningDatabases } from './running-databases.ts';

export interface ReplicationOptions {
  readonly registry: Registry;
  readonly running: RunningDatabases;
  /** Absent: this host is alone. */
  readonly cluster: Pick<HostCluster, 'logsElsewhere'> | undefined;
}

/** A database of the cluster, as one host has it. */
export interface PlacedHere {
  readonly database: DatabaseIdentity;
  readonly generation: number;
  /** How many copies its operator wants; `undefined`: as many as of any. */
  readonly copies: number | undefined;
  readonly hasCopy: boolean;
}

/** This host's part in the databases of its cluster. */
export class ReplicationControl {
  readonly #registry: Registry;
  readonly #running: RunningDatabases;
  readonly #cluster: ReplicationOptions['cluster'];

  constructor({ registry, running, cluster }: ReplicationOptions) {
    this.#registry = registry;
    this.#running = running;
    this.#cluster = cluster;
  }

  /** All that this host's registry holds, as far as this host knows it. */
  registryContent(): Promise<RegistryContent> {
    return this.#registry.content();
  }

  /** Also of the registry. */
  roleOf(database: DatabaseIdentity): DatabaseRole {
    if (database === registryIdentity) return this.#registry.role;
    return this.#running.roles.of(database);
  }

  /** The same for operators; `undefined`: this host is alone, or does not have the database. */
  stateOf(database: DatabaseIdentity): MemberState | undefined {
    if (database === registryIdentity) return this.#registry.memberState;
    const statistics = this.#running.find(database)?.handle.statistics();
    return statistics && this.#running.roles.stateOf(database, statistics);
  }

  /** The databases of the cluster, and whether this host has a copy of each. */
  *placed(): Iterable<PlacedHere> {
    for (const { identity: database, generation } of this.#registry.databases) {
      const statistics = this.#running.find(database)?.handle.statistics();
      if (statistics === undefined) continue;
      const copies = this.#registry.copies.of(database);
      yield { database, generation, copies, hasCopy: statistics.state !== 'closed' };
    }
  }

  /** What a copy takes of memory, as its leader knows it, and how long the actor was in turns. */
  sizesOf(database: DatabaseIdentity): { readonly bytes: number; readonly turnMillis: number } {
    const statistics = this.#running.find(database)?.handle.statistics();
    if (statistics === undefined) return { bytes: 0, turnMillis: 0 };
    const { rowBytes, indexBytes, used, times } = statistics;
    const bytes = rowBytes + indexBytes + used.programBytes + limits.copyModuleBytes;
    return { bytes, turnMillis: times.turn.at(-1) ?? 0 };
  }

  /** For how long the oldest commit of a leader has waited to be acknowledged. */
  waitingMillis(database: DatabaseIdentity): number {
    const health = this.#running.find(database)?.handle.health();
    return health?.durability.waitingMillis ?? 0;
  }

  /** Says how many copies there shall be; `undefined`: as many as of any database. */
  setCopies(
    { identity }: Pick<RegisteredDatabase, 'identity'>,
    count: number | undefined,
  ): Promise<void> {
    return this.#registry.exclusively(() => this.#registry.copies.put(identity, count));
  }

  /** Has a copy of a database that another host leads, from now on. */
  takeUp(database: DatabaseIdentity): void {
    this.#running.find(database)?.handle.open();
  }

  /** Has no copy any more; false: it stays, because it is led here, or used. */
  letGo(database: DatabaseIdentity): Promise<boolean> {
    return this.#running.letGo(database);
  }

  /** Reads the log of a module, with the lines of other hosts if `request` wants them. */
  readLog(database: DatabaseIdentity, log: FollowedLog, request: LogRequest): LogStream {
    const ask = this.#cluster?.logsElsewhere;
    if (ask === undefined || request.ofAllHosts !== true) return log.read(request);
    return logOfAllHosts(log, request, (lines) => ask(database, lines));
  }

  /** The newest lines of this host's log of a module, for another host. */
  async ownLog(database: DatabaseIdentity, lines: number): Promise<string> {
    const log = this.#running.find(database)?.log;
    const bytesMax = limits.logElsewhereBytesMax;
    let text = '';
    if (log === undefined) return text;
    for await (const piece of log.read({ lines, bytesMax, follow: false })) text += piece;
    return text;
  }

  /** Has it look at its shared log at once: its leader may be gone, or somebody has written. */
  wake(database: DatabaseIdentity): void {
    if (database === registryIdentity) this.#registry.wake();
    this.#running.find(database)?.handle.member.look();
  }

  /** What the leader of a database says of its commits. */
  noteSettled(database: DatabaseIdentity, note: SettledNote): void {
    this.#running.find(database)?.handle.copy.noteSettled(note);
  }

  /**
   * Has a database that is led here append something: its reads need not ask the engine then (see
   * `ReadLease`), and if another host leads, this one hears of it.
   */
  renewLead(database: DatabaseIdentity): void {
    if (database === registryIdentity) this.#registry.renewLead();
    this.#running.find(database)?.handle.member.servingSeat?.renewLead?.();
  }

  /** The service stops while the engine takes no commits: who waits for that is answered. */
  giveUp(): void {
    for (const { handle } of this.#running.handles) handle.outage?.giveUp();
  }

  /** Makes a change of the registry that another host has decided on; this one leads it. */
  changeRegistry(change: RegistryChange): Promise<RegistryAnswer> {
    return this.#registry.changeFor(change);
  }

  /** The offset of the last change of the registry that this host's look-ups know of. */
  get registryOffset(): number {
    return this.#registry.offset;
  }

  /**
   * Resolves to true when this host's look-ups know of all changes of the registry up to `offset`,
   * and to false if that takes longer than `millisMax`.
   */
  untilRegistry(offset: number, millisMax?: number): Promise<boolean> {
    return this.#registry.untilOffset(offset, millisMax);
  }

  /**
   * Gives a database that this host leads to another one; resolves when that is in the shared log.
   * Rejects with `database.notLeader`, or because it could not be done: this host then still leads.
   */
  async handOver(database: DatabaseIdentity, to: Lead): Promise<void> {
    if (database === registryIdentity) return this.#registry.handOver(to);
    const running = this.#running.find(database);
    if (running === undefined) throw notLeaderRefusal(undefined);
    await running.handle.member.handOver(to);
  }
}
