import { setTimeout as sleep } from 'node:timers/promises';
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
  /** Gives a database to another host by `work`. */
  readonly givesAway: (
    database: DatabaseIdentity,
    to: Lead,
    work: () => Promise<void>,
  ) => Promise<void>;
  /** Has the next leader look at its log, which names it. */
  readonly wake: (host: SeenHost, database: DatabaseIdentity) => void;
  readonly history: () => string;
  readonly report: Report;
}

/** A database that nobody takes, and why. */
export interface NotGiven {
  readonly database: DatabaseIdentity;
  readonly reason: string;
}

/** Why a database cannot be led by a host now, for the operator; this host still leads it. */
export class NotMovedError extends ClusterError {}

/** Why a host gave a database away: an operator, or the placer, wanted that, or it drained. */
export const moveCauses = ['operator', 'placer', 'drain'] as const;
export type MoveCause = (typeof moveCauses)[number];

/** Gives databases that this host leads to other hosts. */
export class Moving {
  readonly #options: MovingOptions;
  readonly #counts = { operator: 0, placer: 0, drain: 0 };

  constructor(options: MovingOptions) {
    this.#options = options;
  }

  /** How many databases were given away, by cause. */
  get counts(): Readonly<Record<MoveCause, number>> {
    return { ...this.#counts };
  }

  /**
   * Gives one database to one host; resolves when the term of that host is in the shared log.
   * Rejects with `NotMovedError`, and as `ReplicationControl.handOver` does.
   */
  async move(database: DatabaseIdentity, to: SeenHost, cause: MoveCause): Promise<void> {
    const { control, isReady, history, givesAway, wake } = this.#options;
    const { host, boot, name, address, state, formats } = to;
    if (state !== 'up') {
      throw new NotMovedError(`${name} takes no databases: it is ${state}`);
    }
    if (!(await isReady(to, database))) {
      throw new NotMovedError(
        `${name} is not ready to lead this database: it has not read its log to the end yet, or ` +
          'has not loaded the program, drains or stops, or does not answer. Try again in a moment',
      );
    }
    const lead: Lead = { host, boot, name, address, format: formats[0], history: history() };
    await givesAway(database, lead, () => control.handOver(database, lead));
    this.#counts[cause] += 1;
    wake(to, database);
  }

  /** Gives away all that this host leads, until `signal` ends it; returns what it still leads. */
  async moveAll(signal: AbortSignal): Promise<readonly NotGiven[]> {
    const { led } = this.#options;
    const begun = new Set<DatabaseIdentity>();
    const reasons = new Map<DatabaseIdentity, string>();
    let turn = 0;
    const next = () => led().find((database) => !begun.has(database));
    const work = async (): Promise<void> => {
      for (let one = next(); one !== undefined && !signal.aborted; one = next()) {
        begun.add(one);
        const reason = await this.#moveAnywhere(one, turn++, signal);
        if (reason !== undefined) reasons.set(one, reason);
      }
    };
    const all = Promise.all(Array.from({ length: limits.movesAtOnceMax }, work));
    await Promise.race([all, aborted(signal)]);
    const late = 'there was no time left';
    return led().map((database) => ({ database, reason: reasons.get(database) ?? late }));
  }

  /**
   * Tries the other hosts, each database from another one on, for a while: one may still read.
   * Returns why nobody takes it.
   */
  async #moveAnywhere(
    database: DatabaseIdentity,
    turn: number,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const endsAt = performance.now() + limits.moveAnywhereMillisMax;
    let reason: string | undefined;
    while (!signal.aborted) {
      const others = this.#others();
      if (others.length === 0) {
        reason = 'no other host is there that takes databases';
        break;
      }
      const order = others.map((_, at) => others[(turn + at) % others.length] as SeenHost);
      reason = await this.#moveToOne(database, order, signal);
      if (reason === undefined) return undefined;
      if (performance.now() >= endsAt) break;
      await paused(limits.moveAgainMillis, signal);
    }
    const message = `a database was not handed over, its next leader has to claim it: ${reason}`;
    this.#options.report({ level: 'warn', message, about: { database: identityToHex(database) } });
    return reason;
  }

  /** Why none of them takes it. */
  async #moveToOne(
    database: DatabaseIdentity,
    hosts: readonly SeenHost[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const reasons: string[] = [];
    for (const to of hosts) {
      if (signal.aborted) break;
      try {
        await this.move(database, to, 'drain');
        return undefined;
      } catch (error) {
        reasons.push(error instanceof Error ? error.message : String(error));
      }
    }
    return reasons.join('; ');
  }

  #others(): SeenHost[] {
    const { living, me } = this.#options;
    return living().filter(({ host, state }) => host !== me && state === 'up');
  }
}

function paused(millis: number, signal: AbortSignal): Promise<unknown> {
  return sleep(millis, undefined, { signal }).catch(() => undefined);
}

/** True if a host in this role could lead at once. */
export function isReadyToLead(role: DatabaseRole | undefined): boolean {
  return role?.kind === 'follower' && role.isAtEnd && role.isWarm;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
