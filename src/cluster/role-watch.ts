import { TimeCounts, type TimeFigures } from '../database/time-counts.ts';
import type { DatabaseRole, FollowerRole } from '../host/replication/database-role.ts';
import type { Report } from '../node/report-line.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { LookAround } from '../shared-log/member.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** Why this host came to lead a database that another one had led. */
export const takeoverCauses = ['goodbye', 'ended', 'silent', 'handed-over'] as const;
export type TakeoverCause = (typeof takeoverCauses)[number];

export interface RoleFigures {
  readonly takeovers: Readonly<Record<TakeoverCause, number>>;
  /** From the moment a leader was known to be gone until this host served. */
  readonly takeoverTimes: TimeFigures;
  readonly handedOver: number;
  readonly deposed: number;
}

export interface RoleWatchOptions {
  readonly now: () => number;
  readonly leaseMillis: number;
  readonly report: Report;
}

/** A leader that is not there any more, as this host saw it first. */
interface Loss {
  readonly leader: Lead;
  readonly cause: TakeoverCause;
  readonly at: number;
  readonly silentMillis: number | undefined;
}

interface Watched {
  readonly role: DatabaseRole;
  /** When it was last known to have everything that the engine showed. */
  readonly freshAt: number | undefined;
  /** The term in which this host has led it and was not followed by another one, if any. */
  readonly ledTerm: number | undefined;
}

/**
 * What this host's part in each database is, and was: each change of a leader is one line in the
 * log, and counted.
 */
export class RoleWatch {
  readonly #options: RoleWatchOptions;
  readonly #watched = new Map<DatabaseIdentity, Watched>();
  readonly #losses = new Map<DatabaseIdentity, Loss>();
  readonly #takeovers = { goodbye: 0, ended: 0, silent: 0, 'handed-over': 0 };
  readonly #takeoverTimes = new TimeCounts();
  #handedOver = 0;
  #deposed = 0;

  constructor(options: RoleWatchOptions) {
    this.#options = options;
  }

  get figures(): RoleFigures {
    return {
      takeovers: { ...this.#takeovers },
      takeoverTimes: this.#takeoverTimes.figures(),
      ...{ handedOver: this.#handedOver, deposed: this.#deposed },
    };
  }

  get roles(): ReadonlyMap<DatabaseIdentity, DatabaseRole> {
    return new Map([...this.#watched].map(([database, { role }]) => [database, role]));
  }

  roleOf(database: DatabaseIdentity): DatabaseRole | undefined {
    return this.#watched.get(database)?.role;
  }

  /** Time since this host had everything that the engine showed; of a leader none. */
  ageMillisOf(database: DatabaseIdentity): number | undefined {
    const { role, freshAt } = this.#watched.get(database) ?? {};
    if (role?.kind === 'leader') return 0;
    return freshAt === undefined ? undefined : this.#options.now() - freshAt;
  }

  /** What the host sees of a leader when it looks at a database. */
  looked(
    database: DatabaseIdentity,
    leader: Lead | undefined,
    around: LookAround & { readonly hasLeft: boolean },
  ): void {
    const { leaseMillis, now } = this.#options;
    const { isGone, beatAgeMillis, isEngineReached } = around;
    const isSilent = isEngineReached && beatAgeMillis !== undefined && beatAgeMillis > leaseMillis;
    if (leader === undefined || (!isGone && !isSilent)) {
      this.#losses.delete(database);
      return;
    }
    if (this.#losses.get(database)?.leader.boot === leader.boot) return;
    const cause = !isGone ? 'silent' : around.hasLeft ? 'goodbye' : 'ended';
    this.#losses.set(database, { leader, cause, at: now(), silentMillis: beatAgeMillis });
  }

  changed(database: DatabaseIdentity, role: DatabaseRole): void {
    const before = this.#watched.get(database);
    const ledTerm = this.#ledTermAfter(database, role, before);
    const isFresh = role.kind === 'leader' || (role.kind === 'follower' && role.isAtEnd);
    const freshAt = isFresh ? this.#options.now() : before?.freshAt;
    this.#watched.set(database, { role, freshAt, ledTerm });
    if (role.kind === 'broken' && before?.role.kind !== 'broken') {
      this.#tell('error', `is not served here: ${role.reason}`, database);
    }
  }

  /** An actor that is replaced goes on in the term of the one before, or begins another one. */
  #ledTermAfter(
    database: DatabaseIdentity,
    role: DatabaseRole,
    before: Watched | undefined,
  ): number | undefined {
    const ledTerm = before?.ledTerm;
    if (role.kind === 'leader') {
      if (ledTerm !== role.term) this.#leads(database, role.term, before?.role);
      this.#losses.delete(database);
      return role.term;
    }
    const isSucceeded = role.kind === 'follower' && role.isLedElsewhere;
    if (ledTerm === undefined || !isSucceeded) return ledTerm;
    this.#leadsNoMore(database, role, ledTerm);
    return undefined;
  }

  /** The cluster has the database no more. */
  forget(database: DatabaseIdentity): void {
    this.#watched.delete(database);
    this.#losses.delete(database);
  }

  /** This host has given a database away: that is in its shared log. */
  gaveAway(database: DatabaseIdentity, to: string): void {
    const before = this.#watched.get(database);
    const { ledTerm } = before ?? {};
    if (before === undefined || ledTerm === undefined) return;
    this.#watched.set(database, { ...before, ledTerm: undefined });
    this.#handedOver += 1;
    this.#tell('info', `is handed over to ${to}; this host led it in term ${ledTerm}`, database);
  }

  #leads(database: DatabaseIdentity, term: number, was: DatabaseRole | undefined): void {
    const loss = this.#losses.get(database);
    const from = was?.kind === 'follower' && was.isLedElsewhere ? was.leader : undefined;
    if (loss !== undefined) {
      const millis = this.#options.now() - loss.at;
      this.#takeovers[loss.cause] += 1;
      this.#takeoverTimes.add(millis);
      const silence =
        loss.silentMillis === undefined
          ? ''
          : `, ${Math.round(loss.silentMillis)} ms after its beat`;
      this.#tell(
        'info',
        `is led here in term ${term}, taken over from ${loss.leader.name} ` +
          `(${causeTexts[loss.cause]}${silence}): ${Math.round(millis)} ms until it serves`,
        database,
      );
    } else if (from !== undefined) {
      this.#takeovers['handed-over'] += 1;
      this.#tell('info', `is led here in term ${term}, handed over by ${from.name}`, database);
    } else this.#tell('info', `is led here in term ${term}`, database);
  }

  #leadsNoMore(database: DatabaseIdentity, { leader }: FollowerRole, term: number): void {
    this.#deposed += 1;
    this.#tell(
      'warn',
      `was led here in term ${term}, until ${leader?.name ?? 'another host'} took it over: what ` +
        'was not acknowledged has failed as database.lost',
      database,
    );
  }

  #tell(level: 'info' | 'warn' | 'error', what: string, database: DatabaseIdentity): void {
    const about = { database: identityToHex(database) };
    this.#options.report({ level, message: `a database ${what}`, about });
  }
}

const causeTexts: Readonly<Record<TakeoverCause, string>> = {
  goodbye: 'it said goodbye',
  ended: 'its process has ended',
  silent: 'it is silent',
  'handed-over': 'it was handed over',
};
