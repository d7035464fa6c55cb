import { TimeCounts, type TimeFigures } from '../database/time-counts.ts';
import type { DatabaseRole, FollowerRole } from '../host/replication/database-role.ts';
import type { AsideCounts } from '../log/set-aside.ts';
import type { Report } from '../node/report-line.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { LookAround } from '../shared-log/member-options.ts';
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
  /** Commits that this host had, and that were never acknowledged. */
  readonly deposedCommits: number;
  /** Bytes of local logs that could not be read, and came again from the shared ones. */
  readonly refetchedBytes: number;
}

export interface RoleWatchOptions {
  readonly now: () => number;
  readonly leaseMillis: number;
  readonly me: HostId;
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
  /** Who led it by the last entry that was read. */
  readonly lead: LastLead | undefined;
  /** What it was last while it followed; `undefined`: it did not since it led. */
  readonly followed: FollowerRole | undefined;
  /** What its actor has set aside, as it said last. */
  readonly aside: AsideCounts | undefined;
}

export type LastLead = Pick<FollowerRole, 'term'> & { readonly leader: Lead };

/**
 * What this host's part in each database is, and was: each change of a leader is one line in the
 * log, and counted.
 */
export class RoleWatch {
  readonly #options: RoleWatchOptions;
  readonly #watched = new Map<DatabaseIdentity, Watched>();
  readonly #losses = new Map<DatabaseIdentity, Loss>();
  /** Hosts that databases are being given to. */
  readonly #giving = new Map<DatabaseIdentity, HostId>();
  /** When databases that are led here were given to this host by others. */
  readonly #givenAt = new Map<DatabaseIdentity, number>();
  readonly #takeovers = { goodbye: 0, ended: 0, silent: 0, 'handed-over': 0 };
  readonly #takeoverTimes = new TimeCounts();
  #handedOver = 0;
  #deposed = 0;
  #deposedCommits = 0;
  #refetchedBytes = 0;

  constructor(options: RoleWatchOptions) {
    this.#options = options;
  }

  get figures(): RoleFigures {
    return {
      takeovers: { ...this.#takeovers },
      takeoverTimes: this.#takeoverTimes.figures(),
      ...{ handedOver: this.#handedOver, deposed: this.#deposed },
      ...{ deposedCommits: this.#deposedCommits, refetchedBytes: this.#refetchedBytes },
    };
  }

  get roles(): ReadonlyMap<DatabaseIdentity, DatabaseRole> {
    return new Map([...this.#watched].map(([database, { role }]) => [database, role]));
  }

  roleOf(database: DatabaseIdentity): DatabaseRole | undefined {
    return this.#watched.get(database)?.role;
  }

  /** How a copy followed last, if it has not led since then. */
  followedOf(database: DatabaseIdentity): FollowerRole | undefined {
    return this.#watched.get(database)?.followed;
  }

  /** Who led a database by the last entry that this host has read, if that was another one. */
  lastLeadOf(database: DatabaseIdentity): LastLead | undefined {
    return this.#watched.get(database)?.lead;
  }

  /** When this host was given a database that it leads; `undefined`: it took it, or made it. */
  givenAt(database: DatabaseIdentity): number | undefined {
    return this.#givenAt.get(database);
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
    // Who led until now had everything.
    const hasLed = before?.role.kind === 'leader';
    const isAtEnd = role.kind === 'follower' && role.isAtEnd;
    const isFresh = role.kind === 'leader' || hasLed || isAtEnd;
    const freshAt = isFresh ? this.#options.now() : before?.freshAt;
    const lead = leadIn(role) ?? before?.lead;
    const followed = followedIn(role, before?.followed);
    const aside = role.kind === 'follower' ? role.aside : undefined;
    this.#countAside(aside, before?.aside);
    this.#watched.set(database, { role, freshAt, ledTerm, lead, followed, aside });
    if (role.kind === 'broken' && before?.role.kind !== 'broken') {
      this.#tell('error', `is not served here: ${role.reason}`, database);
    }
  }

  /** Another actor begins at 0. */
  #countAside(aside: AsideCounts | undefined, before: AsideCounts | undefined): void {
    if (aside === undefined) return;
    this.#deposedCommits += aside.commits - (before?.commits ?? 0);
    this.#refetchedBytes += aside.refetchedBytes - (before?.refetchedBytes ?? 0);
  }

  /** An actor that is replaced goes on in the term of the one before, or begins another one. */
  #ledTermAfter(
    database: DatabaseIdentity,
    role: DatabaseRole,
    before: Watched | undefined,
  ): number | undefined {
    const ledTerm = before?.ledTerm;
    if (role.kind === 'leader') {
      if (ledTerm !== role.term) this.#leads(database, role.term, before);
      this.#losses.delete(database);
      return role.term;
    }
    const isSucceeded = role.kind === 'follower' && role.isLedElsewhere;
    if (ledTerm === undefined || !isSucceeded) return ledTerm;
    // Who gives it away says that when it is done.
    const isGiven = this.#giving.get(database) === role.leader?.host;
    if (isGiven && role.term === ledTerm + 1) return ledTerm;
    this.#leadsNoMore(database, role, ledTerm);
    return undefined;
  }

  /** The cluster has the database no more. */
  forget(database: DatabaseIdentity): void {
    this.#watched.delete(database);
    this.#losses.delete(database);
    this.#givenAt.delete(database);
  }

  /** This host gives a database to another one, while `work` runs. */
  async givesAway(
    database: DatabaseIdentity,
    { host, name }: Pick<Lead, 'host' | 'name'>,
    work: () => Promise<void>,
  ): Promise<void> {
    this.#giving.set(database, host);
    try {
      await work();
      this.#gaveAway(database, name);
    } finally {
      this.#giving.delete(database);
    }
  }

  /** That is in its shared log. */
  #gaveAway(database: DatabaseIdentity, to: string): void {
    const before = this.#watched.get(database);
    const { ledTerm } = before ?? {};
    if (before === undefined || ledTerm === undefined) return;
    this.#watched.set(database, { ...before, ledTerm: undefined });
    this.#handedOver += 1;
    this.#tell('info', `is handed over to ${to}; this host led it in term ${ledTerm}`, database);
  }

  #leads(database: DatabaseIdentity, term: number, before: Watched | undefined): void {
    const loss = this.#losses.get(database);
    // The entry that gives it to this host may have been read, and told, before it leads.
    const isNext = before !== undefined && leadIn(before.role) === undefined;
    const last = before?.lead;
    const from = isNext && last?.term !== term - 1 ? undefined : last?.leader;
    this.#givenAt.delete(database);
    if (loss?.leader.host === this.#options.me) {
      const millis = Math.round(this.#options.now() - loss.at);
      this.#tell(
        'info',
        `is led here in term ${term}, as before this host was started again: ${millis} ms until ` +
          'it serves',
        database,
      );
    } else if (loss !== undefined) {
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
      this.#givenAt.set(database, this.#options.now());
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

function leadIn(role: DatabaseRole): LastLead | undefined {
  if (role.kind !== 'follower' || !role.isLedElsewhere) return undefined;
  const { term, leader } = role;
  return leader === undefined ? undefined : { term, leader };
}

const causeTexts: Readonly<Record<TakeoverCause, string>> = {
  goodbye: 'it said goodbye',
  ended: 'its process has ended',
  silent: 'it is silent',
  'handed-over': 'it was handed over',
};

function followedIn(role: DatabaseRole, before: FollowerRole | undefined) {
  if (role.kind === 'follower') return role;
  return role.kind === 'leader' ? undefined : before;
}
