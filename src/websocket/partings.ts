/** How a connection ends that its client has not ended. */
export interface Parting {
  readonly code: number;
  readonly reason: string;
}

/**
 * `database`: the database stopped, was deleted or replaced, or crashed; in a cluster also where
 * its leader moved, or the copy that was read went, or could not go on after a publish. `host`: the
 * service stops or drains. `cluster`: the host does not know at present who has which rights.
 * `leader`: another host served the connection, and ended it or was lost.
 */
export type PartingCause = 'database' | 'host' | 'cluster' | 'leader';

/** Without a cluster. */
export const goesAway: Parting = { code: 1001, reason: 'module exited' };

/** In a cluster, a client that connects again finds a host that serves it. */
export function restartOf(cause: PartingCause): Parting {
  return { code: 1012, reason: `${restartTexts[cause]}; connect again` };
}

const restartTexts: Readonly<Record<PartingCause, string>> = {
  database: 'the database is no longer served over this connection',
  host: 'this host is stopping or draining',
  cluster: 'this host has lost contact with its cluster',
  leader: 'the host that led the database ended this connection, or was lost',
};
