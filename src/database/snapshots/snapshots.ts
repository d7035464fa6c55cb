import { unreachable } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { Alarm, MakeAlarm } from '../alarm.ts';
import type { DatabaseCore } from '../core.ts';
import type { Ticket } from '../ticket.ts';
import type { DatabaseReply, TurnResult } from '../turn.ts';
import { RunningSnapshot } from './running-snapshot.ts';
import { snapshotBytesOf } from './snapshot-bytes.ts';
import type { SnapshotDesk, SnapshotEvents, SnapshotFile } from './snapshot-desk.ts';
import {
  isSnapshotDue,
  isWorthAtStop,
  millisUntilDue,
  type SinceSnapshot,
  type SnapshotDelay,
  type SnapshotSizes,
  sizesOfLimits,
} from './snapshot-due.ts';
import {
  noSnapshotFigures,
  type SnapshotFigures,
  type SnapshotOutcome,
} from './snapshot-outcome.ts';

export interface SnapshotOptions {
  /** Absent where nothing is kept. */
  readonly snapshotDesk?: SnapshotDesk | undefined;
  readonly makeAlarm?: MakeAlarm | undefined;
  /** Used instead of those in `limits.ts`, for tests. */
  readonly snapshotSizes?: SnapshotSizes | undefined;
  /** True while none can begin: what follows its place in the log has begun before that. */
  readonly isHeld?: () => boolean;
}

/**
 * The snapshots of one database: when one is taken, and its slices at the end of turns.
 *
 * ```
 *  idle ──due, or asked for──▶ asked ──ready: pins──▶ running ──read, log durable, written──▶ idle
 *                                 └──failed───────────────┴──given up, failed, cancelled──▶ idle
 * ```
 *
 * Nothing that goes wrong here touches the database: what was written is removed, and it is tried
 * again later.
 */
export class Snapshots {
  readonly #core: DatabaseCore;
  readonly #options: SnapshotOptions;
  readonly #sizes: SnapshotSizes;
  readonly #wake: () => void;
  readonly #alarm: Alarm | undefined;
  #state: State = { kind: 'idle' };
  /** Those who ask for one of what is there now. */
  #tickets = new Set<Ticket>();
  #results: TurnResult[] = [];
  #last: Last;
  #delay: { logBytes: number; until: number } = { logBytes: 0, until: 0 };
  #busyAt = Number.NEGATIVE_INFINITY;
  #isDueAgain = false;
  #figures: SnapshotFigures = noSnapshotFigures;
  /** True: no other one is begun. */
  #isStopping = false;
  /** The end that a stop waits for: until when, and what to call when nothing is under way. */
  #stopping: { readonly until: number; readonly done: () => void } | undefined;
  #spaceReportedAt = Number.NEGATIVE_INFINITY;

  /** `wake` is called when `hasWork` may have become true. */
  constructor(core: DatabaseCore, options: SnapshotOptions, wake: () => void) {
    const { snapshotDesk, makeAlarm } = options;
    this.#core = core;
    this.#options = options;
    this.#sizes = options.snapshotSizes ?? sizesOfLimits;
    this.#wake = wake;
    this.#alarm = snapshotDesk === undefined ? undefined : makeAlarm?.(() => this.#ring());
    const { snapshot: opened } = core;
    const at = core.clock.monotonicMillis();
    const { offset = 0, position = 0 } = opened ?? {};
    this.#last = { offset, position, at };
    if (opened === undefined) return;
    const begunMicros = Number(opened.begunMicros);
    this.#figures = { ...noSnapshotFigures, offset: opened.offset, begunMicros };
  }

  get figures(): SnapshotFigures {
    const logBytes = this.#core.log.bytes - this.#last.position;
    if (this.#state.kind !== 'running') return { ...this.#figures, logBytes };
    const { rowCount, rowsRead, heldBytes } = this.#state.snapshot;
    return { ...this.#figures, logBytes, rowCount, rowsRead, heldBytes };
  }

  /** Bytes of the buffers that it fills. */
  get bufferBytes(): number {
    const { snapshotBlocksMax, snapshotBlockBytes } = limits;
    return this.#state.kind === 'running' ? (snapshotBlocksMax + 1) * snapshotBlockBytes : 0;
  }

  /** Answers at once, or in a later turn: when one of what is there now has been taken. */
  request(ticket: Ticket): DatabaseReply | undefined {
    if (this.#options.snapshotDesk === undefined) return replyOf({ kind: 'off' });
    if (!this.#hasCommits && this.#figures.offset >= 0) {
      return replyOf({ kind: 'kept', offset: this.#core.store.offset });
    }
    this.#tickets.add(ticket);
    return undefined;
  }

  /** The one who has asked is gone. What nobody else waits for, and is not due, is not taken. */
  cancel(ticket: Ticket): void {
    const { snapshot, isDue } = this.#state.kind === 'running' ? this.#state : noneRunning;
    const isOfRunning = snapshot?.tickets.delete(ticket) === true;
    if (!isOfRunning && !this.#tickets.delete(ticket)) return;
    this.#answer([ticket], { kind: 'cancelled' });
    if (!isOfRunning || snapshot.tickets.size > 0 || isDue) return;
    snapshot.cancel();
    this.#state = { kind: 'idle' };
  }

  /** Replies since the last call. */
  takeResults(): TurnResult[] {
    return this.#results.length === 0 ? noResults : this.#results.splice(0);
  }

  /** True if the next turn would do something for it. */
  get hasWork(): boolean {
    if (this.#results.length > 0) return true;
    const now = this.#core.clock.monotonicMillis();
    if (this.#stopping !== undefined && now >= this.#stopping.until) return true;
    switch (this.#state.kind) {
      case 'idle':
        return this.#isWanted(now);
      case 'asked':
        return this.#state.isReady && !this.#isHeld;
      case 'running': {
        const { snapshot } = this.#state;
        if (snapshot.canFinish || snapshot.faultAt(now) !== undefined) return true;
        if (!snapshot.isReading || !snapshot.hasRoom) return false;
        return this.#isIdleAt(now) || snapshot.sliceAt(now) > 0;
      }
      default:
        return unreachable(this.#state);
    }
  }

  /** Sets when the actor is to look again, because time alone makes a difference. */
  setAlarm(): void {
    if (this.#alarm === undefined) return;
    const now = this.#core.clock.monotonicMillis();
    const work = this.#millisToWork(now);
    const millis = Math.min(work, Math.max(0, (this.#stopping?.until ?? never) - now));
    if (millis === never) this.#alarm.set(undefined);
    else this.#alarm.set(this.#core.clock.nowMicros() + BigInt(Math.ceil(millis * 1_000)));
  }

  /** By the clock of turns it may be too early. One look decides: a second one would see more. */
  #ring(): void {
    if (this.hasWork) this.#wake();
    else this.setAlarm();
  }

  /** At the end of a turn, after its records were written. `isBusy`: it has run a request. */
  goOn(isBusy: boolean): void {
    const { clock } = this.#core;
    const now = clock.monotonicMillis();
    if (isBusy) this.#busyAt = now;
    if (this.#stopping !== undefined && now >= this.#stopping.until) this.#drop();
    if (this.#state.kind === 'idle' && this.#isWanted(now)) this.#ask(now);
    else if (this.#state.kind === 'asked' && this.#state.isReady && !this.#isHeld)
      this.#begin(this.#state);
    else if (this.#state.kind === 'running') this.#readOn(this.#state.snapshot, now);
  }

  /**
   * For a clean stop, when no request is left: takes one if the next opening gains by it, and gives
   * it up silently when the time is over. Resolves when nothing is under way.
   */
  async stop(untilMillis: number): Promise<void> {
    this.#isStopping = true;
    const now = this.#core.clock.monotonicMillis();
    const bytes = snapshotBytesOf(this.#core.store);
    const isWorth = isWorthAtStop(this.#since(now), bytes, untilMillis - now, this.#sizes);
    if (!isWorth || this.#core.full !== undefined) this.#drop();
    else if (this.#state.kind === 'idle') this.#ask(now);
    if (this.#state.kind === 'idle') return;
    await new Promise<void>((done) => {
      this.#stopping = { until: untilMillis, done };
      this.#wake();
    });
  }

  /** Drops everything: the database writes no more. */
  abandon(): void {
    this.#isStopping = true;
    this.#alarm?.dispose();
    this.#tickets.clear();
    this.#drop();
  }

  #drop(): void {
    const state = this.#state;
    this.#state = { kind: 'idle' };
    if (state.kind === 'running') state.snapshot.cancel();
    else if (state.kind === 'asked') state.file.cancel();
    const tickets = state.kind === 'running' ? [...state.snapshot.tickets] : [];
    const message = 'The snapshot was not taken: the database is stopping';
    this.#answer([...tickets, ...this.#takeTickets()], { kind: 'failed', message });
    this.#endStop();
  }

  #endStop(): void {
    this.#stopping?.done();
    this.#stopping = undefined;
  }

  #ask(now: number): void {
    const { snapshotDesk } = this.#options;
    if (snapshotDesk === undefined) return;
    const isDue =
      isSnapshotDue(this.#since(now), this.#delayAt(now), this.#sizes) || this.#isDueAgain;
    this.#isDueAgain = false;
    const events: SnapshotEvents = {
      ready: () => this.#ready(events),
      taken: (buffer) => {
        const state = this.#state;
        if (state.kind === 'running' && state.events === events) state.snapshot.taken(buffer);
        this.#wake();
      },
      finished: (bytes) => this.#finished(events, bytes),
      failed: (message, isForSpace) => this.#failed(events, message, isForSpace),
    };
    const file = snapshotDesk.ask(snapshotBytesOf(this.#core.store), events);
    this.#state = { kind: 'asked', file, events, isReady: false, isDue };
  }

  #ready(events: SnapshotEvents): void {
    if (this.#state.kind !== 'asked' || this.#state.events !== events) return;
    this.#state.isReady = true;
    this.#wake();
  }

  #begin({ file, events, isDue }: Asked): void {
    const tickets = this.#tickets;
    if (tickets.size === 0 && !isDue && this.#stopping === undefined) {
      file.cancel();
      this.#state = { kind: 'idle' };
      return;
    }
    this.#tickets = new Set();
    const snapshot = new RunningSnapshot(this.#core, file, tickets, this.#sizes.heldBytesMin);
    this.#state = { kind: 'running', snapshot, events, isDue };
  }

  #readOn(snapshot: RunningSnapshot, now: number): void {
    const fault = snapshot.faultAt(now);
    if (fault !== undefined) {
      this.#giveUp(snapshot);
      return;
    }
    if (snapshot.isReading) {
      const slice = snapshot.sliceAt(now);
      const millis = this.#isIdleAt(now) ? limits.snapshotSliceMillisMax : slice;
      if (millis > 0 && snapshot.hasRoom) snapshot.read(millis);
    }
    snapshot.tryToFinish();
  }

  /** An update is never delayed, and the snapshot is due again at once; otherwise it is later. */
  #giveUp(snapshot: RunningSnapshot): void {
    snapshot.cancel();
    this.#state = { kind: 'idle' };
    this.#figures = { ...this.#figures, givenUp: this.#figures.givenUp + 1 };
    for (const ticket of snapshot.tickets) this.#tickets.add(ticket);
    if (snapshot.program !== this.#core.program) {
      this.#isDueAgain = true;
      this.#ended();
      return;
    }
    const message =
      'The snapshot was given up: more rows changed while it was taken than memory is kept for. ' +
      'It is tried again later';
    this.#answer(this.#takeTickets(), { kind: 'failed', message });
    this.#delay.logBytes = 2 * (this.#core.log.bytes - this.#last.position);
    this.#ended();
  }

  #finished(events: SnapshotEvents, bytes: number): void {
    if (this.#state.kind !== 'running' || this.#state.events !== events) return;
    const { snapshot } = this.#state;
    const { clock } = this.#core;
    const { place, rowCount, costMillis, tickets } = snapshot;
    const { offset, position, begunMicros } = place;
    const at = clock.monotonicMillis();
    const millis = at - snapshot.startedAt;
    snapshot.release();
    this.#state = { kind: 'idle' };
    this.#last = { offset, position, at };
    this.#delay = { logBytes: 0, until: 0 };
    this.#figures = {
      ...this.#figures,
      ...{ offset, begunMicros: Number(begunMicros), bytes, millis, costMillis },
      taken: this.#figures.taken + 1,
      failuresInRow: 0,
    };
    this.#answer(tickets, { kind: 'taken', offset, bytes, rowCount, millis });
    if (!this.#hasCommits) this.#answer(this.#takeTickets(), { kind: 'kept', offset });
    this.#ended();
  }

  #failed(events: SnapshotEvents, message: string, isForSpace: boolean): void {
    const state = this.#state;
    if (state.kind === 'idle' || state.events !== events) return;
    if (state.kind === 'running') {
      state.snapshot.release();
      for (const ticket of state.snapshot.tickets) this.#tickets.add(ticket);
    }
    this.#state = { kind: 'idle' };
    const { failures, failuresInRow } = this.#figures;
    const { snapshotRetryMillisMin, snapshotRetryMillisMax } = limits;
    const wait = Math.min(snapshotRetryMillisMin * 2 ** failuresInRow, snapshotRetryMillisMax);
    this.#delay.until = this.#core.clock.monotonicMillis() + wait;
    const counts = { failures: failures + 1, failuresInRow: failuresInRow + 1 };
    this.#figures = { ...this.#figures, ...counts };
    this.#answer(this.#takeTickets(), { kind: 'failed', message });
    this.#report(message, isForSpace, wait);
    this.#ended();
  }

  /** That there is little space is said once an hour. */
  #report(message: string, isForSpace: boolean, waitMillis: number): void {
    const now = this.#core.clock.monotonicMillis();
    if (isForSpace && now - this.#spaceReportedAt < limits.snapshotSpaceReportMillis) return;
    if (isForSpace) this.#spaceReportedAt = now;
    this.#core.warn(`${message}. The next try is in ${Math.round(waitMillis / 60_000)} min`);
  }

  #ended(): void {
    this.#endStop();
    this.#wake();
  }

  #takeTickets(): Set<Ticket> {
    const tickets = this.#tickets;
    this.#tickets = new Set();
    return tickets;
  }

  #answer(tickets: Iterable<Ticket>, outcome: SnapshotOutcome): void {
    for (const ticket of tickets) this.#results.push({ ticket, reply: replyOf(outcome) });
    if (this.#results.length > 0) this.#wake();
  }

  get #isHeld(): boolean {
    return this.#options.isHeld?.() === true;
  }

  #isWanted(now: number): boolean {
    if (this.#options.snapshotDesk === undefined || this.#core.full !== undefined) return false;
    if (this.#isStopping || this.#isHeld) return false;
    if (this.#tickets.size > 0 || this.#isDueAgain) return true;
    // Most looks end here.
    if (this.#core.log.bytes - this.#last.position < this.#sizes.logBytesMin) return false;
    return isSnapshotDue(this.#since(now), this.#delayAt(now), this.#sizes);
  }

  #millisToWork(now: number): number {
    switch (this.#state.kind) {
      case 'idle': {
        const isOff = this.#options.snapshotDesk === undefined || this.#core.full !== undefined;
        // The turn that ends what holds it looks again.
        if (isOff || this.#isStopping || this.#isHeld) return never;
        return millisUntilDue(this.#since(now), this.#delayAt(now), this.#sizes) ?? never;
      }
      case 'asked':
        return never;
      case 'running': {
        const { snapshot } = this.#state;
        if (!snapshot.isReading || !snapshot.hasRoom) return never;
        const toIdle = limits.snapshotIdleMillis - (now - this.#busyAt);
        return Math.max(0, Math.min(toIdle, snapshot.millisToSlice));
      }
      default:
        return unreachable(this.#state);
    }
  }

  /** Where nothing would wake the actor later, it never waits. */
  #isIdleAt(now: number): boolean {
    return this.#alarm === undefined || now - this.#busyAt >= limits.snapshotIdleMillis;
  }

  /**
   * Whether there are commits since the last one. Without, there is never another one, whatever
   * was sealed since: a file of that name with other content may be in a backup already.
   */
  get #hasCommits(): boolean {
    return this.#core.store.offset > this.#last.offset;
  }

  #since(now = this.#core.clock.monotonicMillis()): SinceSnapshot {
    return {
      hasCommits: this.#hasCommits,
      logBytes: this.#core.log.bytes - this.#last.position,
      millis: now - this.#last.at,
      costMillis: this.#figures.costMillis,
    };
  }

  #delayAt(now: number): SnapshotDelay {
    return { logBytes: this.#delay.logBytes, millis: Math.max(0, this.#delay.until - now) };
  }
}

/** The newest snapshot; at the beginning, the beginning of the log. */
interface Last {
  readonly offset: number;
  readonly position: number;
  readonly at: number;
}

type State =
  | { readonly kind: 'idle' }
  | Asked
  | {
      readonly kind: 'running';
      readonly snapshot: RunningSnapshot;
      readonly events: SnapshotEvents;
      /** False if it is taken only for those who have asked. */
      readonly isDue: boolean;
    };

interface Asked {
  readonly kind: 'asked';
  readonly file: SnapshotFile;
  readonly events: SnapshotEvents;
  isReady: boolean;
  readonly isDue: boolean;
}

const never = Number.POSITIVE_INFINITY;
const noneRunning = { snapshot: undefined, isDue: false };
const noResults: TurnResult[] = [];

function replyOf(outcome: SnapshotOutcome): DatabaseReply {
  return { kind: 'snapshot', outcome };
}
