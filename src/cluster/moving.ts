import type { ReplicationControl } from '../host/databases/replication-control.ts';
import type { DatabaseRole } from '../host/replication/database-role.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { ClusterError } from './cluster-error.ts';

export interface MovingOptions {
  readonly control: Pick<ReplicationControl, 'handOver'>;
  readonly me: HostId;
  /** The databases that this host leads now. */
  readonly led: () => readonly DatabaseIdentity[];
  /** The hosts that live as far as this one knows. */
  readonly living: () => readonly SeenHost[];
  /** Whether a host has read a database to its end; false also if it does not answer. */
  readonly isReady: (host: SeenHost, database: DatabaseIdentity) => Promise<boolean>;
  /** Called when the shared log says that another host, by its name, leads a database. */
  readonly gaveAway: (database: DatabaseIdentity, to: string) => void;
  readonly history: () => string;
  readonly report: Report;
}

/** Why a database cannot be led by a host now, for the operator; this host still leads it. */
export class NotMovedError extends ClusterError {}

/** Gives databases that this host leads to other hosts. */
export class Moving {
  readonly #options: MovingOptions;

  constructor(options: MovingOptions) {
    this.#options = options;
  }

  /**
   * Gives one database to one host; resolves when the term of that host is in the shared log.
   * Rejects with `NotMovedError`, and as `ReplicationControl.handOver` does.
   */
  async move(database: DatabaseIdentity, to: SeenHost): Promise<void> {
    const { control, isReady, history, gaveAway } = this.#options;
    const { host, boot, name, address, state, formats } = to;
    if (state !== 'up') {
      throw new NotMovedError(`${name} takes no databases: it is ${state}`);
    }
    if (!(await isReady(to, database))) {
      throw new NotMovedError(
        `${name} is not ready to lead this database: it has not read its log to the end yet, or ` +
          'does not answer. Try again in a moment',
      );
    }
    const lead: Lead = { host, boot, name, address, format: formats[0], history: history() };
    await control.handOver(database, lead);
    gaveAway(database, name);
  }

  /** Gives away all that this host leads; returns how many it could not, when the time is over. */
  async moveAll(signal: AbortSignal): Promise<number> {
    const { led } = this.#options;
    const begun = new Set<DatabaseIdentity>();
    let turn = 0;
    const next = () => led().find((database) => !begun.has(database));
    const work = async (): Promise<void> => {
      for (let one = next(); one !== undefined && !signal.aborted; one = next()) {
        begun.add(one);
        await this.#moveAnywhere(one, turn++, signal);
      }
    };
    const all = Promise.all(Array.from({ length: limits.movesAtOnceMax }, work));
    await Promise.race([all, aborted(signal)]);
    return led().length;
  }

  /** Tries the other hosts, each database from another one on. */
  async #moveAnywhere(
    database: DatabaseIdentity,
    turn: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { living, me, report } = this.#options;
    const others = living().filter(({ host, state }) => host !== me && state === 'up');
    let reason: unknown = 'no other host is there';
    for (let at = 0; at < others.length && !signal.aborted; at++) {
      const to = others[(turn + at) % others.length];
      if (to === undefined) return;
      try {
        await this.move(database, to);
        return;
      } catch (error) {
        reason = error instanceof Error ? error.message : error;
      }
    }
    const message = `a database was not handed over, its next leader has to claim it: ${reason}`;
    report({ level: 'warn', message, about: { database: identityToHex(database) } });
  }
}

/** True if a host in this role could lead at once. */
export function isReadyToLead(role: DatabaseRole | undefined): boolean {
  return role?.kind === 'follower' && role.isAtEnd;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
