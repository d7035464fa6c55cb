import { limits } from '../limits.ts';
import type { Epoch } from '../log/epoch.ts';
import { isForSpace } from '../log/log-error.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import { liveFiguresOf, type MemoryUse, memoryOf, storageUseOf } from './actor-figures.ts';
import type { Alarm, MakeAlarm } from './alarm.ts';
import { type Answering, answerRequest } from './answer-request.ts';
import { CallQueue, type ItemSource } from './call-queue.ts';
import type { DatabaseCore } from './core.ts';
import type { DatabaseDescription } from './description.ts';
import { earlier, Leftovers } from './leftovers.ts';
import type { LiveCommit } from './live/live-commit.ts';
import type { LiveFigures } from './live/live-figures.ts';
import { LongReads } from './long-reads.ts';
import { type PreparedUpdate, Updates, type UpdatesOwner } from './migrations/updates.ts';
import { Refusal, stoppedRefusal } from './outcome.ts';
import type { LaneDesk } from './procedures/lane-desk.ts';
import { RunningProcedures } from './procedures/running-procedures.ts';
import { descriptionOf, type ProgramSurroundings } from './program.ts';
import { runDue } from './schedules/run-scheduled.ts';
import type { ScheduleFigures } from './schedules/schedule-figures.ts';
import { ScheduledProcedures } from './schedules/scheduled-procedures.ts';
import type { SnapshotDesk } from './snapshots/snapshot-desk.ts';
import type { SnapshotSizes } from './snapshots/snapshot-due.ts';
import type { SnapshotFigures } from './snapshots/snapshot-outcome.ts';
import { Snapshots } from './snapshots/snapshots.ts';
import type { StorageLimits, StorageUse } from './storage-quota.ts';
import { noTicket, type Ticket } from './ticket.ts';
import { type ActorTimes, TimeCounts } from './time-counts.ts';
import { Exports } from './transfer/exports.ts';
import type { DatabaseOwner, StopReason, TicketedRequest, TurnResult } from './turn.ts';
import { TurnWriter } from './turn-writer.ts';
import { writeNumber } from './write-number.ts';

/** The parts of the machine that the actor needs, beyond its core. */
export interface DatabaseSurroundings extends ProgramSurroundings {
  readonly owner: DatabaseOwner;
  /** Resolves after outside events, such as arriving requests, had a chance to be processed. */
  readonly nextTurn: () => Promise<void>;
  /** Absent where no database has schedules. */
  readonly makeAlarm?: MakeAlarm;
  /** Absent where no procedures run. */
  readonly lanes?: LaneDesk;
  /** Absent where nothing is kept, or no snapshots are taken. */
  readonly snapshotDesk?: SnapshotDesk | undefined;
  /** Used instead of those in `limits.ts`, for tests. */
  readonly snapshotSizes?: SnapshotSizes | undefined;
}

/**
 * One database: the actor that orders requests. It works in *turns*:
 *
 * ```
 *  submit ─▶ queue ─▶ turn: run each request ─▶ write records ─▶ hand over ─▶ sync ─▶ durable
 *                       ▲    then a slice of                         │
 *                       │    what has paused                         │
 *                       └──────── the next turn runs meanwhile ◀─────┘
 * ```
 *
 * Nothing awaits within a turn. At most one sync is in flight; the next one covers all that was
 * written since. Outcomes are handed over when their records are written, labelled with the number
 * of that write: the owner holds back replies that must not be sent before they are durable. If a
 * single caller waits for durability, and the disk is fast, the sync comes first.
 *
 * ```
 *  serving ──▶ closing ──▶ ended     close: accepted requests finish, all is durable
 *  serving ──▶ ended                 a bug or a failing log: `stopped`, nothing more is written
 *  serving ──▶ undoing ──▶ ended     no space: the partial write is cut off, then `stopped`
 * ```
 *
 * A database opened while its disk is full commits nothing: connections leave no trace, and
 * requests that would write are rejected.
 */
export class Database {
  readonly #core: DatabaseCore;
  readonly #around: DatabaseSurroundings;
  readonly #queue = new CallQueue<QueuedWork>();
  /** The owner deals with them before the first request, and before `beginSchedules`. */
  readonly leftovers: Leftovers;
  readonly #longReads: LongReads;
  readonly #procedures: RunningProcedures;
  readonly #scheduled: ScheduledProcedures;
  readonly #snapshots: Snapshots;
  readonly #answering: Answering;
  readonly #writer: TurnWriter;
  #state: 'serving' | 'closing' | 'undoing' | 'ended' = 'serving';
  /** The loop that runs turns while there is work. */
  #loop: Promise<void> | undefined;
  #undoing: Promise<void> | undefined;
  readonly #updates: Updates;
  #running: Ticket | undefined;
  /** The last ticket among the requests that have begun. */
  #lastTicket: Ticket = noTicket;
  readonly #times = { queue: new TimeCounts(), turn: new TimeCounts() };
  /** The last write that came with a reply. */
  #awaitedWrite = writeNumber(0);
  /** Whether the caller of the last request waits until it is durable. */
  #isConfirmed = false;
  /** False until the owner lets scheduled runs begin. */
  #runsSchedules = false;
  readonly #alarm: Alarm | undefined;
  #rest: 'none' | 'finishing' | 'halted' = 'none';
  /** Answers to updates that the end has stopped. */
  #stopped: TurnResult[] = [];
  /** When the next scheduled run is due, as the owner knows it. */
  #handedDue: bigint | undefined;

  constructor(core: DatabaseCore, around: DatabaseSurroundings) {
    this.#core = core;
    this.#around = around;
    this.leftovers = new Leftovers(core, around.progress);
    this.#longReads = new LongReads(core.clock, (ticket) => this.#resume(ticket));
    const begin = (ticket: Ticket | undefined, resultsBefore: number) =>
      this.#begin(ticket, resultsBefore);
    this.#procedures = new RunningProcedures(core, around.lanes, begin);
    this.#scheduled = new ScheduledProcedures(core, this.#procedures);
    around.lanes?.onWork(() => this.#wake());
    this.#updates = new Updates(core, around, this.#ownerOfUpdates());
    const isHeld = () => this.#updates.isRunning;
    this.#snapshots = new Snapshots(core, { ...around, isHeld }, () => this.#wake());
    this.#answering = {
      core,
      hash: around.hash,
      longReads: this.#longReads,
      procedures: this.#procedures,
      snapshots: this.#snapshots,
      updates: this.#updates,
      roll: (ticket) => this.#writer.roll(ticket),
      exports: new Exports(core),
      begin,
    };
    this.#writer = new TurnWriter(core, {
      owner: {
        durable: (write, offset) => {
          around.owner.durable(write, offset);
          // What waited for that can go on.
          this.#wake();
        },
      },
      progress: around.progress,
      isOver: () => this.#isOver(),
      failed: (error) => this.#stop(error),
      wake: () => this.#wake(),
    });
    this.#alarm = around.makeAlarm?.(() => this.#ring());
  }

  #ownerOfUpdates(): UpdatesOwner {
    return {
      queue: (work) => {
        this.#queue.push(work);
        this.#wake();
      },
      refuse: (ticket, error) => this.#refuse(ticket, error),
      begin: (ticket, resultsBefore) => this.#begin(ticket, resultsBefore),
      stopReads: () => this.#longReads.stopAll(),
      replaced: (ended) => this.#procedures.replaced(ended),
      updated: ({ breaksClients: endsConnections, ended }, figures) => {
        return { kind: 'updated', description: this.description, endsConnections, ended, figures };
      },
      wake: () => this.#wake(),
      makeAlarm: this.#around.makeAlarm,
    };
  }

  get description(): DatabaseDescription {
    return descriptionOf(this.#core.program, this.#core.store);
  }

  get offset(): CommitOffset {
    return this.#core.store.offset;
  }

  /** When the last commit that existed at opening was accepted, and the epoch of its log. */
  get start(): { readonly lastMicros: bigint; readonly epoch: Epoch } {
    const { lastMicros, log } = this.#core;
    return { lastMicros, epoch: log.epoch };
  }

  /** The usage that counts against its quota. */
  storageUse(): StorageUse {
    return storageUseOf(this.#core);
  }

  /** Applies other limits to every transaction from now on. */
  setStorage(limits: StorageLimits): void {
    this.#core.quota.limits = limits;
  }

  /** Bytes taken by rows and indexes, including those of views. */
  memory(): MemoryUse {
    return memoryOf(this.#core);
  }

  /** Bytes that reads hold in addition to the tables; none of them belong to the module. */
  get statementBytes(): number {
    const uncounted = this.#longReads.count * limits.sqlUncountedBytes;
    const beside = this.#snapshots.bufferBytes + this.#updates.madeBytes;
    return this.#core.statementMemory.bytes + uncounted + beside;
  }

  /** Watched live queries, their memory, the memory of reads, and counters since the start. */
  get liveFigures(): LiveFigures {
    return liveFiguresOf(this.#core, this.#longReads.count);
  }

  /** Armed rows, and counters of runs since it was opened. */
  get scheduleFigures(): ScheduleFigures {
    return this.#core.schedules.figures();
  }

  /** The newest snapshot, the one under way, and counters since it was opened. */
  get snapshotFigures(): SnapshotFigures {
    return this.#snapshots.figures;
  }

  /** When the next scheduled run is due; `undefined`: none is to come. */
  get nextDueMicros(): bigint | undefined {
    // An owner that watches has to know that code runs which nobody has asked for.
    const due = this.#core.schedules.nextDue();
    return earlier(this.leftovers.dueMicros, due === undefined ? undefined : BigInt(due));
  }

  /** Durations of its turns and syncs since it was opened. */
  times(): ActorTimes {
    const { queue, turn } = this.#times;
    const sync = this.#writer.times;
    return { queue: queue.figures(), turn: turn.figures(), sync: sync.figures() };
  }

  /**
   * Accepts a request; throws `Refusal` when it cannot. The reply reaches the owner with a turn, or
   * `stopped` is called.
   */
  submit(request: TicketedRequest): void {
    if (this.#state === 'undoing') return;
    if (this.#state !== 'serving') throw stoppedRefusal();
    if (request.request.kind === 'update') {
      this.#updates.prepare(request.ticket, request.request, request.acceptedMicros);
      return;
    }
    this.#queue.push(request);
    this.#wake();
  }

  /** Like `submit`, for several requests, none of them updates. Each is decoded when it runs. */
  submitAll(requests: ItemSource<TicketedRequest>): void {
    if (this.#state === 'undoing') return;
    if (this.#state !== 'serving') throw stoppedRefusal();
    this.#queue.pushAll(requests);
    this.#wake();
  }

  /** Lets scheduled runs begin: what a crash has left is dealt with. */
  beginSchedules(): void {
    this.#runsSchedules = true;
    this.#handedDue = this.nextDueMicros;
    this.#wake();
    this.#setAlarm();
  }

  /** It may be too early: by the clock of schedules nothing is due then. */
  #ring(): void {
    this.#wake();
    if (this.#loop === undefined) this.#setAlarm();
  }

  #setAlarm(): void {
    const rings = this.#runsSchedules && this.#state === 'serving';
    const rung = this.#core.schedules.alarmMicros();
    this.#alarm?.set(rings ? earlier(this.leftovers.alarmMicros, rung) : undefined);
  }

  /**
   * Rejects new requests, finishes accepted ones, and makes everything durable. Within
   * `snapshotMillis` it may take a snapshot.
   */
  async close(snapshotMillis = 0): Promise<void> {
    const until = this.#core.clock.monotonicMillis() + snapshotMillis;
    this.#alarm?.dispose();
    if (this.#isOver()) return this.#undoing;
    this.#state = 'closing';
    this.#stopped = this.#updates.stop();
    await this.#updates.loaded();
    this.#wake();
    await this.#loop;
    // Rows that are claimed already get their runs.
    await this.#writer.settled();
    this.#wake();
    await this.#loop;
    await this.#procedures.stop();
    this.#wake();
    await this.#loop;
    await this.#writer.settled();
    if (!this.#isOver()) await this.#snapshots.stop(until);
    await this.#loop;
    this.#snapshots.abandon();
    if (this.#isOver()) return this.#undoing;
    try {
      await this.#core.log.close();
      this.#state = 'ended';
    } catch (error) {
      this.#end({ error, running: undefined });
    }
    this.#core.program.runner.dispose();
  }

  /** True while something that was begun takes longer than a turn: a read, or a procedure. */
  get isBusy(): boolean {
    return this.#longReads.count > 0 || this.#procedures.count > 0;
  }

  /** True while a program is being replaced by one whose migration takes several turns. */
  get isMigrating(): boolean {
    return this.#updates.isRunning;
  }

  /** Begins nothing until `goOn`, and finishes what it has begun. */
  finishBegun(): void {
    this.#rest = 'finishing';
  }

  /** Takes no turn until `goOn`; resolves when everything that it wrote is durable. */
  async halt(): Promise<void> {
    this.#rest = 'halted';
    await this.#loop;
    await this.#writer.settled();
  }

  goOn(): void {
    this.#rest = 'none';
    this.#wake();
  }

  lose(error: Error): void {
    this.#stop(error);
  }

  #isOver(): boolean {
    return this.#state === 'ended' || this.#state === 'undoing';
  }

  #wake(): void {
    if (this.#loop === undefined && this.#hasWork()) this.#loop = this.#takeTurns();
  }

  /** Never rejects: a failure ends the database. */
  async #takeTurns(): Promise<void> {
    try {
      do {
        await this.#around.nextTurn();
        if (this.#core.log.isFull) await this.#core.log.sync();
        if (this.#isOver()) return;
        const isBusy = this.#turn() || this.#queue.length > 0 || this.#longReads.count > 0;
        this.#endLeftovers();
        if (!this.#isOver()) this.#snapshots.goOn(isBusy);
        if (!this.#hasWork()) this.#procedures.linger();
      } while (this.#hasWork() && !this.#isOver());
    } catch (error) {
      this.#stop(error);
    } finally {
      // At once: a caller that reads an outcome may submit again before anything else runs.
      this.#loop = undefined;
      this.#setAlarm();
      if (!this.#isOver()) this.#snapshots.setAlarm();
    }
  }

  #hasWork(): boolean {
    if (this.#rest !== 'none') return this.#rest === 'finishing' && this.#hasBegunWork();
    const isLoose = this.#state === 'serving' && this.#core.store.hasLoose;
    if (this.#queue.length > 0 || this.#procedures.hasWork || isLoose) return true;
    if (this.#scheduled.canStart(this.#writer.durable) || this.#isDue()) return true;
    if (this.#state === 'serving' && this.leftovers.areDue) return true;
    if (this.#updates.hasWork || this.#stopped.length > 0) return true;
    return this.#longReads.count > 0 || this.#snapshots.hasWork || this.#writer.hasResults;
  }

  #hasBegunWork(): boolean {
    if (this.#procedures.hasWork || this.#scheduled.canStart(this.#writer.durable)) return true;
    return this.#longReads.count > 0 || this.#stopped.length > 0 || this.#writer.hasResults;
  }

  /** True if a scheduled run is due; none begins while the database closes, or rests. */
  #isDue(): boolean {
    const { schedules, full } = this.#core;
    if (!schedules.isNeeded || !this.#runsSchedules || this.#rest !== 'none') return false;
    return this.#state === 'serving' && full === undefined && schedules.isDue();
  }

  /** True if it has run or written anything. */
  #turn(): boolean {
    const { clock } = this.#core;
    const startedAt = clock.monotonicMillis();
    const results: TurnResult[] = [];
    let last: Ticket | undefined;
    const work = (): void => {
      const hasRun = this.#runSchedules();
      last = this.#runBatch(results);
      this.#lastTicket = last ?? this.#lastTicket;
      this.#core.live.begin(noTicket, results.length);
      results.push(...this.#longReads.goOn());
      const isBusy = results.length > 0 || this.#queue.length > 0 || hasRun;
      const hasMigrated = this.#updates.goOn(results, isBusy);
      this.#scheduled.start(this.#writer.durable);
      const hasServed = this.#serveLanes(results);
      // What no request of this turn asked for is written now, under an earlier ticket.
      if (this.#longReads.hasWritten || hasRun || hasServed || hasMigrated)
        last ??= this.#lastTicket;
      this.#core.store.freeLoose();
    };
    this.#inBatch(work);
    results.push(...this.#snapshots.takeResults(), ...this.#writer.takeResults());
    results.push(...this.#stopped.splice(0));
    let hasWritten = this.#writer.write(last);
    results.push(...this.#answering.exports.begin());
    this.#scheduled.written(this.#writer.last);
    this.#procedures.answer();
    while (results.length === 0 && this.#isAskedAgain(startedAt)) {
      this.#inBatch(() => this.#serveLanes(results));
      hasWritten = this.#writer.write(this.#lastTicket) || hasWritten;
      this.#procedures.answer();
    }
    this.#around.progress.resting();
    this.#times.turn.add(clock.monotonicMillis() - startedAt);
    const isQuiet = results.length === 0 && !hasWritten && this.#core.schedules.ended.isEmpty;
    if (isQuiet && (!this.#core.schedules.isNeeded || this.nextDueMicros === this.#handedDue)) {
      return false;
    }
    const commits = this.#core.live.takeCommits();
    // A single waiting caller is served fastest without a background sync. Without one, nobody
    // gains by the wait for the disk.
    const isAlone = results.length === 1 && this.#queue.length === 0;
    const isAwaited = commits.length === 0 && this.#isConfirmed;
    if (isAlone && isAwaited) this.#writer.syncAtOnce();
    if (results.length > 0) this.#awaitedWrite = this.#writer.last;
    this.#handOver(results, commits);
    this.#writer.startSync(isAlone);
    return true;
  }

  /** Behind a turn, whose results are not lost if one of them ends the actor. */
  #endLeftovers(): void {
    if (!this.leftovers.areDue || this.#state !== 'serving' || this.#rest !== 'none') return;
    this.#running = undefined;
    this.#core.live.begin(noTicket, 0);
    this.#inBatch(() => this.leftovers.goOn(() => void this.#writer.write(this.#lastTicket)));
    this.#around.progress.resting();
    this.#handOver([], this.#core.live.takeCommits());
    this.#writer.startSync();
  }

  /** True if it may have written something. */
  #serveLanes(results: TurnResult[]): boolean {
    const hasServed = this.#procedures.goOn(results);
    this.#running = undefined;
    return hasServed;
  }

  /**
   * True if a lane that has its answer asks for more at once, and the turn has time for it: a turn
   * for each transaction would cost more than the transaction. Nobody but lanes may be waiting.
   */
  #isAskedAgain(startedAt: number): boolean {
    const { clock } = this.#core;
    if (clock.monotonicMillis() - startedAt >= limits.laneTurnMillisMax) return false;
    if (this.#awaitedWrite > this.#writer.durable) return false;
    if (this.#queue.length > 0 || this.#longReads.count > 0 || this.#isDue()) return false;
    if (this.#around.progress.isAwaited?.() === true) return false;
    this.#procedures.linger();
    return this.#procedures.hasWork;
  }

  #inBatch(work: () => void): void {
    const { runner } = this.#core.program;
    if (runner.batch === undefined) work();
    else runner.batch(work);
  }

  /** Before the requests of the turn, so that neither waits for the other's whole queue. */
  #runSchedules(): boolean {
    if (!this.#isDue()) return false;
    this.#core.live.begin(noTicket, 0);
    return runDue(this.#core, this.#around.progress);
  }

  #handOver(results: readonly TurnResult[], commits: readonly LiveCommit[]): void {
    const { store, schedules } = this.#core;
    const { last: write, isDurable } = this.#writer;
    this.#handedDue = this.nextDueMicros;
    const places = { write, isDurable, offset: store.offset, nextDueMicros: this.#handedDue };
    this.#around.owner.handOver({ results, commits, ...places, ...schedules.ended.take() });
  }

  /** Runs queued requests, adds the results, and returns the last ticket. */
  #runBatch(results: TurnResult[]): Ticket | undefined {
    const { clock } = this.#core;
    const startedAt = clock.monotonicMillis();
    const countMax = this.#rest !== 'none' ? 0 : this.#countOfTurn();
    let last: Ticket | undefined;
    while (results.length < countMax) {
      const work = this.#queue.take();
      if (work === undefined) break;
      const isUpdate = 'loaded' in work;
      if (last === undefined && !isUpdate) this.#waited(work);
      if (!isUpdate) last = work.ticket;
      this.#run(work, results);
      if (isUpdate) break;
      if (clock.monotonicMillis() - startedAt >= limits.turnMillisMax) break;
    }
    return last;
  }

  /** The clocks of two threads can differ by a millisecond, and the machine can set them back. */
  #waited({ acceptedMicros }: TicketedRequest): void {
    const micros = Number(this.#core.clock.nowMicros() - acceptedMicros);
    this.#times.queue.add(Math.max(0, micros / 1_000));
  }

  /**
   * A turn takes part of the queue: its work is synced and its replies are sent while the next part
   * runs. A single large turn would leave the threads involved in a call idle in alternation. Reads
   * that continue at the end of each turn need a worthwhile slice, so then there are few turns.
   */
  #countOfTurn(): number {
    const { callsPerTurnMin, callsPerTurnMax, turnsOfQueue } = limits;
    if (this.#longReads.count > 0) return callsPerTurnMax;
    const share = Math.ceil(this.#queue.length / turnsOfQueue);
    return Math.min(Math.max(share, callsPerTurnMin), callsPerTurnMax);
  }

  #run(work: QueuedWork, results: TurnResult[]): void {
    const { ticket, request } = work;
    this.#isConfirmed = request.kind === 'call' && request.call.confirmed;
    this.#begin(ticket, results.length);
    const reply =
      'loaded' in work
        ? this.#updates.start(work, results)
        : answerRequest(this.#answering, work, results);
    this.#running = undefined;
    if (reply !== undefined) results.push({ ticket, reply });
  }

  /** `undefined`: no request asked for what begins. */
  #begin(ticket: Ticket | undefined, resultsBefore: number): void {
    this.#core.live.begin(ticket ?? noTicket, resultsBefore);
    this.#running = ticket;
    if (ticket !== undefined) this.#resume(ticket);
  }

  #resume(ticket: Ticket): void {
    this.#running = ticket;
    this.#around.progress.calling(ticket);
  }

  /** Answers a ticket outside of a turn. */
  #refuse(ticket: Ticket, error: unknown): void {
    if (!(error instanceof Refusal)) {
      this.#running = ticket;
      this.#stop(error);
      return;
    }
    const results: TurnResult[] = [{ ticket, reply: { kind: 'refused', body: error.body } }];
    this.#handOver(results, this.#core.live.takeCommits());
  }

  #stop(error: unknown): void {
    if (this.#isOver()) return;
    this.#longReads.abandon();
    this.#procedures.abandon();
    this.#updates.abandon();
    this.#snapshots.abandon();
    if (isForSpace(error)) {
      this.#undoing = this.#undo(error);
      return;
    }
    this.#core.log.abandon();
    this.#end({ error, running: this.#running });
  }

  /** The commits of this turn exist in memory, but not in the log, and must never get there. */
  async #undo(error: unknown): Promise<void> {
    this.#state = 'undoing';
    const running = this.#running;
    try {
      const isUndone = await this.#core.log.takeBack();
      this.#end({ error, running, isUndone });
    } catch (failedSync) {
      this.#end({ error: failedSync, running });
    }
  }

  #end(reason: StopReason): void {
    this.#state = 'ended';
    this.#alarm?.dispose();
    this.#around.owner.stopped(reason);
  }
}

type QueuedWork = TicketedRequest | PreparedUpdate;
