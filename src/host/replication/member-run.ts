import { performance } from 'node:perf_hooks';
import type { ItemSource } from '../../database/call-queue.ts';
import { type CopyReader, type CopyReaderEnd, refuseAll } from '../../database/copy-reader.ts';
import type { Database } from '../../database/database.ts';
import { DatabaseCopy, type FirstProgram } from '../../database/database-copy.ts';
import type { DatabaseOptions } from '../../database/open-database.ts';
import type { TicketedRequest } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import { beginningEntry, createLog } from '../../shared-log/create-log.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import { Member } from '../../shared-log/member.ts';
import type { LookAround, SettledNote } from '../../shared-log/member-options.ts';
import {
  type Replicator,
  type ReplicatorEnd,
  ReplicatorEndedError,
} from '../../shared-log/replicator.ts';
import type { CopyReading, DatabaseRole } from './database-role.ts';
import type { MemberPlace } from './member-place.ts';
import { notLeaderRefusal } from './not-leader.ts';
import { Warmth } from './warmth.ts';

export interface MemberRunOptions {
  readonly place: MemberPlace;
  /** The term that this host gave away, if that ended the actor before. */
  readonly handedTerm: number | undefined;
  /** Why the program is not loaded for a while, if it has ended the actor before. */
  readonly coldReason?: string | undefined;
  readonly role: (role: DatabaseRole) => void;
  /** Its copy takes reads from now on, of this program; `undefined`: no more. */
  readonly readable: (reading: CopyReading) => void;
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

/** The shared log contradicts itself, or what is here; an operator can repair it. */
export class SharedLogFaultError extends MemberError {
  override readonly name = 'MemberError';
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
  readonly #warmth: Warmth;
  #onEnd: (end: ReplicatorEnd) => void = () => undefined;
  #databaseOptions: DatabaseOptions | undefined;
  /** Somebody has wanted to read its copy. */
  #wantsReads = false;
  #reader: CopyReader | undefined;
  #isBeginning = false;
  /** Since when a publish waits for its program. */
  #waitsSince: number | undefined;
  /** When it looks at the engine again, unless there is a reason to do it before. */
  #lookAt = 0;

  constructor(options: MemberRunOptions) {
    this.#options = options;
    const { coldReason, warn } = options;
    this.#warmth = new Warmth({ coldReason, warn, changed: () => this.wake() });
  }

  /**
   * Resolves with the actor of a database that this host leads, all that was in its log being
   * acknowledged. Rejects with `MemberError`, `ReplicatorEndedError`, or like the opening of any
   * database; nothing is open then.
   */
  async serve(start: MemberStart, options: DatabaseOptions): Promise<Database> {
    this.#databaseOptions = options;
    try {
      const copy = await DatabaseCopy.open({
        ...options,
        fetchSnapshot: this.#options.place.fetchSnapshot,
      });
      this.#copy = copy;
      await this.#begin(copy, start);
      await this.#untilLeading(copy, options);
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

  /** Appends something; see `ReplicationControl`. */
  renewLead(): void {
    this.#replicator?.announce();
  }

  /** Takes reads of the copy from now on, as soon as the program is loaded. */
  prepareReads(): void {
    this.#wantsReads = true;
    void this.#beginReader();
  }

  /** What the leader says of its commits; see `Member`. */
  noteSettled(note: SettledNote): void {
    this.#member?.noteSettled(note);
    this.#careForUpdate();
    void this.#beginReader();
  }

  /** Reads the copy. What cannot be read here is refused. */
  read(requests: ItemSource<TicketedRequest>): void {
    const options = this.#databaseOptions;
    if (this.#reader !== undefined) this.#reader.submitAll(requests);
    else refuseAll(requests, (turn) => options?.owner.handOver(turn));
  }

  /** Bytes of the rows and indexes of its copy. */
  get heldBytes(): number | undefined {
    return this.#copy?.heldBytes;
  }

  get statementBytes(): number {
    return this.#reader?.statementBytes ?? 0;
  }

  /** Once somebody wants to read, the copy is settled, and its program loaded. */
  async #beginReader(): Promise<void> {
    const copy = this.#copy;
    const options = this.#databaseOptions;
    if (!this.#wantsReads || this.#isBeginning || copy === undefined || options === undefined)
      return;
    if (this.#reader !== undefined || this.#replicator !== undefined || this.#isStopped) return;
    this.#isBeginning = true;
    try {
      this.#reader = await copy.read(options, {
        updated: () => this.#options.readable(this.#reader?.description),
        ended: (end) => this.#readerEnded(end),
      });
      if (this.#reader !== undefined) this.#options.readable(this.#reader.description);
    } finally {
      this.#isBeginning = false;
    }
  }

  #readerEnded(end: CopyReaderEnd): void {
    this.#reader = undefined;
    this.#options.readable(end.kind === 'leads' ? 'leads' : undefined);
    if (end.kind !== 'failed') return;
    this.#options.warn(`Reads of the copy ended with a bug: ${String(end.bug)}`);
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
    if (database.isMigrating) throw new MemberError(migratingText);
    // What takes its time is waited for while all else goes on.
    await this.#untilIdle(database, limits.handOverBusyMillisMax);
    if (this.#end !== undefined) throw notLeaderRefusal(undefined);
    database.finishBegun();
    try {
      await this.#restFully(database);
    } catch (error) {
      database.goOn();
      throw error;
    }
    const ended = new Promise<ReplicatorEnd>((resolve) => {
      this.#onEnd = resolve;
    });
    replicator.handOver(to);
    const end = this.#end ?? (await ended);
    if (end.kind !== 'handedOver') throw new ReplicatorEndedError(end);
  }

  /** Everything that was begun is finished, but for procedures that take too long. */
  async #restFully(database: Database): Promise<void> {
    await this.#untilIdle(database, limits.handOverRestMillisMax);
    const late = new Promise<'late'>((resolve) => {
      setTimeout(resolve, limits.handOverRestMillisMax, 'late').unref();
    });
    const settled = database.halt().then(() => 'settled' as const);
    if (database.isMigrating) throw new MemberError(migratingText);
    if ((await Promise.race([settled, late])) === 'settled') return;
    throw new MemberError('the engine was too slow for a hand-over; this host goes on leading');
  }

  async #untilIdle(database: Database, millisMax: number): Promise<void> {
    const until = performance.now() + millisMax;
    while (database.isBusy && this.#end === undefined && performance.now() < until) {
      await this.#pause(limits.handOverLookMillis);
    }
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

  async #untilLeading(copy: DatabaseCopy, options: DatabaseOptions): Promise<void> {
    const member = this.#memberOf(copy);
    this.#member = member;
    let isSent = false;
    while (this.#replicator === undefined) {
      this.#isDue = false;
      if (!isSent || !(await member.takeStreamed())) await this.#look(member);
      if (this.#isStopped) throw stopped();
      if (member.state.kind === 'failed') throw new SharedLogFaultError(member.state.reason);
      if (this.#replicator !== undefined) return;
      if (member.isAtEnd) this.#warmth.care(copy, () => copy.warm(options));
      this.#careForUpdate();
      this.#tellRole(member, copy);
      void this.#beginReader();
      isSent = await this.#untilDue(member);
      if (this.#isStopped) throw stopped();
    }
  }

  /** A publish is shown once its program is loaded, or cannot be, or takes too long. */
  #careForUpdate(): void {
    const copy = this.#copy;
    const options = this.#databaseOptions;
    if (copy?.waitsForProgram !== true || options === undefined || this.#isStopped) {
      this.#waitsSince = undefined;
      return;
    }
    const warmth = this.#warmth;
    warmth.care(copy, () => copy.warm(options));
    // Who reads has to know at once that it shows less than it has.
    if (this.#waitsSince === undefined && this.#member !== undefined) {
      this.#tellRole(this.#member, copy);
    }
    this.#waitsSince ??= performance.now();
    const isLate = performance.now() - this.#waitsSince > limits.copyUpdateMillisMax;
    if (isLate || !warmth.isLoading) copy.showUpdate();
  }

  async #look(member: Member): Promise<void> {
    const { leaseMillis } = this.#options.place;
    const { leaderLookMillis, leaderLookMillisMax, leaderLookSpreadMillis } = limits;
    await member.step();
    // A leader that may be silent for long is looked at less often: each look asks the engine.
    const millis = Math.max(leaderLookMillis, Math.min(leaseMillis / 8, leaderLookMillisMax));
    const spread = (2 * Math.random() - 1) * leaderLookSpreadMillis;
    this.#lookAt = performance.now() + millis + spread;
  }

  /** A host whose disk is full follows as far as it can, and leads nothing. */
  #seen(copy: DatabaseCopy, leader: Lead | undefined): LookAround {
    const around = this.#warmth.seen(copy, this.#options.place.look(leader));
    return this.#databaseOptions?.full === undefined ? around : { ...around, isCandidate: false };
  }

  #memberOf(copy: DatabaseCopy): Member {
    const { place, handedTerm, warn } = this.#options;
    const { sharedLog, log, entryBytesMax, leaseMillis, isReadByLease, waitsForLocalSync } = place;
    return new Member({
      ...{ sharedLog, log, entryBytesMax, leaseMillis, isReadByLease, waitsForLocalSync },
      handedTerm,
      me: { ...place.me, history: place.history() },
      replica: copy,
      beginning: () =>
        place.readRestarts?.() === false
          ? undefined
          : copy.beginning(place.owner, place.generation),
      ...(place.restartEvery !== undefined && { restartEvery: place.restartEvery }),
      now: () => performance.now(),
      pause: this.#pause,
      history: () => place.history(),
      acknowledgedElsewhere: () => place.acknowledgedElsewhere(),
      look: (leader) => this.#seen(copy, leader),
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
    const { end, isWarm, aside, shownOffset } = copy;
    const seq = member.next - 1;
    const { fault, isLoading } = this.#warmth;
    this.#options.role({
      ...{ kind: 'follower', term, leader: lead, isLedElsewhere, isAtEnd, seq, end, settledOffset },
      ...{ isWarm, isLoading, fault, aside, shownOffset },
    });
  }

  /**
   * Until an entry may be there, a look is due, or somebody has asked for one. True if it is an
   * entry: its leader may have sent it.
   */
  async #untilDue(member: Member): Promise<boolean> {
    const { sharedLog, log } = this.#options.place;
    const over = new AbortController();
    const woken = new Promise<false>((resolve) => {
      this.#wakeUp = () => resolve(false);
    });
    const entry = sharedLog.wait(log, member.next, over.signal).then(
      async () => {
        await this.#pause(limits.followPauseMillis);
        return true;
      },
      // An engine that cannot be reached is asked again at the next look.
      () => woken,
    );
    let timer: NodeJS.Timeout | undefined;
    const look = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, Math.max(0, this.#lookAt - performance.now()), false);
      timer.unref();
    });
    const isEntry = !this.#isDue && (await Promise.race([woken, entry, look]));
    clearTimeout(timer);
    over.abort();
    return isEntry && !this.#isDue;
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  readonly #pause = (millis: number): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, millis).unref();
    });
}

const migratingText =
  'a migration of this database is under way; move it when that is done, or cancel the publish';

function stopped(): MemberError {
  return new MemberError('the database is closed', true);
}
