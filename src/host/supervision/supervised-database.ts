import { assert } from '../../assert.ts';
import { overloaded } from '../../database/call-queue.ts';
import {
  type Caller,
  type CallOutcome,
  type CallRequest,
  Refusal,
  type SqlOutcome,
  type SqlRequest,
  stoppedRefusal,
} from '../../database/outcome.ts';
import { askingOf } from '../../database/preview-outcome.ts';
import { hashHex } from '../../database/program-hash.ts';
import type { StorageLimits } from '../../database/storage-quota.ts';
import {
  type DatabaseReply,
  type DatabaseRequest,
  inOrder,
  type TurnReport,
  type TurnResult,
} from '../../database/turn.ts';
import { checkTokenPresence } from '../../database/update-program.ts';
import { type WriteNumber, writeNumber } from '../../database/write-number.ts';
import { limits } from '../../limits.ts';
import { type CommitOffset, commitOffset } from '../../store/commit-offset.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { LiveConnection, LiveOptions, LiveSink } from '../feeds/live-connection.ts';
import { LiveFeeds } from '../feeds/live-feeds.ts';
import { Outbox } from '../feeds/outbox.ts';
import { type Pending, PendingRequests, type PromisedRequest } from '../feeds/pending-requests.ts';
import { programHashInSlices } from '../linking/program-hash.ts';
import { authorLine, endLine, lossText } from '../seats/end-line.ts';
import {
  killAtStop,
  nothingMeasured,
  type Seat,
  type SeatEnd,
  type SeatMemory,
  type SeatMode,
  type SeatOpening,
} from '../seats/seat.ts';
import type {
  ConnectOutcome,
  DatabaseDescription,
  DatabaseHandle,
  PlanOutcome,
  PreviewOutcome,
  PreviewRequest,
  ProgramSource,
  TableFigures,
  UpdateOutcome,
  UpdatePermission,
} from './database-handle.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import { type Deferred, deferred } from './deferred.ts';
import { failedRefusal, lostReply, notStartedRefusal } from './end-refusals.ts';
import { FullDisk } from './full-disk.ts';
import { type DatabaseHealth, healthOf } from './health.ts';
import { LineTimes } from './line-times.ts';
import { Opening } from './opening.ts';
import { planProgram } from './plan-program.ts';
import { Reopening } from './reopening.ts';
import type { SupervisionOptions } from './supervision-options.ts';
import { untilDurable } from './until-durable.ts';
import { untilEnded } from './until-ended.ts';
import { updateOutcome } from './update-outcome.ts';
import { type VitalFigures, Vitals } from './vitals.ts';

/**
 * Keeps one database running and speaks for it:
 *
 * ```
 *  closed ──open, or the first request──▶ opening        nothing runs before
 *  opening ──opened──▶ serving ──ended──▶ opening        what was not written is run again
 *  opening ──ended, too often or for good──▶ broken      every request is refused with the reason
 *  broken ──a request, if it may pass──▶ opening         not before `Reopening` allows it
 *  opening, serving ──no space, or space again──▶ opening   see `FullDisk`
 *  closed, opening, serving ──close──▶ stopped
 * ```
 *
 * A request is in `#pending` until the actor hands its outcome over, then in `#outbox` while it
 * waits to be durable. Both are on this side, so the end of an actor loses neither. Connections are
 * on this side too (`#feeds`), but what the actor knew of them is gone with it, so they end.
 */
export class SupervisedDatabase implements DatabaseHandle {
  readonly #options: SupervisionOptions;
  readonly #pending: PendingRequests;
  readonly #outbox = new Outbox();
  readonly #feeds: LiveFeeds;
  #restarts = 0;
  #state: DatabaseStatistics['state'] = 'closed';
  /** Progress while it opens from its log; a database that is being created has none. */
  #opening: Opening | undefined;
  #closing: Promise<void> | undefined;
  /** True when its time to close has run out. */
  #isOverdue = false;
  /** The present actor's, or the last one's; `undefined`: there was none yet. */
  #seat: Seat | undefined;
  #description: DatabaseDescription | undefined;
  /** Why it is broken. */
  #fault: Refusal | undefined;
  #whenStarted: Deferred[] = [];
  #whenIdle: (() => void)[] = [];
  readonly #reopening: Reopening;
  readonly #disk: FullDisk;
  /** Write of the present actor that came with the last turn. */
  #lastWrite = writeNumber(0);
  #isFlushing = false;
  #offset = commitOffset(0);
  #durableOffset = commitOffset(0);
  #memory: SeatMemory = nothingMeasured;
  #storage: StorageLimits;
  readonly #lineTimes: LineTimes;
  readonly #vitals: Vitals;

  /** Takes the first seat; a failed `create` is final. `closed`: on the first request. */
  constructor(options: SupervisionOptions, mode: SeatMode | 'closed') {
    this.#options = options;
    this.#pending = new PendingRequests(options.clock);
    this.#feeds = new LiveFeeds({
      pending: this.#pending,
      outbox: this.#outbox,
      wake: () => this.#flushSoon(),
      describe: () => this.#description,
    });
    this.#reopening = new Reopening(options.clock);
    this.#lineTimes = new LineTimes(options.clock);
    this.#vitals = new Vitals(options.clock);
    this.#disk = new FullDisk(options, () => void this.#writeAgain());
    this.#storage = options.storage ?? {};
    if (mode !== 'closed') this.#begin(mode);
  }

  get description(): DatabaseDescription | undefined {
    return this.#description;
  }

  async describe(): Promise<DatabaseDescription> {
    await this.#untilServing();
    assert(this.#description !== undefined, 'a database that serves is described');
    return this.#description;
  }

  async call(call: CallRequest): Promise<CallOutcome> {
    const reply = await this.#request({ kind: 'call', call }, call.confirmed);
    assert(reply.kind === 'called', 'a call is answered by its outcome');
    return reply.outcome;
  }

  async query(query: SqlRequest): Promise<SqlOutcome> {
    const reply = await this.#request({ kind: 'query', query }, query.confirmed);
    assert(reply.kind === 'queried', 'a query is answered by its outcome');
    return reply.outcome;
  }

  async preview(preview: PreviewRequest): Promise<PreviewOutcome> {
    const reply = await this.#request(
      { kind: 'preview', preview },
      askingOf(preview.work).confirmed,
    );
    assert(reply.kind === 'previewed', 'a preview is answered by its outcome');
    return reply.outcome;
  }

  async tables(caller: Caller): Promise<readonly TableFigures[]> {
    const reply = await this.#request({ kind: 'tables', caller }, false);
    assert(reply.kind === 'tables', 'asking for tables gives tables');
    return reply.tables;
  }

  async connect(caller: Caller, connectionId: ConnectionNumber): Promise<ConnectOutcome> {
    const reply = await this.#request({ kind: 'connect', caller, connectionId }, false);
    assert(reply.kind === 'connected', 'a connection is answered by its outcome');
    if (reply.refusal !== undefined) return { kind: 'refused', message: reply.refusal };
    return { kind: 'connected' };
  }

  async disconnect(connectionId: ConnectionNumber): Promise<void> {
    await this.#request({ kind: 'disconnect', connectionId }, false);
  }

  live(options: LiveOptions, sink: LiveSink): LiveConnection {
    this.#requireHope();
    if (this.#closing !== undefined) throw stoppedRefusal();
    return this.#feeds.open(options, sink);
  }

  async program(): Promise<ProgramSource> {
    const reply = await this.#request({ kind: 'program' }, false);
    assert(reply.kind === 'program', 'asking for the program gives the program');
    return reply.program;
  }

  async plan(program: ProgramSource): Promise<PlanOutcome> {
    const examined = await this.#options.examine(program);
    return planProgram(program, await this.describe(), { ...this.#options, examined });
  }

  async update(
    program: ProgramSource,
    permission: UpdatePermission,
    confirmMillis: number,
  ): Promise<UpdateOutcome> {
    checkTokenPresence(permission);
    const { programHash } = await this.describe();
    const nextHash = hashHex(await programHashInSlices(program.bytes));
    if (nextHash === programHash) return { endsConnections: false };
    await this.#options.examine(program);
    const reply = this.#request({ kind: 'update', program, permission }, false);
    const last = () => ({ write: this.#lastWrite, offset: this.#offset });
    const durable = () => untilDurable(this.#outbox, last(), confirmMillis);
    return updateOutcome({ reply, durable, describe: () => this.describe(), nextHash });
  }

  statistics(): DatabaseStatistics {
    return {
      state: this.#state,
      opening: this.#opening?.progress,
      isReadOnly: this.#disk.text !== undefined,
      offset: this.#offset,
      durableOffset: this.#durableOffset,
      ...this.#vitals.counts,
      restarts: this.#restarts,
      ...this.#memory,
      connections: this.#feeds.count,
      querySets: this.#feeds.setCount,
    };
  }

  health(): DatabaseHealth {
    const fanOut = (heldMillis: number) => this.#feeds.waitingMillis(heldMillis);
    return healthOf(this.statistics(), this.#vitals.waits(this.#pending.oldestAt, fanOut));
  }

  vitals(): VitalFigures {
    return this.#vitals.figures();
  }

  /** Applies other limits to the database, including after it is reopened. */
  setStorage(limits: StorageLimits): void {
    if (JSON.stringify(limits) === JSON.stringify(this.#storage)) return;
    this.#storage = limits;
    this.#seat?.setStorage(limits);
  }

  /** Ends the actor without letting it finish; what is not handed over is gone. */
  crash(): void {
    this.#closing ??= Promise.resolve();
    this.#seat?.kill({ cause: 'closed', message: 'The database was ended.' });
  }

  close(millisMax: number = limits.shutdownMillisMax): Promise<void> {
    this.#closing ??= this.#close(millisMax);
    return this.#closing;
  }

  async #close(millisMax: number): Promise<void> {
    if (this.#fault !== undefined) return;
    // Requests of connections, or left behind by them, are waited for, even from this tick.
    this.#feeds.submit();
    this.#feeds.endAll('database');
    const deadline = setTimeout(() => {
      this.#isOverdue = true;
      this.#seat?.kill(killAtStop);
    }, millisMax);
    try {
      if (this.#state === 'opening') await this.started().catch(() => undefined);
      if (this.#pending.size > 0) await new Promise<void>((idle) => this.#whenIdle.push(idle));
      if (this.#state === 'serving') await this.#seat?.close();
    } finally {
      clearTimeout(deadline);
      this.#finish('stopped', stoppedRefusal());
    }
  }

  /** Opens it, if it is closed. */
  open(): void {
    if (this.#state === 'closed') this.#begin({ kind: 'open', skipFirstDisconnect: false });
  }

  /** Opens it and resolves once it serves, however long that takes; rejects when it will not. */
  async started(): Promise<void> {
    if (this.#state === 'serving') return;
    this.#requireHope();
    await this.#start().promise;
  }

  /** Waits like `started` on behalf of a request, within bounds. */
  async #untilServing(): Promise<void> {
    if (this.#state === 'serving') return;
    this.#requireHope();
    const leave = this.#opening?.wait((refusal) => {
      this.#whenStarted = this.#whenStarted.filter((other) => other !== start);
      start.reject(refusal);
    });
    const start = this.#start();
    await start.promise.finally(leave);
  }

  #start(): Deferred {
    const start = deferred();
    this.#whenStarted.push(start);
    return start;
  }

  /** Makes sure that it opens; throws the reason if it is broken and not due to be opened again. */
  #requireHope(): void {
    this.open();
    if (this.#fault === undefined) return;
    const mayReopen = this.#closing === undefined && this.#reopening.isDue;
    if (this.#state !== 'broken' || !mayReopen) throw this.#counted(this.#fault);
    this.#reopening.begun();
    this.#options.report('info', 'is reopened: the reason it did not serve may be gone');
    this.#fault = undefined;
    this.#reopen(false);
  }

  /** Accepts a request, or refuses it at once. */
  async #request(request: DatabaseRequest, isConfirmed: boolean): Promise<DatabaseReply> {
    this.#requireHope();
    if (this.#closing !== undefined) throw stoppedRefusal();
    const waiting = this.#pending.size + this.#outbox.size;
    if (waiting >= limits.callQueueMax) throw this.#counted(overloaded());
    const leave = this.#opening?.wait((refusal) => this.#pending.withdraw(ticket, refusal));
    const reply = this.#pending.add(request, isConfirmed);
    const ticket = this.#pending.lastTicket;
    this.#flushSoon();
    const settled = await (leave === undefined ? reply : reply.finally(leave));
    if (settled.kind === 'refused') throw new Refusal(settled.body);
    return settled;
  }

  #counted(refusal: Refusal): Refusal {
    this.#vitals.refused(refusal.body.code);
    return refusal;
  }

  /** Requests of one tick go to the actor together. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#state !== 'serving') return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#feeds.submit();
      this.#isFlushing = false;
      this.#flush();
      this.#deliver();
    });
  }

  #flush(): void {
    if (this.#state !== 'serving') return;
    const requests = this.#pending.submit();
    if (requests.length > 0) this.#seat?.submit(requests);
    // Those of ended connections are left out, and no turn will follow from them.
    else this.#tellIdle();
  }

  #deliver(): void {
    const last = { write: this.#lastWrite, offset: this.#offset };
    this.#feeds.deliver(last, this.#vitals.owed());
  }

  /** Opens the database, or creates it. */
  #begin(mode: SeatMode): void {
    const { clock, report, logBytes } = this.#options;
    this.#state = 'opening';
    const refused = (code: string) => this.#vitals.refused(code);
    const opening = { clock, report, refused, bytes: logBytes?.() };
    const { lastTicket } = this.#pending;
    if (mode.kind === 'open') {
      this.#opening = new Opening(opening);
      this.#opening.keep((refusal) => {
        const count = this.#pending.withdrawAll(lastTicket, refusal);
        this.#vitals.refused(refusal.body.code, count);
      });
    }
    this.#seat = this.#takeSeat(mode);
  }

  #takeSeat(mode: SeatMode): Seat {
    const events = untilEnded({
      hasRead: (bytes) => this.#opening?.hasRead(bytes),
      opened: (opening) => this.#opened(opening, mode),
      handOver: (turn) => this.#handOver(turn),
      durable: (write, offset) => this.#durable(write, offset),
      lines: (lines) => this.#options.lines(this.#lineTimes.within(lines)),
      warn: (message) => this.#options.report('warn', message),
      memory: (memory) => {
        this.#memory = memory;
        this.#vitals.measured(memory.times);
        this.#options.measured?.();
      },
      ended: (end) => this.#ended(end, mode),
    });
    return this.#options.takeSeat(
      {
        mode,
        lastTicket: this.#pending.lastTicket,
        storage: this.#storage,
        logBytes: this.#opening?.bytes ?? 0,
      },
      events,
    );
  }

  #opened({ description, offset, lastMicros }: SeatOpening, mode: SeatMode): void {
    this.#disk.opened(mode);
    this.#runs(description);
    this.#pending.notBefore(lastMicros);
    const lost = this.#durableOffset - offset;
    if (lost > 0 && this.#options.logBytes) this.#options.report('error', lossText(lost));
    this.#offset = offset;
    this.#durableOffset = offset;
    this.#lastWrite = writeNumber(0);
    this.#vitals.opened();
    this.#reopening.opened();
    this.#outbox.reopened(offset);
    this.#state = 'serving';
    this.#opening?.succeeded();
    this.#opening = undefined;
    this.#feeds.submit();
    const waiting = this.#whenStarted;
    this.#whenStarted = [];
    for (const { resolve } of waiting) resolve();
    this.#flush();
  }

  #handOver(turn: TurnReport): void {
    this.#reopening.succeeded();
    this.#offset = turn.offset;
    this.#lastWrite = turn.write;
    this.#vitals.turned(turn);
    if (turn.isDurable) this.#durable(turn.write, turn.offset);
    for (const one of inOrder(turn)) {
      if ('ticket' in one) this.#settle(one, turn);
      else this.#feeds.commit(one);
    }
    this.#deliver();
    this.#feeds.submit();
    this.#tellIdle();
  }

  #durable(write: WriteNumber, offset: CommitOffset): void {
    this.#durableOffset = offset;
    this.#vitals.durable(write);
    this.#outbox.durable(write);
  }

  #settle({ ticket, reply }: TurnResult, turn: TurnReport): void {
    if (reply.kind === 'reading') {
      const reading = this.#pending.find(ticket);
      assert(reading?.kind === 'feed', 'rows are promised to connections');
      reading.reading(reply.queries);
      return;
    }
    const pending = this.#pending.take(ticket);
    assert(pending !== undefined, `an outcome came for the unknown ticket ${ticket}`);
    if (reply.kind === 'updated') {
      if (reply.endsConnections) this.#feeds.endOpen('database');
      this.#runs(reply.description);
    }
    if (pending.kind === 'promised' && pending.isConfirmed) {
      this.#hold(pending, reply, turn);
      return;
    }
    const leavesLater = pending.kind === 'feed' && pending.feed.options.confirmed;
    if (leavesLater) this.#vitals.owe(pending, reply);
    else this.#vitals.left(this.#vitals.answered(pending, reply), pending.acceptedAt);
    pending.resolve(reply);
  }

  #hold(pending: PromisedRequest, reply: DatabaseReply, { write, offset }: TurnReport): void {
    const slot = this.#vitals.answered(pending, reply);
    const release = () => {
      this.#vitals.left(slot, pending.acceptedAt);
      pending.resolve(reply);
    };
    const fail = () => pending.reject(this.#counted(lostReply()));
    this.#outbox.hold({ write, offset, release, fail });
  }

  #runs(description: DatabaseDescription): void {
    this.#description = description;
    this.#options.runs?.(description.programHash);
  }

  #tellIdle(): void {
    if (this.#pending.size > 0) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const idle of waiting) idle();
  }

  /** Decides what follows after an actor ended before its time. */
  #ended(end: SeatEnd, mode: SeatMode): void {
    const wasServing = this.#state === 'serving';
    const isRead = this.#closing === undefined && this.#disk.canBeRead(end, mode, wasServing);
    const request = end.running === undefined ? undefined : this.#pending.find(end.running);
    const line = authorLine(end, request?.request);
    if (line) this.#options.lines([{ micros: this.#options.clock.nowMicros(), line }]);
    this.#countEnd(isRead ? { ...end, message: this.#disk.noticed(end) } : end, request);
    this.#feeds.endBegun('database');
    if (isRead) this.#reopen(false, this.#disk.text);
    else this.#conclude(end, mode, wasServing);
    this.#tellIdle();
  }

  #conclude(end: SeatEnd, mode: SeatMode, wasServing: boolean): void {
    if (this.#closing !== undefined) {
      if (end.cause !== 'closed') this.#options.report(...endLine(end, 'closed', false));
      this.#finish('stopped', stoppedRefusal());
      return;
    }
    const next = this.#reopening.ended(end, mode, wasServing);
    const isNew = mode.kind === 'create' && !wasServing;
    this.#options.report(...endLine(end, next, isNew));
    if (next === 'reopens') this.#reopen(!wasServing && end.running !== undefined, this.#disk.text);
    else this.#finish('broken', wasServing ? failedRefusal(end) : notStartedRefusal(end, mode));
  }

  /** `full`: why it is opened read-only. */
  #reopen(skipFirstDisconnect: boolean, full?: string): void {
    this.#restarts += 1;
    this.#begin({ kind: 'open', skipFirstDisconnect, full });
  }

  /** Space is free: the reading actor finishes its work, and its connections end with it. */
  async #writeAgain(): Promise<void> {
    const seat = this.#seat;
    if (seat === undefined || this.#state !== 'serving' || this.#closing !== undefined) return;
    this.#state = 'opening';
    const slow = { cause: 'bug', message: 'It was too slow to end.' } as const;
    const deadline = setTimeout(() => seat.kill(slow), limits.shutdownMillisMax);
    await seat.close().finally(() => clearTimeout(deadline));
    // If it ended on its own, another one was started, or there will be none.
    if (this.#seat !== seat || this.#fault !== undefined) return;
    if (this.#isOverdue) {
      this.#finish('stopped', stoppedRefusal());
      return;
    }
    this.#feeds.endBegun('database');
    this.#reopen(false);
  }

  #countEnd(end: SeatEnd, request: Pending | undefined): void {
    const isWanted = end.cause === 'closed' && this.#closing !== undefined;
    if (!isWanted) this.#vitals.failed(end.cause, request);
    this.#vitals.refused('database.lost', this.#pending.actorEnded(end));
  }

  #finish(state: 'broken' | 'stopped', fault: Refusal): void {
    this.#state = state;
    this.#opening = undefined;
    this.#disk.stop();
    this.#fault = fault;
    if (state === 'broken') this.#vitals.refused(fault.body.code, this.#pending.size);
    this.#pending.rejectAll(fault);
    this.#feeds.endAll('database');
    this.#outbox.failAll();
    const waiting = this.#whenStarted;
    this.#whenStarted = [];
    for (const { reject } of waiting) reject(fault);
    this.#tellIdle();
  }
}
