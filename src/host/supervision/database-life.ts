import { assert, unreachable } from '../../assert.ts';
import { type Refusal, stoppedRefusal } from '../../database/outcome.ts';
import type { KeptLog, StorageLimits } from '../../database/storage-quota.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { SettledNote } from '../../shared-log/member-options.ts';
import type { Handed } from '../../shared-log/replicator.ts';
import type { CopyReading, DatabaseRole, FollowerRole } from '../replication/database-role.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import { endLine } from '../seats/end-line.ts';
import {
  type Kill,
  killAtStop,
  type Seat,
  type SeatEnd,
  type SeatMode,
  type SeatOpening,
} from '../seats/seat.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import { deferred } from './deferred.ts';
import { failedRefusal, notStartedRefusal } from './end-refusals.ts';
import { FullDisk } from './full-disk.ts';
import {
  coldReasonAfter,
  finish,
  type HopefulState,
  type LifeOwner,
  type LifeState,
  openMode,
  type ReadingSeat,
  type Starts,
  seatOf,
  shownState,
  startsOf,
} from './life-state.ts';
import { LineTimes } from './line-times.ts';
import { Opening } from './opening.ts';
import { isOfLeftover, Reopening } from './reopening.ts';
import { type WakeReason, wakeTexts } from './rest.ts';
import { isSelfActing, noSchedules, type ScheduleState } from './schedule-state.ts';
import { ScheduledEnds } from './scheduled-ends.ts';
import type { SupervisionOptions } from './supervision-options.ts';
import { untilEnded } from './until-ended.ts';
import type { Vitals } from './vitals.ts';

/**
 * The actors of one database: takes their seats one after the other, and decides when there is
 * another one. The states are above. It knows no request; `LifeOwner` has them.
 */
export class DatabaseLife {
  readonly #options: SupervisionOptions;
  readonly #vitals: Vitals;
  readonly #owner: LifeOwner;
  readonly #reopening: Reopening;
  #stopped: () => Refusal = stoppedRefusal;
  readonly #disk: FullDisk;
  readonly #lineTimes: LineTimes;
  readonly #scheduledEnds = new ScheduledEnds();
  /** While it is broken, and has schedules. */
  #retry: NodeJS.Timeout | undefined;
  #state: LifeState = { kind: 'closed' };
  /**
   * Set by the first `close` or `crash`: new requests are refused, and no actor follows. After
   * `close`, accepted requests are finished first.
   */
  #closing: Promise<void> | undefined;
  #restarts = 0;
  /** The term that this host has given away with its last actor. */
  #handedTerm: number | undefined;
  /** Why the next actor does not load its program while it follows. */
  #coldReason: string | undefined;
  #openMillis: number | undefined;
  /** Whether the schedules were paused when the last seat was taken. */
  #beganPaused = false;
  #storage: StorageLimits;
  #keptLog: KeptLog = {};

  /** Takes the first seat, unless it begins without one. */
  constructor(
    options: SupervisionOptions,
    vitals: Vitals,
    owner: LifeOwner,
    mode: SeatMode | 'closed' | 'asleep',
  ) {
    this.#options = options;
    this.#vitals = vitals;
    this.#owner = owner;
    this.#reopening = new Reopening(options.clock);
    this.#lineTimes = new LineTimes(options.clock);
    this.#disk = new FullDisk(options, () => void this.#writeAgain());
    this.#storage = options.storage ?? {};
    if (mode === 'asleep') this.#state = { kind: 'asleep' };
    else if (mode !== 'closed') this.#begin(mode, new Set());
  }

  get figures(): Pick<DatabaseStatistics, 'state' | 'opening' | 'isReadOnly' | 'restarts'> {
    return {
      state: shownState(this.#state),
      opening: this.#opening?.progress,
      isReadOnly: this.#disk.text !== undefined,
      restarts: this.#restarts,
    };
  }

  /** The seat to submit requests to, while it serves. */
  get servingSeat(): Seat | undefined {
    const state = this.#state;
    return state.kind === 'serving' ? state.seat : undefined;
  }

  /** The seat whose copy takes reads, while another host leads, and its program. */
  get readingSeat(): ReadingSeat | undefined {
    const state = this.#state;
    if (state.kind !== 'following' || state.readable === undefined) return undefined;
    return { seat: state.seat, description: state.readable, role: state.role };
  }

  noteSettled(note: SettledNote): void {
    if (this.#state.kind === 'following') this.#state.seat.noteSettled?.(note);
  }

  /** Has the copy made ready for reads; false: it will not be. */
  prepareReads(): boolean {
    const state = this.#state;
    if (state.kind !== 'following' || state.role.fault !== undefined) return false;
    state.seat.prepareReads?.();
    return true;
  }

  /** How long it took to open the last time; `undefined`: it did not. */
  get openMillis(): number | undefined {
    return this.#openMillis;
  }

  get isAsleep(): boolean {
    return this.#state.kind === 'asleep';
  }

  /** True while there is no actor, and none will follow unless a request opens it. */
  get isOver(): boolean {
    const { kind } = this.#state;
    return kind === 'broken' || kind === 'stopped';
  }

  /**
   * Admits a request: opens the database if need be. Returns the opening that the request has to
   * wait for, if there is one. Throws the refusal if the database does not serve and will not.
   */
  admit(): Opening | undefined {
    const state = this.#hopeful();
    if (this.#closing !== undefined) throw this.#stopped();
    if (state.kind === 'following') throw this.#counted(notLeaderRefusal(state.role));
    return state.kind === 'opening' ? state.opening : undefined;
  }

  /** Opens it, if it is closed. */
  open(): void {
    const isClosed = this.#state.kind === 'closed' && this.#closing === undefined;
    if (isClosed) this.#begin(openMode, new Set());
  }

  /** Opens it before it is asked, because a schedule is due soon; does nothing unless it sleeps. */
  wake(): void {
    const canWake = this.#state.kind === 'asleep' && this.#closing === undefined;
    if (canWake) this.#begin(openMode, new Set(), 'schedule');
  }

  /**
   * Lets the actor of a database that nobody uses finish, and takes no other one. Resolves to true
   * when it sleeps. A request that comes meanwhile waits, and the database opens again for it.
   */
  async sleep(): Promise<boolean> {
    const before = this.#state;
    if (before.kind !== 'serving' || this.#closing !== undefined) return false;
    const { seat } = before;
    const end = deferred();
    const settling: LifeState = {
      ...{ kind: 'settling', seat, starts: new Set() },
      ...{ end, isLast: false },
    };
    this.#state = settling;
    try {
      await finish(seat);
      if (this.#state === settling) this.#settled(settling);
      return this.isAsleep;
    } finally {
      end.resolve();
    }
  }

  #settled({ starts, isLast }: Extract<LifeState, { readonly kind: 'settling' }>): void {
    if (isLast) {
      this.#stop();
      return;
    }
    this.#state = { kind: 'asleep' };
    this.#options.report('info', 'sleeps: nobody uses it');
    this.#owner.fellAsleep();
    if (starts.size > 0 || this.#owner.isAwaited()) this.#begin(openMode, starts, 'request');
  }

  /**
   * Opens it and resolves once it serves, or follows another host, however long that takes; rejects
   * when it will not.
   */
  async started(): Promise<void> {
    const state = this.#hopeful();
    if (state.kind === 'serving' || state.kind === 'following') return;
    const start = deferred();
    state.starts.add(start);
    await start.promise;
  }

  /** Waits like `started` on behalf of a request, within bounds. */
  async untilServing(): Promise<void> {
    const state = this.#hopeful();
    if (state.kind === 'serving') return;
    if (state.kind === 'following') throw this.#counted(notLeaderRefusal(state.role));
    const start = deferred();
    const leave = this.#opening?.wait((refusal) => {
      state.starts.delete(start);
      start.reject(refusal);
    });
    state.starts.add(start);
    await start.promise.finally(leave);
    // Who waits for it to start hears of both.
    const { kind, role } = { role: undefined, ...this.#state };
    if (kind === 'following') throw this.#counted(notLeaderRefusal(role));
  }

  /** Applies other limits to the database, including after it is reopened. */
  setStorage(limits: StorageLimits): void {
    this.#useStorage({ ...limits, ...this.#keptLog });
  }

  /** What of its log is on the disk has changed; counts for later actors, too. */
  keepsLog(kept: KeptLog): void {
    this.#keptLog = { ...this.#keptLog, ...kept };
    this.#useStorage({ ...this.#storage, ...this.#keptLog });
  }

  #useStorage(storage: StorageLimits): void {
    if (JSON.stringify(storage) === JSON.stringify(this.#storage)) return;
    this.#storage = storage;
    seatOf(this.#state)?.setStorage(storage);
  }

  /** Gives the actor the configuration as it is now; later actors begin with it. */
  renewEnv(): void {
    const env = this.#options.env?.();
    if (env !== undefined) seatOf(this.#state)?.setEnv(env);
  }

  /** Ends the actor without letting it finish; what is not handed over is gone. */
  crash(): void {
    this.#closing ??= Promise.resolve();
    this.#kill({ cause: 'closed', message: 'The database was ended.' });
  }

  /**
   * Lets accepted work finish; after `millisMax` the actor is killed. Within `snapshotMillis` it
   * may take a last snapshot. `stopped`: what requests get that come, or still wait.
   */
  close(
    millisMax: number,
    snapshotMillis: number,
    stopped: () => Refusal = stoppedRefusal,
  ): Promise<void> {
    if (this.#closing === undefined) this.#stopped = stopped;
    this.#closing ??= this.#close(millisMax, snapshotMillis);
    return this.#closing;
  }

  async #close(millisMax: number, snapshotMillis: number): Promise<void> {
    if (this.isOver) return;
    const until = this.#options.clock.monotonicMillis() + snapshotMillis;
    this.#owner.closes();
    const deadline = setTimeout(() => this.#kill(killAtStop), millisMax);
    try {
      if (this.#state.kind === 'settling') await this.#state.end.promise;
      if (this.#options.role !== undefined) await this.#endFollower();
      if (shownState(this.#state) === 'opening') await this.started().catch(() => undefined);
      const idle = this.#owner.idle();
      if (idle !== undefined) await idle;
      const seat = this.servingSeat;
      const left = Math.max(0, until - this.#options.clock.monotonicMillis());
      if (seat !== undefined) await seat.close(left);
    } finally {
      clearTimeout(deadline);
      this.#stop();
    }
  }

  /** A follower whose actor would begin with another pause of its schedules begins again. */
  async renew(): Promise<void> {
    if (this.#state.kind !== 'following' || this.#schedules.isPaused === this.#beganPaused) return;
    if ((await this.#vacate()) !== undefined) this.#reopen(false);
  }

  /**
   * Lets the copy of a follower go, or a broken one: it has no actor until it is opened again, and
   * cannot be opened before `goes` has returned. False: it leads, does something else, or somebody
   * waits for it.
   */
  async letGo(goes: () => void): Promise<boolean> {
    const isBroken = this.#state.kind === 'broken' && this.#closing === undefined;
    const vacated = isBroken ? { isLed: false, starts: new Set() } : await this.#vacate();
    if (vacated === undefined) return false;
    const isWanted = vacated.isLed || vacated.starts.size > 0 || this.#owner.isAwaited();
    if (isWanted) {
      this.#reopen(false);
      return false;
    }
    goes();
    this.#state = { kind: 'closed' };
    return true;
  }

  /** Has the actor of a follower finish; `undefined`: there is none, or it stops for good. */
  async #vacate(): Promise<{ readonly isLed: boolean; readonly starts: Starts } | undefined> {
    const before = this.#state;
    if (before.kind !== 'following' || this.#closing !== undefined) return undefined;
    const { seat } = before;
    const vacating: LifeState = { kind: 'vacating', seat, starts: new Set(), isLast: false };
    this.#state = vacating;
    this.#owner.vacated();
    await finish(seat);
    // It may have begun to lead in its last moment; that actor has finished, too.
    const isLed = this.servingSeat === seat;
    if (this.#state !== vacating && !isLed) return undefined;
    if (!vacating.isLast && this.#closing === undefined) return { isLed, starts: vacating.starts };
    this.#stop();
    return undefined;
  }

  /** Has its member look at the shared log at once. */
  look(): void {
    seatOf(this.#state)?.wake?.();
  }

  /** Gives the database to another host; see `Seat`. */
  async handOver(to: Lead): Promise<void> {
    const { servingSeat: seat } = this;
    if (seat?.handOver === undefined) throw notLeaderRefusal(undefined);
    await seat.handOver(to);
  }

  /** A member that does not lead has nothing to finish, and may never open. */
  async #endFollower(): Promise<void> {
    const { kind } = this.#state;
    if (kind === 'opening' || kind === 'following') await seatOf(this.#state)?.close();
    if (kind === 'opening' || kind === 'following') this.#stop();
  }

  #kill(kill: Kill): void {
    const state = this.#state;
    if (state.kind === 'vacating' || state.kind === 'settling') state.isLast = true;
    seatOf(state)?.kill(kill);
  }

  get #schedules(): ScheduleState {
    return this.#options.schedules?.() ?? noSchedules;
  }

  get #opening(): Opening | undefined {
    const state = this.#state;
    return state.kind === 'opening' ? state.opening : undefined;
  }

  /** Makes sure that it opens; throws the reason if it is broken and not due to be opened again. */
  #hopeful(): HopefulState {
    const state = this.#state;
    switch (state.kind) {
      case 'serving':
      case 'creating':
      case 'opening':
      case 'vacating':
      case 'settling':
      case 'following':
        return state;
      case 'closed':
      case 'asleep':
        if (this.#closing !== undefined) throw this.#counted(this.#stopped());
        return this.#begin(openMode, new Set(), state.kind === 'asleep' ? 'request' : undefined);
      case 'broken':
        if (this.#closing !== undefined || !this.#reopening.isDue) throw this.#counted(state.fault);
        this.#reopening.begun();
        this.#options.report('info', 'is reopened: the reason it did not serve may be gone');
        return this.#reopen(false);
      case 'stopped':
        throw this.#counted(this.#stopped());
      default:
        return unreachable(state);
    }
  }

  #counted(refusal: Refusal): Refusal {
    this.#vitals.refused(refusal.body.code);
    return refusal;
  }

  /** Opens the database, or creates it. */
  #begin(mode: SeatMode, starts: Starts, wake?: WakeReason): HopefulState {
    if (wake !== undefined) this.#options.report('info', wakeTexts[wake]);
    this.#opening?.ended();
    const opening = mode.kind === 'open' ? this.#beginOpening() : undefined;
    const seat = this.#takeSeat(mode, opening?.bytes ?? 0);
    const state: HopefulState =
      opening === undefined
        ? { kind: 'creating', seat, starts }
        : { kind: 'opening', seat, starts, opening, wake };
    this.#state = state;
    return state;
  }

  #beginOpening(): Opening {
    const { clock, report, logBytes } = this.#options;
    const refused = (code: string) => this.#vitals.refused(code);
    const opening = new Opening({ clock, report, refused, bytes: logBytes?.() });
    const lastTicket = this.#owner.lastTicket();
    opening.keep((refusal) => this.#owner.giveUp(lastTicket, refusal));
    return opening;
  }

  #takeSeat(mode: SeatMode, logBytes: number): Seat {
    const owner = this.#owner;
    const events = untilEnded({
      hasRead: (bytes) => this.#opening?.hasRead(bytes),
      hasFetched: (bytes) => this.#opening?.hasFetched(bytes),
      links: (isLinking) => this.#opening?.links(isLinking),
      opened: (opening) => this.#opened(opening, mode),
      followed: (turn) => owner.followed(turn),
      handOver: (turn) => {
        this.#reopening.succeeded();
        owner.handOver(turn);
      },
      durable: (write, offset) => owner.durable(write, offset),
      lines: (lines) => this.#options.lines(this.#lineTimes.within(lines)),
      warn: (message) => this.#options.warn(message),
      memory: (memory) => owner.memory(memory),
      role: (role) => this.#role(role),
      readable: (reading) => this.#readable(reading),
      ended: (end) => this.#ended(end, mode),
    });
    const env = this.#options.env?.();
    const { isPaused: schedulesPaused } = this.#schedules;
    this.#beganPaused = schedulesPaused;
    const state = { storage: this.#storage, schedulesPaused, env };
    const member = { handedTerm: this.#handedTerm, coldReason: this.#coldReason };
    return this.#options.takeSeat(
      { mode, lastTicket: owner.lastTicket(), ...state, logBytes, ...member },
      events,
    );
  }

  #opened(opening: SeatOpening, mode: SeatMode): void {
    const before = this.#state;
    const isNext = before.kind !== 'serving' && 'starts' in before;
    assert(isNext, 'an actor opens once');
    this.#disk.opened(mode);
    this.#reopening.opened();
    this.#scheduledEnds.opened(mode);
    this.#owner.opened(opening);
    this.#state = { kind: 'serving', seat: before.seat };
    if (before.kind === 'opening') this.#openingEnded(before);
    for (const { resolve } of before.starts) resolve();
    this.#owner.serves();
  }

  #role(role: DatabaseRole): void {
    this.#options.role?.(role);
    if (role.kind === 'follower' && role.isLedElsewhere) this.#follow(role);
  }

  #readable(reading: CopyReading): void {
    if (this.#state.kind !== 'following') return;
    this.#state.readable = reading === 'leads' ? undefined : reading;
    this.#owner.readable(reading === 'leads');
  }

  #follow(role: FollowerRole): void {
    const before = this.#state;
    if (before.kind === 'following') before.role = role;
    if (before.kind !== 'creating' && before.kind !== 'opening') return;
    this.#opening?.ended();
    const { seat } = before;
    this.#state = { kind: 'following', seat, starts: new Set(), role, readable: undefined };
    this.#owner.finished('following', notLeaderRefusal(role));
    for (const { resolve } of before.starts) resolve();
  }

  #openingEnded({ opening, wake }: Extract<LifeState, { readonly kind: 'opening' }>): void {
    opening.succeeded();
    const { millis } = opening.progress;
    this.#openMillis = millis;
    if (wake !== undefined) this.#owner.woke(wake, millis);
  }

  /** Decides what follows after an actor ended before its time. */
  #ended(end: SeatEnd, mode: SeatMode): void {
    const { kind } = this.#state;
    // A read of a copy can end an actor as one of a leader can.
    const isOfRead = kind === 'following' && end.running !== undefined;
    const wasServing = kind === 'serving' || isOfRead;
    this.#handedTerm = end.handed?.term;
    this.#coldReason = coldReasonAfter(this.#state, end);
    const isClosing = this.#closing !== undefined;
    const isRead = !isClosing && this.#disk.canBeRead(end, mode, wasServing);
    const seen = isRead ? { ...end, message: this.#disk.noticed(end) } : end;
    this.#scheduledEnds.ended(end);
    this.#owner.ended(seen, isClosing && end.cause === 'closed');
    if (isRead) this.#reopen(false, this.#disk.text);
    else this.#conclude(end, mode, wasServing);
  }

  #conclude(end: SeatEnd, mode: SeatMode, wasServing: boolean): void {
    if (this.#closing !== undefined) {
      if (end.cause !== 'closed') this.#options.report(...endLine(end, 'closed', false));
      this.#stop();
      return;
    }
    const next = this.#reopening.ended(end, mode, wasServing);
    const isNew = mode.kind === 'create' && !wasServing;
    this.#options.report(...endLine(end, next, isNew));
    if (end.handed !== undefined) this.#followNext(end.handed);
    else if (this.#coldReason !== undefined) this.#reopen(false);
    else if (next === 'reopens') this.#reopen(isOfLeftover(end, wasServing), this.#disk.text);
    else this.#break(wasServing ? failedRefusal(end) : notStartedRefusal(end, mode));
  }

  /** Another host has the term: what had not begun goes there at once. */
  #followNext({ term, to, at }: Handed): void {
    this.#begin(openMode, startsOf(this.#state));
    const seen = { isLedElsewhere: true, isAtEnd: false, isWarm: false, seq: -1 };
    const ends = { end: at, settledOffset: at.offset };
    this.#role({ kind: 'follower', term, leader: to, ...seen, ...ends });
  }

  /** `full`: why it is opened read-only. */
  #reopen(skipFirstDisconnect: boolean, full?: string): HopefulState {
    this.#restarts += 1;
    this.#options.role?.(
      full === undefined ? { kind: 'opening' } : { kind: 'broken', reason: full },
    );
    const { failed: failedSchedule } = this.#scheduledEnds;
    const mode: SeatMode = { kind: 'open', skipFirstDisconnect, full, failedSchedule };
    return this.#begin(mode, startsOf(this.#state));
  }

  /** Space is free: the reading actor finishes its work, and its connections end with it. */
  async #writeAgain(): Promise<void> {
    const before = this.#state;
    if (before.kind !== 'serving' || this.#closing !== undefined) return;
    const { seat } = before;
    const vacating: LifeState = { kind: 'vacating', seat, starts: new Set(), isLast: false };
    this.#state = vacating;
    await finish(seat);
    // If it ended on its own, another one was started, or there will be none.
    if (this.#state !== vacating) return;
    if (vacating.isLast) {
      this.#stop();
      return;
    }
    this.#owner.vacated();
    this.#reopen(false);
  }

  #break(fault: Refusal): void {
    this.#options.role?.({ kind: 'broken', reason: fault.message });
    this.#finish({ kind: 'broken', fault }, fault);
    this.#retryLater();
  }

  /** Requests may never come to a database that works by itself, or that another host leads. */
  #retryLater(): void {
    const { waitMillis } = this.#reopening;
    const isAwaited = this.#options.role !== undefined || isSelfActing(this.#schedules);
    if (waitMillis === Number.POSITIVE_INFINITY || !isAwaited) return;
    this.#retry = setTimeout(() => this.#retryNow(), Math.ceil(waitMillis)).unref();
  }

  #retryNow(): void {
    if (this.#state.kind !== 'broken' || this.#closing !== undefined) return;
    if (this.#reopening.isDue) this.#hopeful();
    else this.#retryLater();
  }

  #stop(): void {
    this.#finish({ kind: 'stopped' }, this.#stopped());
  }

  #finish(state: Extract<LifeState, { kind: 'broken' | 'stopped' }>, fault: Refusal): void {
    const starts = startsOf(this.#state);
    clearTimeout(this.#retry);
    this.#opening?.ended();
    this.#state = state;
    this.#disk.stop();
    this.#owner.finished(state.kind, fault);
    for (const { reject } of starts) reject(fault);
  }
}
