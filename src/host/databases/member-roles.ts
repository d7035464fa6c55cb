import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import { type LedOffsets, type MemberState, SeenRole } from '../replication/member-state.ts';

/** This host's part in each database of its cluster that it has a copy of. */
export class MemberRoles {
  readonly #now: () => number;
  readonly #cluster: Pick<HostCluster, 'onRole' | 'onGone'> | undefined;
  readonly #roles = new Map<DatabaseIdentity, SeenRole>();
  /** In generations that are made beside those that count, if they come to count. */
  readonly #beside = new Map<DatabaseIdentity, { role: DatabaseRole; generation: number }>();

  constructor(now: () => number, cluster: Pick<HostCluster, 'onRole' | 'onGone'> | undefined) {
    this.#now = now;
    this.#cluster = cluster;
  }

  of(database: DatabaseIdentity): DatabaseRole {
    return this.#roles.get(database)?.role ?? { kind: 'opening' };
  }

  /** The term in which it is led here; `undefined`: it is not. */
  leadTerm(database: DatabaseIdentity): number | undefined {
    const role = this.of(database);
    return role.kind === 'leader' ? role.term : undefined;
  }

  /** The same, as an operator sees it; `undefined`: there is no copy here. */
  stateOf(database: DatabaseIdentity, led: LedOffsets | undefined): MemberState | undefined {
    return this.#roles.get(database)?.state(led);
  }

  /** `counting`: the generation that counts, if this one is made beside it. */
  note(
    database: DatabaseIdentity,
    role: DatabaseRole,
    generation: number,
    counting = generation,
  ): void {
    if (counting !== generation) {
      this.#beside.set(database, { role, generation });
      return;
    }
    const seen = this.#roles.get(database) ?? new SeenRole(this.#now);
    seen.note(role, generation);
    this.#roles.set(database, seen);
    this.#cluster?.onRole(database, role);
  }

  /** A generation that was made beside another one counts from now on. */
  counts(database: DatabaseIdentity, generation: number): void {
    const made = this.#beside.get(database);
    this.#beside.delete(database);
    if (made?.generation === generation) this.note(database, made.role, generation);
  }

  /** This host has no copy any more. */
  drop(database: DatabaseIdentity): void {
    this.#beside.delete(database);
    if (this.#roles.delete(database)) this.#cluster?.onGone?.(database);
  }
}
