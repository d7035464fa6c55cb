import type { LiveQuery } from '../../live/live-query.ts';
import type { Rights } from '../../sql/rights.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { SetId } from './set-id.ts';

/** The queries of one `subscribe` of a connection. */
export interface QuerySet {
  readonly connectionId: ConnectionNumber;
  /** The identity of the connection. */
  readonly identity: CallerIdentity;
  readonly rights: Rights;
  readonly queries: readonly LiveQuery[];
}

/** The query sets of all connections. */
export class QuerySets {
  /** By connection id, then by the id that the client chose. */
  readonly #byConnection = new Map<ConnectionNumber, Map<SetId, QuerySet>>();

  get(connectionId: ConnectionNumber, setId: SetId): QuerySet | undefined {
    return this.#byConnection.get(connectionId)?.get(setId);
  }

  /** The number of sets of a connection. */
  countOf(connectionId: ConnectionNumber): number {
    return this.#byConnection.get(connectionId)?.size ?? 0;
  }

  add(setId: SetId, set: QuerySet): void {
    const sets = this.#byConnection.get(set.connectionId) ?? new Map<SetId, QuerySet>();
    this.#byConnection.set(set.connectionId, sets);
    sets.set(setId, set);
  }

  remove(connectionId: ConnectionNumber, setId: SetId): void {
    const sets = this.#byConnection.get(connectionId);
    sets?.delete(setId);
    if (sets?.size === 0) this.#byConnection.delete(connectionId);
  }

  /** Removes all sets of a connection and returns them. */
  takeConnection(connectionId: ConnectionNumber): readonly QuerySet[] {
    const sets = this.#byConnection.get(connectionId);
    this.#byConnection.delete(connectionId);
    return sets === undefined ? [] : [...sets.values()];
  }

  /** Removes every set that holds one of these queries and returns them. */
  takeWith(numbers: ReadonlySet<number>): readonly QuerySet[] {
    const taken: QuerySet[] = [];
    for (const [connectionId, sets] of this.#byConnection) {
      for (const [setId, set] of sets) {
        if (!set.queries.some(({ number }) => numbers.has(number))) continue;
        taken.push(set);
        sets.delete(setId);
      }
      if (sets.size === 0) this.#byConnection.delete(connectionId);
    }
    return taken;
  }

  /** The connections that watch such a query. */
  connectionsWith(isMeant: (query: LiveQuery) => boolean): Set<ConnectionNumber> {
    const known = new Map<LiveQuery, boolean>();
    const isOne = (query: LiveQuery): boolean => {
      const answer = known.get(query) ?? isMeant(query);
      known.set(query, answer);
      return answer;
    };
    const found = new Set<ConnectionNumber>();
    for (const [connectionId, sets] of this.#byConnection) {
      for (const { queries } of sets.values()) {
        if (queries.some(isOne)) found.add(connectionId);
      }
    }
    return found;
  }
}
