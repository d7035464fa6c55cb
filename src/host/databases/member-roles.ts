import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import { type LedOffsets, type MemberState, SeenRole } from '../replication/member-state.ts';

/** This host's part in each database of its cluster that it has a copy of. */
export class MemberRoles {
  readonly #now: () => number;
  readonly #cluster: Pick<HostCluster, 'onRole' | 'onGone'> | undefined;
  readonly #roles = new Map<DatabaseIdentity, SeenRole>();

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

  note(database: DatabaseIdentity, role: DatabaseRole, generation: number): void {
    const seen = this.#roles.get(database) ?? new SeenRole(this.#now);
    seen.note(role, generation);
    this.#roles.set(database, seen);
    this.#cluster?.onRole(database, role);
  }

  /** This host has no copy any more. */
  drop(database: DatabaseIdentity): void {
    if (this.#roles.delete(database)) this.#cluster?.onGone?.(database);
  }
}
