import { assert } from '../../assert.ts';
import { overloaded } from '../../database/call-queue.ts';
import {
  type Caller,
  type CallOutcome,
  type CallRequest,
  type HandlerOutcome,
  type HandlerRequest,
  type ProcedureOutcome,
  type ProcedureRequest,
  Refusal,
  type SqlOutcome,
  type SqlRequest,
} from '../../database/outcome.ts';
import { askingOf } from '../../database/preview-outcome.ts';
import { hashHex } from '../../database/program-hash.ts';
import type { ScheduleAsk, ScheduleOutcome } from '../../database/schedules/schedule-ask.ts';
import type { SnapshotOutcome } from '../../database/snapshots/snapshot-outcome.ts';
import type { KeptLog, StorageLimits, StorageUse } from '../../database/storage-quota.ts';
import type { Ticket } from '../../database/ticket.ts';
import type { ExportAsk, ExportOutcome } from '../../database/transfer/export-ask.ts';
import type { ImportOutcome, ImportRequest } from '../../database/transfer/import-request.ts';
import {
  type CancelReason,
  type DatabaseReply,
  type DatabaseRequest,
  inOrder,
  type RollOutcome,
  type TurnReport,
  type TurnResult,
} from '../../database/turn.ts';
import { checkTokenPresence } from '../../database/update-program.ts';
import type { WatchFigures } from '../../database/watch-figures.ts';
import { type WriteNumber, writeNumber } from '../../database/write-number.ts';
import { limits } from '../../limits.ts';
import { type CommitOffset, commitOffset } from '../../store/commit-offset.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { LiveConnection } from '../feeds/live-connection.ts';
import { LiveFeeds } from '../feeds/live-feeds.ts';
import { Outbox } from '../feeds/outbox.ts';
import { abandonedRefusal, PendingRequests } from '../feeds/pending-requests.ts';
import { programHashInSlices } from '../linking/program-hash.ts';
import { authorLine, lossText } from '../seats/end-line.ts';
import type { HistoryAnswer, HistoryTask } from '../seats/history-task.ts';
import {
  nothingMeasured,
  type Seat,
  type SeatEnd,
  type SeatMemory,
  type SeatMode,
  type SeatOpening,
} from '../seats/seat.ts';
import { abortable } from './abortable.ts';
import { CopyHandle } from './copy-handle.ts';
import type {
  ConnectOutcome,
  DatabaseDescription,
  DatabaseHandle,
  PlanOutcome,
  PlanWish,
  PreviewOutcome,
  PreviewRequest,
  ProgramSource,
  TableFigures,
  TrialReport,
  UpdateOutcome,
  UpdatePermission,
  UpdateWatch,
} from './database-handle.ts';
import { DatabaseLife } from './database-life.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import { EngineOutage } from './engine-outage.ts';
import type { DatabaseHealth } from './health.ts';
import { healthNow } from './health-now.ts';
import { holdReply } from './hold-reply.ts';
import { IdleWaiters } from './idle-waiters.ts';
import type { LifeOwner } from './life-state.ts';
import { OtherUses } from './other-uses.ts';
import { plannedUpdate, planProgram } from './plan-program.ts';
import { replied } from './replied.ts';
import { requireLed } from './require-led.ts';
import { Rest, type RestFacts, type RestOwner } from './rest.ts';
import type { SupervisionOptions } from './supervision-options.ts';
import { untilDurable } from './until-durable.ts';
import { trialOf, trialReport, updateOf, updateOutcome } from './update-outcome.ts';
import { type CallCounts, type VitalFigures, Vitals } from './vitals.ts';

/**
 * Keeps one database running and speaks for it. `database-life.ts` has its states; here is what
 * lasts from one to the next.
 *
 * A request is in `#pending` until the actor hands its outcome over, then in `#outbox` while it
 * waits to be durable. Both are on this side: the end of an actor loses neither. So are `#feeds`,
 * but what the actor knew of them is gone: they end, or `copy` has this host's copy take them up.
 */
export class SupervisedDatabase implements DatabaseHandle {
  readonly #options: SupervisionOptions;
  readonly #pending: PendingRequests;
  readonly #outbox = new Outbox();
  readonly #feeds: LiveFeeds;
  readonly #life: DatabaseLife;
  #description: DatabaseDescription | undefined;
  /** Those who want to know how far their updates are. */
  readonly #watched = new Map<Ticket, NonNullable<UpdateWatch['onProgress']>>();
  readonly #whenIdle = new IdleWaiters();
  /** Write of the present actor that came with the last turn. */
  #lastWrite = writeNumber(0);
  #isFlushing = false;
  #offset = commitOffset(0);
  #durableOffset = commitOffset(0);
  #memory: SeatMemory = nothingMeasured;
  /** When the next scheduled run is due, as the last actor said. */
  #nextDueMicros: bigint | undefined;
  readonly #vitals: Vitals;
  readonly calls: CallCounts;
  readonly #uses = new OtherUses();
  /** Absent: it is not of a cluster. */
  readonly outage: EngineOutage | undefined;
  readonly rest: Rest;
  readonly copy: CopyHandle;

  /**
   * Takes the first seat; a failed `create` is final. `closed`, or facts of one that sleeps: on the
   * first request.
   */
  constructor(options: SupervisionOptions, mode: SeatMode | 'closed' | RestFacts) {
    this.#options = options;
    const wake = () => this.#flushSoon();
    this.#pending = new PendingRequests(options.clock);
    this.#feeds = new LiveFeeds({
      ...{ pending: this.#pending, outbox: this.#outbox, wake },
      describe: () => this.copy.description ?? this.#description,
      copy: () => this.copy.state,
    });
    this.#vitals = new Vitals(options.clock);
    this.calls = this.#vitals;
    const known = mode !== 'closed' && 'used' in mode ? mode : undefined;
    if (known !== undefined) this.#beginAsleep(known);
    const begin = mode === 'closed' || 'kind' in mode ? mode : 'asleep';
    this.#life = new DatabaseLife(options, this.#vitals, this.#ownerOfLife(), begin);
    this.copy = new CopyHandle({
      ...{ identity: options.identity, line: options.leaderLine, life: this.#life },
      ...{ pending: this.#pending, feeds: this.#feeds, flushSoon: wake },
      shownOffset: () => this.#offset,
    });
    const waiting = { pending: this.#pending, outbox: this.#outbox, clock: options.clock };
    const refused = (code: string, count: number) => this.#vitals.refused(code, count);
    const { engine } = options;
    this.outage = engine && new EngineOutage({ engine, ...waiting, wake, refused });
    this.rest = new Rest(this.#ownerOfRest(), { ...options, uses: this.#uses }, known);
  }

  #beginAsleep({ used, offset, nextDueMicros }: RestFacts): void {
    this.#memory = { ...nothingMeasured, used };
    this.#offset = commitOffset(offset);
    this.#durableOffset = this.#offset;
    this.#nextDueMicros = nextDueMicros;
  }

  get description(): DatabaseDescription | undefined {
    return this.#description;
  }

  async describe(): Promise<DatabaseDescription> {
    this.#uses.asked();
    await this.#life.untilServing();
    assert(this.#description !== undefined, 'a database that serves is described');
    return this.#description;
  }

  async call(call: CallRequest): Promise<CallOutcome> {
    return replied('called', await this.#request({ kind: 'call', call }, call.confirmed)).outcome;
  }

  async procedure(procedure: ProcedureRequest, signal?: AbortSignal): Promise<ProcedureOutcome> {
    const request = { kind: 'procedure', procedure } as const;
    const reply = await this.#cancelable(request, procedure.confirmed, signal);
    return replied('procedure', reply).outcome;
  }

  async answer(handler: HandlerRequest, signal?: AbortSignal): Promise<HandlerOutcome> {
    const reply = await this.#cancelable({ kind: 'handler', handler }, handler.confirmed, signal);
    return replied('handler', reply).outcome;
  }

  async snapshot(signal?: AbortSignal): Promise<SnapshotOutcome> {
    return replied('snapshot', await this.#cancelable({ kind: 'snapshot' }, false, signal)).outcome;
  }

  async roll(): Promise<RollOutcome> {
    return replied('rolled', await this.#request({ kind: 'roll' }, false)).outcome;
  }

  async history(task: HistoryTask, signal?: AbortSignal): Promise<HistoryAnswer> {
    await this.#life.untilServing();
    const last = { write: this.#lastWrite, offset: this.#offset };
    if (task.kind === 'row') await untilDurable(this.#outbox, last, limits.rowHistoryMillisMax);
    const asked = this.#life.servingSeat?.history?.(task, signal);
    if (asked === undefined) return { kind: 'stopped' };
    const answer = await this.#uses.task(asked);
    if (answer.kind === 'done') this.keepsLog({ goneLogBytes: answer.facts.goneBytes });
    return answer;
  }

  async export(caller: Caller, ask: ExportAsk): Promise<ExportOutcome> {
    const reply = await this.#request({ kind: 'export', caller, ask }, ask.kind === 'begin');
    this.#uses.exported(ask, this.#options.clock.monotonicMillis());
    return replied('exported', reply).outcome;
  }

  async import(batch: ImportRequest, isConfirmed: boolean): Promise<ImportOutcome> {
    return replied('imported', await this.#request({ kind: 'import', batch }, isConfirmed)).outcome;
  }

  async #cancelable(
    request: DatabaseRequest,
    isConfirmed: boolean,
    signal: AbortSignal | undefined,
    onProgress?: UpdateWatch['onProgress'],
  ): Promise<DatabaseReply> {
    const before = this.#pending.lastTicket;
    const answer = this.#request(request, isConfirmed);
    const of = this.#pending.lastTicket;
    const cancel = (): void => {
      // It is the one before when the request was refused.
      if (of !== before) this.#cancel(of, request.kind);
    };
    if (onProgress !== undefined && of !== before) this.#watched.set(of, onProgress);
    try {
      return await abortable(answer, signal, cancel);
    } finally {
      this.#watched.delete(of);
    }
  }

  /** Nobody waits any more for that update, procedure, handler or snapshot. */
  #cancel(of: Ticket, kind: DatabaseRequest['kind']): void {
    this.#pending.withdraw(of, abandonedRefusal(kind));
    if (this.#pending.find(of) === undefined) return;
    this.#life.servingSeat?.abandon?.(of);
    this.#cancelBegun(of, 'gone');
  }

  #cancelBegun(of: Ticket, why: CancelReason): void {
    this.#request({ kind: 'cancel', of, why }, false).catch((error: unknown) => {
      // The database is gone, and the procedure with it.
      if (!(error instanceof Refusal)) throw error;
    });
  }

  async query(query: SqlRequest): Promise<SqlOutcome> {
    const reply = await this.#request({ kind: 'query', query }, query.confirmed);
    const { outcome } = replied('queried', reply);
    if (query.confirmed) await requireLed(outcome, this.#options.provesRead);
    return outcome;
  }

  async preview(preview: PreviewRequest): Promise<PreviewOutcome> {
    const { confirmed } = askingOf(preview.work);
    const reply = await this.#request({ kind: 'preview', preview }, confirmed);
    return replied('previewed', reply).outcome;
  }

  async tables(caller: Caller): Promise<readonly TableFigures[]> {
    return replied('tables', await this.#request({ kind: 'tables', caller }, false)).tables;
  }

  async watches(): Promise<readonly WatchFigures[]> {
    return replied('watches', await this.#request({ kind: 'watches' }, false)).watches;
  }

  async schedules(caller: Caller, ask: ScheduleAsk): Promise<ScheduleOutcome> {
    const reply = await this.#request({ kind: 'schedules', caller, ask }, ask.kind !== 'list');
    return replied('schedules', reply).outcome;
  }

  async connect(caller: Caller, connectionId: ConnectionNumber): Promise<ConnectOutcome> {
    const reply = await this.#request({ kind: 'connect', caller, connectionId }, false);
    const { refusal } = replied('connected', reply);
    if (refusal !== undefined) return { kind: 'refused', message: refusal };
    this.#uses.connected();
    return { kind: 'connected' };
  }

  async disconnect(connectionId: ConnectionNumber): Promise<void> {
    await this.#request({ kind: 'disconnect', connectionId }, false);
    this.#uses.disconnected();
  }

  live(...[options, sink, client]: Parameters<DatabaseHandle['live']>): LiveConnection {
    this.#life.admit();
    return this.#feeds.open(this.copy.led(options, client), sink);
  }

  async program(): Promise<ProgramSource> {
    return replied('program', await this.#request({ kind: 'program' }, false)).program;
  }

  async plan(program: ProgramSource, { isRollback, signal }: PlanWish = {}): Promise<PlanOutcome> {
    const examined = await this.#options.examine(program, signal);
    return planProgram(program, await this.describe(), { ...this.#options, examined, isRollback });
  }

  async update(
    program: ProgramSource,
    permission: UpdatePermission,
    confirmMillis: number,
    { signal, onProgress, examining, planned }: UpdateWatch = {},
  ): Promise<UpdateOutcome> {
    checkTokenPresence(permission);
    const description = await this.describe();
    const nextHash = hashHex(await programHashInSlices(program.bytes));
    if (nextHash === description.programHash) return { endsConnections: false };
    examining?.();
    const examined = await this.#options.examine(program, signal);
    await planned?.(plannedUpdate(description, examined, { program: nextHash, ...permission }));
    const reply = this.#cancelable(updateOf(program, permission), false, signal, onProgress);
    const last = () => ({ write: this.#lastWrite, offset: this.#offset });
    const durable = () => untilDurable(this.#outbox, last(), confirmMillis);
    return updateOutcome({ reply, durable, describe: () => this.describe(), nextHash });
  }

  async trial(program: ProgramSource, signal?: AbortSignal, back?: boolean): Promise<TrialReport> {
    await this.#options.examine(program, signal);
    return trialReport(this.#cancelable(trialOf(program, back), false, signal));
  }

  get used(): StorageUse {
    return this.#memory.used;
  }

  statistics(): DatabaseStatistics {
    return {
      ...this.#life.figures,
      offset: this.#offset,
      durableOffset: this.#durableOffset,
      ...this.#vitals.counts,
      ...this.#memory,
      nextDueMicros: this.#nextDueMicros,
      connections: this.#feeds.count,
      querySets: this.#feeds.setCount,
    };
  }

  health(): DatabaseHealth {
    const fanOut = (heldMillis: number) => this.#feeds.waitingMillis(heldMillis);
    const waits = this.#vitals.waits(this.#pending.oldestAt, fanOut);
    return healthNow(this.#options, this.statistics(), waits, this.#description?.programHash);
  }

  vitals(): VitalFigures {
    return this.#vitals.figures();
  }

  setStorage(limits: StorageLimits): void {
    this.#life.setStorage(limits);
  }

  keepsLog(kept: KeptLog): void {
    this.#life.keepsLog(kept);
  }

  renewEnv(): void {
    this.#life.renewEnv();
  }

  open(): void {
    this.#life.open();
  }

  get member(): Pick<DatabaseLife, 'look' | 'handOver' | 'renew' | 'letGo' | 'servingSeat'> {
    return this.#life;
  }

  started(): Promise<void> {
    return this.#life.started();
  }

  crash(): void {
    this.#life.crash();
  }

  hurry(): void {
    for (const ticket of this.#pending.procedures()) this.#cancelBegun(ticket, 'stop');
  }

  close(millisMax?: number, stopped?: () => Refusal): Promise<void> {
    return this.#life.close(millisMax ?? limits.shutdownMillisMax, millisMax ?? 0, stopped);
  }

  #ownerOfLife(): LifeOwner {
    return {
      lastTicket: () => this.#pending.lastTicket,
      giveUp: (lastTicket, refusal) => {
        const count = this.#pending.withdrawAll(lastTicket, refusal);
        this.#vitals.refused(refusal.body.code, count);
      },
      opened: (opening) => this.#opened(opening),
      readable: (leads) => this.copy.changed(leads),
      followed: (turn) => this.#followed(turn),
      serves: () => {
        this.#feeds.submit();
        this.#flush();
      },
      handOver: (turn) => this.#handOver(turn),
      durable: (write, offset) => this.#durable(write, offset),
      memory: (memory) => {
        this.#memory = memory;
        this.#vitals.measured(memory.times);
        this.#options.measured?.();
      },
      ended: (end, isWanted) => this.#ended(end, isWanted),
      vacated: () => this.#feeds.endBegun('database'),
      fellAsleep: () => this.#fellAsleep(),
      woke: (wake, millis) => this.#options.rests?.woke(wake, millis),
      isAwaited: () => this.#isAwaited(),
      closes: () => {
        // Requests of connections, or left behind by them, are waited for, even from this tick.
        this.#feeds.submit();
        this.#feeds.endAll('database');
        this.outage?.end();
      },
      idle: () => this.#whenIdle.until(this.#pending.isBusy),
      finished: (state, fault) => this.#finished(state, fault),
    };
  }

  #ownerOfRest(): RestOwner {
    return {
      isStored: this.#options.logBytes !== undefined,
      life: this.#life,
      now: () => ({
        isUsed: this.#isAwaited() || this.#outbox.size > 0,
        usedAt: Math.max(this.#pending.lastAcceptedAt, this.#vitals.turnedAt),
        lastTicket: this.#pending.lastTicket,
        nextDueMicros: this.#nextDueMicros,
        offset: Number(this.#offset),
        memory: this.#memory,
      }),
      snapshot: () => this.snapshot(),
    };
  }

  /** What callers would ask for is read again by the next actor. */
  #fellAsleep(): void {
    this.#description = undefined;
    this.#uses.actorEnded();
    if (!this.#isAwaited()) this.#pending.shrink();
    this.#options.rests?.fellAsleep();
  }

  /** True if a request, or a connection, waits for an actor or has one. */
  #isAwaited(): boolean {
    return this.#pending.size > 0 || this.#feeds.count > 0;
  }

  /** Accepts a request, or refuses it at once. */
  async #request(request: DatabaseRequest, isConfirmed: boolean): Promise<DatabaseReply> {
    const opening = this.#life.admit();
    if (this.#pending.size + this.#outbox.size >= limits.callQueueMax) {
      this.#vitals.refused(overloaded().body.code);
      throw overloaded();
    }
    const leave = opening?.wait((refusal) => this.#pending.withdraw(ticket, refusal));
    const reply = this.#pending.add(request, isConfirmed);
    const ticket = this.#pending.lastTicket;
    this.#flushSoon();
    const settled = await (leave === undefined ? reply : reply.finally(leave));
    if (settled.kind === 'refused') throw new Refusal(settled.body);
    return settled;
  }

  /** Requests of one tick go to the actor together. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#seat === undefined) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#feeds.submit();
      this.#isFlushing = false;
      this.#flush();
      this.#deliver();
    });
  }

  get #seat(): Seat | undefined {
    return this.#life.servingSeat ?? this.#life.readingSeat?.seat;
  }

  #flush(): void {
    const seat = this.#seat;
    if (seat === undefined) return;
    const requests = this.#pending.submit(this.outage?.held);
    if (requests.length > 0) seat.submit(requests);
    // Those of ended connections are left out, and no turn will follow from them.
    this.#whenIdle.tell(this.#pending.isBusy);
  }

  #deliver(): void {
    const last = { write: this.#lastWrite, offset: this.#offset };
    this.#feeds.deliver(last, this.#vitals.owed());
  }

  /** An actor has opened the log: what an earlier one had handed over is durable, or lost. */
  #opened({ description, offset, lastMicros, nextDueMicros, epoch }: SeatOpening): void {
    this.#runs(description);
    this.#nextDueMicros = nextDueMicros;
    this.#pending.notBefore(lastMicros);
    const lost = this.#durableOffset - offset;
    if (lost > 0 && this.#options.logBytes) this.#options.report('error', lossText(lost));
    this.#offset = offset;
    this.#durableOffset = offset;
    this.#lastWrite = writeNumber(0);
    this.#vitals.opened();
    this.#outbox.reopened(offset);
    this.copy.opened(epoch);
  }

  #handOver(turn: TurnReport): void {
    this.#offset = turn.offset;
    this.#lastWrite = turn.write;
    this.#nextDueMicros = turn.nextDueMicros;
    this.#vitals.turned(turn);
    if (turn.runs !== undefined) this.#options.ran?.(turn.runs);
    if (turn.isDurable) this.#durable(turn.write, turn.offset);
    for (const one of inOrder(turn)) {
      if ('ticket' in one) this.#settle(one, turn);
      else this.#feeds.commit(one);
    }
    this.#deliver();
    this.#feeds.submit();
    this.#whenIdle.tell(this.#pending.isBusy);
  }

  /** What a copy that is followed has answered, and shows now; all of it is acknowledged. */
  #followed(turn: TurnReport): void {
    if (turn.offset > 0) this.#offset = turn.offset;
    for (const one of turn.results) this.#settle(one, turn);
    this.#feeds.follow(turn);
    this.#deliver();
  }

  #durable(write: WriteNumber, offset: CommitOffset): void {
    this.#durableOffset = offset;
    this.#vitals.durable(write);
    this.#outbox.durable(write);
  }

  #settle({ ticket, reply }: TurnResult, turn: Pick<TurnReport, 'write' | 'offset'>): void {
    if (reply.kind === 'reading') {
      this.#pending.reading(ticket, reply.queries);
      return;
    }
    if (reply.kind === 'migrating') {
      this.#watched.get(ticket)?.(reply.progress);
      return;
    }
    const pending = this.#pending.take(ticket);
    assert(pending !== undefined, `an outcome came for the unknown ticket ${ticket}`);
    if (reply.kind === 'refused' && this.copy.hasTaken(pending, reply.body)) return;
    this.#options.answered?.(pending, reply);
    if (reply.kind === 'updated') {
      this.#feeds.endOpen(reply.ended, 'schema');
      this.#runs(reply.description);
    }
    if (pending.kind === 'promised' && pending.isConfirmed) {
      holdReply(pending, reply, turn, { outbox: this.#outbox, vitals: this.#vitals });
      return;
    }
    if (pending.kind === 'feed' && pending.feed.options.confirmed) this.#vitals.owe(pending, reply);
    else this.#vitals.left(this.#vitals.answered(pending, reply), pending.acceptedAt);
    pending.resolve(reply);
  }

  #runs(description: DatabaseDescription): void {
    this.#description = description;
    this.#options.runs?.(description);
  }

  /** Settles what an actor that ended before its time has left. */
  #ended(end: SeatEnd, isWanted: boolean): void {
    const request = this.#pending.endedWith(end);
    const line = authorLine(end, request?.request);
    if (line) this.#options.lines([{ micros: this.#options.clock.nowMicros(), line }]);
    const code = isWanted ? undefined : this.#vitals.failed(end.cause, request);
    if (code && request) this.#options.answered?.(request, { kind: 'ended', code });
    this.#vitals.refused('database.lost', this.#pending.actorEnded(end));
    this.copy.ended(end, isWanted, this.#durableOffset);
    this.#uses.actorEnded();
    this.#whenIdle.tell(this.#pending.isBusy);
  }

  #finished(state: 'broken' | 'stopped' | 'following', fault: Refusal): void {
    if (state !== 'stopped') this.#vitals.refused(fault.body.code, this.#pending.size);
    this.#lastWrite = writeNumber(0);
    this.#pending.rejectAll(fault);
    this.copy.finished(state);
    this.#outbox.failAll();
    this.#whenIdle.tell(this.#pending.isBusy);
  }
}
