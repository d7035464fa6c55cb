import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { RegisteredDatabase, Registry } from '../registry/registry.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
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

  roleOf(database: DatabaseIdentity): DatabaseRole {
    return this.#running.roleOf(database);
  }

  /** Has it look at its shared log at once: its leader may be gone, or somebody has written. */
  wake(database: DatabaseIdentity): void {
    this.#running.find(database)?.handle.member.look();
  }

  /**
   * Gives a database that this host leads to another one; resolves when that is in the shared log.
   * Rejects with `database.notLeader`, or because it could not be done: this host then still leads.
   */
  async handOver(database: DatabaseIdentity, to: Lead): Promise<void> {
    const running = this.#running.find(database);
    if (running === undefined) throw notLeaderRefusal(undefined);
    await running.handle.member.handOver(to);
  }

  /** Takes in a database that another host has created; does nothing if it is there already. */
  follow(database: RegisteredDatabase): Promise<void> {
    return this.#registry.exclusively(async () => {
      const { identity, generation } = database;
      const known = this.#registry.database(identity);
      if (known?.generation === generation) return;
      const directory = await this.#running.makeLogDirectory(identity, generation);
      await this.#registry.putDatabase(database);
      await this.#running.follow(database, directory);
    });
  }

  /** Lets go of a database that the cluster has no more, with its files. */
  forget(identity: DatabaseIdentity): Promise<void> {
    return this.#registry.exclusively(async () => {
      if (this.#registry.database(identity) === undefined) return;
      await this.#registry.removeDatabase(identity);
      await this.#running.remove(identity);
    });
  }
}
