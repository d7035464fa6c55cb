import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { type Registry, registryIdentity } from '../registry/registry.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { MemberState } from '../replication/member-state.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import type { RegistryAnswer, RegistryChange } from '../replication/registry-change.ts';
import type { RunningDatabases } from './running-databases.ts';

export interface ReplicationOptions {
  readonly registry: Registry;
  readonly running: RunningDatabases;
}

/** This host's part in the databases of its cluster. */
export class ReplicationControl {
  readonly #registry: Registry;
  readonly #running: RunningDatabases;

  constructor({ registry, running }: ReplicationOptions) {
    this.#registry = registry;
    this.#running = running;
  }

  /** Also of the registry. */
  roleOf(database: DatabaseIdentity): DatabaseRole {
    if (database === registryIdentity) return this.#registry.role;
    return this.#running.roleOf(database);
  }

  /** The same for operators; `undefined`: this host is alone, or does not have the database. */
  stateOf(database: DatabaseIdentity): MemberState | undefined {
    if (database === registryIdentity) return this.#registry.memberState;
    return this.#running.memberState(database);
  }

  /** Has it look at its shared log at once: its leader may be gone, or somebody has written. */
  wake(database: DatabaseIdentity): void {
    if (database === registryIdentity) this.#registry.wake();
    this.#running.find(database)?.handle.member.look();
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
