import { performance } from 'node:perf_hooks';
import type { Database } from '../../database/database.ts';
import { DatabaseCopy, type FirstProgram } from '../../database/database-copy.ts';
import type { DatabaseOptions } from '../../database/open-database.ts';
import { limits } from '../../limits.ts';
import { beginningEntry, createLog } from '../../shared-log/create-log.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import { Member } from '../../shared-log/member.ts';
import {
  type Replicator,
  type ReplicatorEnd,
  ReplicatorEndedError,
} from '../../shared-log/replicator.ts';
import type { DatabaseRole } from './database-role.ts';
import type { MemberPlace } from './member-place.ts';
import { notLeaderRefusal } from './not-leader.ts';

export interface MemberRunOptions {
  readonly place: MemberPlace;
  /** The term that this host gave away, if that ended the actor before. */
  readonly handedTerm: number | undefined;
  readonly role: (role: DatabaseRole) => void;
  readonly warn: (message: string) => void;
}

/** What a database begins with: nothing where there is one already. */
export interface MemberStart {
  /** Absent: the shared log is there. */
  readonly first: FirstProgram | undefined;
  /** True: that is an error, because the database must be new. */
  readonly mustBeNew: boolean;
}

/** Why a member does not serve: it was stopped, or its state does not allow it. */
export class MemberError extends Error {
  override readonly name = 'MemberError';
  readonly isStopped: boolean;

  constructor(message: string, isStopped = false) {
    super(message);
    this.isStopped = isStopped;
  }
}

/**
 * One life of a database of a cluster at this host: follows the shared log until this host leads,
 * then has an actor, and ends with it.
 *
 * ```
 *  serve: local log ─▶ entry 0, if it is new ─▶ follow, look, claim ─▶ actor ─▶ lost, or stopped
 * ```
 */
export class MemberRun {
  readonly #options: MemberRunOptions;
  readonly #stopping = new AbortController();
  #copy: DatabaseCopy | undefined;
  #member: Member | undefined;
  #replicator: Replicator | undefined;
  #database: Database | undefined;
  #end: ReplicatorEnd | undefined;
  #announcer: NodeJS.Timeout | undefined;
  #wakeUp: () => void = () => undefined;
  /** True if somebody has asked for a step since the last one began. */
  #isDue = false;
  /** True if entry 0 of its log is this one's. */
  #hasCreated = false;
  #onEnd: (end: ReplicatorEnd) => void = () => undefined;

  constructor(options: MemberRunOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the actor of a database that this host leads, all that was in its log being
   * acknowledged. Rejects with `MemberError`, `ReplicatorEndedError`, or like the opening of any
   * database; nothing is open then.
   */
  async serve(start: MemberStart, options: DatabaseOptions): Promise<Database> {
    try {
      const copy = await DatabaseCopy.open(options);
      this.#copy = copy;
      await this.#begin(copy, start);
      await this.#untilLeading(copy);
      const database = await copy.serve(options, start.first);
      if (this.#end !== undefined) throw new ReplicatorEndedError(this.#end);
      this.#database = database;
      return database;
    } catch (error) {
      this.#halt();
      await this.#copy?.close();
      // Nobody knows of a new database yet: another try finds nothing of it.
      const { sharedLog, log } = this.#options.place;
      const isOwn = this.#hasCreated && start.mustBeNew && this.#end?.kind !== 'overtaken';
      if (isOwn) await sharedLog.remove(log).catch(() => undefined);
      throw error;
    }
  }

  /** The actor takes requests. */
  served(): void {
    const term = this.#member?.term ?? 0;
    this.#options.role({ kind: 'leader', term });
    const announce = (): void => this.#replicator?.announceSettled();
    this.#announcer = setInterval(announce, limits.settleMillis).unref();
  }

  /**
   * The rows of a table as this host follows them, encoded; none of a table that is not there.
   * `undefined` while some that it has may still be lost, or while it does not follow.
   */
  followedRows(tableName: string): Uint8Array | undefined {
    const copy = this.#copy;
    const member = this.#member;
    if (copy === undefined || member === undefined || this.#replicator !== undefined) {
      return undefined;
    }
    return member.settledOffset < copy.end.offset
      ? undefined
      : (copy.rowsOf(tableName) ?? new Uint8Array(0));
  }

  /** Has it look at once: something has changed. */
  wake(): void {
    this.#isDue = true;
    this.#wakeUp();
  }

  /** Gives the database away, behind everything that was written. */
  async handOver(to: Lead): Promise<void> {
    const database = this.#database;
    const replicator = this.#replicator;
    if (database === undefined || replicator === undefined || this.#end !== undefined) {
      throw notLeaderRefusal(undefined);
    }
    const late = new Promise<'late'>((resolve) => {
      setTimeout(resolve, limits.handOverMillisMax, 'late').unref();
    });
    const rested = database.rest().then(() => 'rested' as const);
    if ((await Promise.race([rested, late])) === 'late') {
      database.goOn();
      throw new MemberError('the engine was too slow for a hand-over; this host goes on leading');
    }
    const ended = new Promise<ReplicatorEnd>((resolve) => {
      this.#onEnd = resolve;
    });
    replicator.handOver(to);
    const end = this.#end ?? (await ended);
    if (end.kind !== 'handedOver') throw new ReplicatorEndedError(end);
  }

  /** Ends it, wherever it is; an actor is the owner's to close. */
  stop(): void {
    this.#halt();
  }

  #halt(): void {
    this.#stopping.abort();
    clearInterval(this.#announcer);
    this.#member?.stop();
    this.wake();
  }

  /** The local log of a new database, and entry 0. */
  async #begin(copy: DatabaseCopy, { first, mustBeNew }: MemberStart): Promise<void> {
    if (first === undefined || copy.hasProgram) return;
    const { place } = this.#options;
    const { sharedLog, log, owner, generation, me } = place;
    if (copy.isEmpty && (await this.#isThere())) {
      if (mustBeNew) throw new MemberError('the cluster has a log of this database already');
      return;
    }
    const bytes = beginningEntry(await copy.create(owner, generation), me.boot);
    const isStopped = (): boolean => this.#isStopped;
    const made = await createLog(sharedLog, log, bytes, { pause: this.#pause, isStopped });
    if (made === 'stopped') throw stopped();
    this.#hasCreated = made === 'created';
    if (made === 'exists' && mustBeNew) {
      throw new MemberError('the cluster has a log of this database already');
    }
  }

  async #isThere(): Promise<boolean> {
    const { sharedLog, log } = this.#options.place;
    while (!this.#isStopped) {
      try {
        const { entries, first } = await sharedLog.read(log, 0, limits.sharedReadBytesMax);
        return entries.length > 0 || first > 0;
      } catch {
        await this.#pause(limits.appendRetryMillisMax);
      }
    }
    throw stopped();
  }

  async #untilLeading(copy: DatabaseCopy): Promise<void> {
    const member = this.#memberOf(copy);
    this.#member = member;
    while (this.#replicator === undefined) {
      this.#isDue = false;
      await member.step();
      if (this.#isStopped) throw stopped();
      if (member.state.kind === 'failed') throw new MemberError(member.state.reason);
      if (this.#replicator !== undefined) return;
      this.#tellRole(member, copy);
      await this.#untilDue(member);
      if (this.#isStopped) throw stopped();
    }
  }

  #memberOf(copy: DatabaseCopy): Member {
    const { place, handedTerm, warn } = this.#options;
    const { sharedLog, log, entryBytesMax, leaseMillis, waitsForLocalSync } = place;
    return new Member({
      ...{ sharedLog, log, entryBytesMax, leaseMillis, waitsForLocalSync, handedTerm },
      me: { ...place.me, history: place.history() },
      replica: copy,
      now: () => performance.now(),
      pause: this.#pause,
      history: () => place.history(),
      acknowledgedElsewhere: () => place.acknowledgedElsewhere(),
      look: (leader) => place.look(leader),
      events: {
        onLead: (replicator) => {
          copy.lead(replicator, replicator.storedEnd);
          this.#replicator = replicator;
        },
        onLost: (end) => this.#lost(end),
        onAcknowledged: () => {
          if (place.tellsAtOnce === true) this.#replicator?.announceSettled();
        },
        warn,
      },
    });
  }

  #lost(end: ReplicatorEnd): void {
    this.#end = end;
    clearInterval(this.#announcer);
    this.#onEnd(end);
    this.#database?.lose(new ReplicatorEndedError(end));
  }

  #tellRole(member: Member, copy: DatabaseCopy): void {
    const { lead, term, isAtEnd, settledOffset } = member;
    // Before the first entry was read nothing is known.
    if (member.next === 0) return;
    const isLedElsewhere = lead !== undefined && lead.boot !== this.#options.place.me.boot;
    const { end } = copy;
    this.#options.role({
      ...{ kind: 'follower', term, leader: lead, isLedElsewhere, isAtEnd, end, settledOffset },
    });
  }

  /** Until an entry may be there, a look is due, or somebody has asked for one. */
  async #untilDue(member: Member): Promise<void> {
    const { sharedLog, log } = this.#options.place;
    const { leaderLookMillis, leaderLookSpreadMillis, followPauseMillis } = limits;
    const spread = (2 * Math.random() - 1) * leaderLookSpreadMillis;
    const over = new AbortController();
    const woken = new Promise<void>((resolve) => {
      this.#wakeUp = resolve;
    });
    // An engine that cannot be reached is asked again at the next look.
    const entry = sharedLog.wait(log, member.next, over.signal).then(
      () => this.#pause(followPauseMillis),
      () => woken,
    );
    let timer: NodeJS.Timeout | undefined;
    const look = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, leaderLookMillis + spread);
      timer.unref();
    });
    if (!this.#isDue) await Promise.race([woken, entry, look]);
    clearTimeout(timer);
    over.abort();
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  readonly #pause = (millis: number): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, millis).unref();
    });
}

function stopped(): MemberError {
  return new MemberError('the database is closed', true);
}
