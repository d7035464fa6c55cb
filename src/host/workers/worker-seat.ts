import type { MessagePort } from 'node:worker_threads';
import { assert, unreachable } from '../../assert.ts';
import type { Alarm, MakeAlarm } from '../../database/alarm.ts';
import type { Clock } from '../../database/clock.ts';
import type { StorageLimits } from '../../database/storage-quota.ts';
import { noTicket, type Ticket, ticketNumber } from '../../database/ticket.ts';
import type { DatabaseRequest, TicketedRequest, TurnResult } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { ActorEnv } from '../../module/module-env.ts';
import { hardeningFile } from '../../node/realm.ts';
import type { WriterPlace } from '../../node/writer-mark.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { SettledNote } from '../../shared-log/member-options.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import type { MemberOrder } from '../messages/member-messages.ts';
import {
  type ActorStart,
  buffersOf,
  type FromWorker,
  type LaneOrder,
  linkedBuffers,
  type SnapshotPort,
  type SnapshotWish,
  type ToWorker,
} from '../messages/worker-messages.ts';
import { decodeTurn } from '../messages/worker-outcomes.ts';
import { encodeRequests } from '../messages/worker-requests.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { MemberPlace } from '../replication/member-place.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import type { Budget } from '../seats/budget.ts';
import { heapLimits, statementMillis } from '../seats/budget.ts';
import type { HeapLimits } from '../seats/heap-care.ts';
import type { HistoryDesk } from '../seats/history-desk.ts';
import {
  decodeHistoryAnswer,
  encodeHistoryTask,
  type HistoryAnswer,
  type HistoryTask,
} from '../seats/history-task.ts';
import { memberAnswer } from '../seats/member-history.ts';
import type { Kill, Seat, SeatEnd, SeatEvents, SeatStart } from '../seats/seat.ts';
import type { PlainEnd } from '../seats/start-end.ts';
import type { SnapshotPlaces } from '../snapshots/snapshot-places.ts';
import { type SnapshotThread, threadEndedText } from '../snapshots/snapshot-thread.ts';
import type { Watchdog } from '../watching/watchdog.ts';
import type { Watched } from '../watching/watched.ts';
import type { DatabaseLinker } from './database-linker.ts';
import { SeatLanes, type SeatLanesOptions } from './seat-lanes.ts';
import { SeatMember } from './seat-member.ts';
import type { StartGate } from './start-gate.ts';
import { StuckRead } from './stuck-read.ts';
import type { StartWorker, Worker, WorkerDeath } from './worker.ts';

export interface WorkerSeatOptions {
  readonly identity: DatabaseIdentity;
  readonly ownerIdentity: OwnerIdentity;
  /** Counts the resets of the database. */
  readonly generation: number;
  readonly directory: string | undefined;
  readonly writer?: WriterPlace | undefined;
  readonly budget: Budget;
  readonly watchdog: Watchdog;
  /** Bounds how many databases start at once. */
  readonly gate: StartGate;
  readonly linker: DatabaseLinker;
  readonly startWorker: StartWorker;
  readonly clock: Pick<Clock, 'nowMicros'>;
  readonly makeAlarm: MakeAlarm;
  /** Absent: its process starts its lanes itself. */
  readonly lanes?: SeatLanesOptions | undefined;
  readonly snapshotPlaces: SnapshotPlaces;
  /** True: somebody waits for each publish. */
  readonly isDevelopment?: boolean;
  /** Absent: its process has one itself. */
  readonly snapshotThread?: SnapshotThread | undefined;
  /** Runs tasks on the files of its history; the seats of a database share it. */
  readonly historyDesk: HistoryDesk;
  /** Where it is a database of a cluster. */
  readonly member?: MemberPlace | undefined;
}

/**
 * A seat on a thread or in a process of its own. That can end at any moment, on its own or ended by
 * the watchdog; what it had sent before arrives first, then `ended` says how far it came.
 */
export class WorkerSeat implements Seat {
  readonly #options: WorkerSeatOptions;
  readonly #events: SeatEvents;
  readonly #startedAfter: Ticket;
  /** True: until it serves, it is a database that existed before. */
  readonly #isReopening: boolean;
  #worker: Worker | undefined;
  #watched: Watched | undefined;
  #leaveGate: () => void = () => undefined;
  #messagesSent = 0;
  /** Requests whose outcome has not arrived. */
  #outstanding = 0;
  /** Updates whose outcome has not arrived. */
  readonly #updates = new Set<Ticket>();
  /** Programs that it can still ask to have linked: it may be controlled by its module. */
  #linksLeft: number = limits.startLinksMax;
  /** When its next scheduled run is due; the alarm then has it watched. */
  #nextDueMicros: bigint | undefined;
  readonly #alarm: Alarm;
  #lastTicket: Ticket;
  /** How much the database can hold. */
  #storage: StorageLimits;
  #env: ActorEnv | undefined;
  #isOpen = false;
  /** The end to report, once the worker is gone. */
  #end: EndWithMark | undefined;
  #hasEnded = false;
  #whenEmpty: (() => void)[] = [];
  /** What the worker gets as soon as there is one. */
  #closing: Extract<ToWorker, { readonly kind: 'close' }> | undefined;
  /** True while it waits to be started, and nothing of it is at work. */
  #isAtGate = false;
  readonly #lanes: SeatLanes;
  readonly #member: SeatMember | undefined;
  readonly #stuckRead: StuckRead | undefined;
  /** Connections that read the copy, or a little more. */
  #copyClients = 0;
  /** True while it follows another host: only reads of its copy are waited for. */
  #isFollowing = false;
  /** True while it loads a program besides, which runs code. */
  #isWarming = false;
  #leaveSnapshots: () => void = () => undefined;

  constructor(options: WorkerSeatOptions, start: SeatStart, events: SeatEvents) {
    this.#options = options;
    this.#events = events;
    this.#lastTicket = start.lastTicket;
    this.#startedAfter = start.lastTicket;
    this.#storage = start.storage;
    this.#env = start.env;
    this.#isReopening = start.isReopening ?? start.mode.kind === 'open';
    this.#alarm = options.makeAlarm(() => {
      if (this.#isBusy()) options.watchdog.wake();
    });
    this.#lanes = new SeatLanes(options.lanes, options, (message) => this.#send(message));
    const { member: place } = options;
    this.#member =
      place &&
      new SeatMember({
        place,
        send: (message) => this.#send(message),
        role: (role) => this.#noteRole(role),
        fetched: (bytes) => events.hasFetched?.(bytes),
        readable: (reading) => {
          if (reading === undefined || reading === 'leads') this.#copyClients = 0;
          events.readable?.(reading);
        },
      });
    const member = this.#member;
    this.#stuckRead =
      member &&
      new StuckRead({
        board: () => this.#worker?.board,
        isReading: () => this.#isFollowing && (this.#outstanding > 0 || this.#copyClients > 0),
        runs: () => options.watchdog.wake(),
        isLeaderless: () => member.isLeaderless,
        end: () => this.kill({ cause: 'budget', message: stuckReadText, isForTakeOver: true }),
      });
    void this.#start(start);
  }

  submit(requests: readonly TicketedRequest[]): void {
    const last = requests.at(-1);
    if (last === undefined) return;
    this.#outstanding += requests.length;
    for (const { ticket, request } of requests) {
      if (this.#isFollowing) this.#countClient(request);
      if (request.kind !== 'update') continue;
      this.#linksLeft += 1;
      this.#updates.add(ticket);
    }
    if (last.ticket > this.#lastTicket) this.#lastTicket = last.ticket;
    const batch = encodeRequests(requests);
    this.#send({ kind: 'requests', batch }, buffersOf(batch));
    this.#options.watchdog.wake();
    if (this.#isFollowing) this.#stuckRead?.begin();
  }

  /** Commits of the leader run code for connections of its copy, and nobody waits for that. */
  #countClient({ kind }: DatabaseRequest): void {
    if (kind === 'connect') this.#copyClients += 1;
    if (kind === 'disconnect' && this.#copyClients > 0) this.#copyClients -= 1;
  }

  abandon(ticket: Ticket): void {
    if (this.#updates.has(ticket)) this.#worker?.abandon(ticket);
  }

  /** While there is no thread yet, the limits are sent with its start. */
  setStorage(limits: StorageLimits): void {
    this.#storage = limits;
    if (this.#worker !== undefined) this.#send({ kind: 'storage', limits });
  }

  /** While there is no worker, it is sent with its start. */
  setEnv(env: ActorEnv): void {
    this.#env = env;
    if (this.#worker !== undefined) this.#send({ kind: 'env', env });
  }

  history(task: HistoryTask, signal?: AbortSignal): Promise<HistoryAnswer> {
    const answer = this.#member && memberAnswer(task);
    if (answer !== undefined) return Promise.resolve(answer);
    return this.#options.historyDesk.run((stop) => this.#askHistory(task, stop), signal);
  }

  async #askHistory(task: HistoryTask, signal: AbortSignal): Promise<HistoryAnswer> {
    const text = encodeHistoryTask(task);
    const { snapshotThread, identity, directory, writer } = this.#options;
    if (directory === undefined) return { kind: 'stopped' };
    const answer =
      snapshotThread === undefined
        ? await this.#worker?.history?.(text, signal)
        : await snapshotThread.ask({ identity, directory, writer }, text, signal);
    if (this.#hasEnded || signal.aborted) return { kind: 'stopped' };
    if (answer === undefined || answer === '') {
      return { kind: 'failed', message: threadEndedText(task) };
    }
    try {
      return decodeHistoryAnswer(answer);
    } catch (error) {
      this.kill({ cause: 'bug', message: `its process sent what it must not: ${String(error)}` });
      return { kind: 'stopped' };
    }
  }

  wake(): void {
    this.#member?.look(true);
  }

  noteSettled(note: SettledNote): void {
    this.#member?.noteSettled(note);
  }

  renewLead(): void {
    this.#member?.renewLead();
  }

  prepareReads(): void {
    this.#member?.prepareReads();
  }

  async handOver(to: Lead): Promise<void> {
    if (this.#member === undefined || !this.#isOpen) throw notLeaderRefusal(undefined);
    await this.#member.handOver(to);
  }

  #noteRole(role: DatabaseRole): void {
    if (!this.#isOpen && role.kind === 'follower') {
      this.#isFollowing = true;
      this.#isWarming = role.isLoading === true;
      if (this.#isWarming) this.#options.watchdog.wake();
      this.#linksLeft = limits.startLinksMax;
      this.#leaveGate();
    }
    this.#events.role?.(role);
  }

  close(snapshotMillis = 0): Promise<void> {
    return new Promise((resolve) => {
      if (this.#hasEnded) resolve();
      else this.#whenEmpty.push(resolve);
      this.#closing ??= { kind: 'close', snapshotMillis };
      if (this.#worker !== undefined) this.#send({ kind: 'close', snapshotMillis });
      else if (this.#isAtGate) this.#endUnbegun();
    });
  }

  /** It is closed before there is a worker, and none is started. */
  #endUnbegun(): void {
    this.#end ??= { cause: 'closed', message: 'closed', running: undefined };
    this.#ended(undefined);
  }

  kill(kill: Kill): void {
    this.#end ??= { ...kill, ...this.#underWay() };
    if (this.#worker === undefined) this.#ended(undefined);
    else this.#worker.terminate();
  }

  async #start(begin: SeatStart): Promise<void> {
    const { mode, logBytes, schedulesPaused, after } = begin;
    const { identity, ownerIdentity, generation, directory, writer } = this.#options;
    const { budget, gate, linker, startWorker, historyDesk } = this.#options;
    await historyDesk.stop();
    await after;
    if (this.#closing !== undefined) this.#endUnbegun();
    if (this.#hasEnded) return;
    this.#isAtGate = true;
    this.#leaveGate = await gate.enter(logBytes);
    this.#isAtGate = false;
    if (this.#hasEnded) {
      this.#leaveGate();
      return;
    }
    const task = { kind: 'serve', mode } as const;
    const kept = linker.kept;
    const keepsSpare = this.#options.isDevelopment;
    const place = { identity, ownerIdentity, generation, directory, writer, kept, keepsSpare };
    const storage = this.#storage;
    const env = this.#env;
    const member = this.#member?.data(begin, mode.kind === 'create');
    const state = { storage, schedulesPaused, env, member };
    const start = actorStart({ task, ...place, ...state }, budget);
    try {
      const worker = await startWorker(
        start,
        { budget, lastTicket: this.#startedAfter },
        {
          message: (message) => this.#receiveSafely(message),
          hasLanes: () => this.#options.watchdog.wake(),
          ended: (death) => this.#ended(death),
        },
      );
      this.#employ(worker);
      if (this.#closing !== undefined) this.#send(this.#closing);
      if (this.#storage !== storage) this.setStorage(this.#storage);
      if (this.#env !== undefined && this.#env !== env) this.setEnv(this.#env);
    } catch (error) {
      this.#end = { cause: 'died', message: String(error), running: undefined };
      this.#ended(undefined);
    }
  }

  #employ(worker: Worker): void {
    this.#worker = worker;
    if (this.#hasEnded || this.#end !== undefined) {
      worker.terminate();
      return;
    }
    this.#watched = {
      get board() {
        return worker.board;
      },
      isBusy: () => this.#isBusy(),
      messagesSent: () => this.#messagesSent,
      memoryBytes: () => worker.memoryBytes?.(),
      askMemory: worker.askMemory,
      processorTime: () => worker.processorTime(),
      setStanding: (standing) => worker.setStanding(standing),
      kill: (end) => this.kill(end),
    };
    this.#options.watchdog.add(this.#watched);
  }

  /**
   * True while it has something to do, or has lanes, which may ask it for something. The board
   * shows a scheduled run that this clock does not expect yet: that of the worker does not go back.
   */
  #isBusy(): boolean {
    const hasLanes = this.#lanes.count > 0 || this.#worker?.hasLanes === true;
    if (this.#isFollowing) {
      const phase = this.#copyClients > 0 ? this.#worker?.board.phase : undefined;
      const runsCode = phase === 'calling' || phase === 'viewing';
      return this.#isWarming || this.#outstanding > 0 || runsCode;
    }
    if (!this.#isOpen || this.#outstanding > 0 || hasLanes) return true;
    const due = this.#nextDueMicros;
    if (due === undefined) return false;
    return due <= this.#options.clock.nowMicros() || this.#worker?.board.mark !== undefined;
  }

  #expect(nextDueMicros: bigint | undefined): void {
    if (nextDueMicros === this.#nextDueMicros || this.#hasEnded) return;
    this.#nextDueMicros = nextDueMicros;
    this.#alarm.set(nextDueMicros);
  }

  #receiveSafely(message: FromWorker): void {
    try {
      this.#receive(message);
    } catch (error) {
      this.kill({ cause: 'bug', message: String(error) });
    }
  }

  #receive(message: FromWorker): void {
    const events = this.#events;
    switch (message.kind) {
      case 'link':
        assert(this.#linksLeft > 0, 'it asks for no more programs than it was given');
        this.#linksLeft -= 1;
        void this.#link(message.id, message.bytes);
        return;
      case 'read':
        if (!this.#isOpen) events.hasRead(message.bytes);
        return;
      case 'opened':
        assert(!this.#isOpen, 'it opens once');
        this.#isOpen = true;
        this.#isFollowing = false;
        this.#leaveGate();
        this.#expect(message.opening.nextDueMicros);
        events.opened(message.opening);
        return;
      case 'turn': {
        const turn = decodeTurn(message.batch);
        for (const result of turn.results) {
          if (!isAnswer(result)) continue;
          this.#outstanding -= 1;
          this.#updates.delete(result.ticket);
        }
        this.#expect(turn.nextDueMicros);
        events.handOver(turn);
        return;
      }
      case 'durable':
        events.durable(message.write, message.offset);
        return;
      case 'lines':
        events.lines(message.lines);
        return;
      case 'memory':
        events.memory(message.memory);
        return;
      case 'warn':
        events.warn(message.message);
        return;
      case 'ended':
        this.#end ??= {
          ...message.end,
          handed: this.#member?.handed(message.end.handed),
          scheduled: this.#worker?.board.mark,
        };
        this.#worker?.terminate();
        return;
      case 'closed':
        assert(this.#whenEmpty.length > 0, 'it closes when it is asked to');
        this.#end ??= { cause: 'closed', message: 'closed', running: undefined };
        this.#worker?.terminate();
        return;
      case 'examined':
        return;
      default:
        this.#receiveOrder(message);
    }
  }

  #receiveOrder(message: LaneOrder | MemberOrder | SnapshotPort | SnapshotWish): void {
    switch (message.kind) {
      case 'lane':
        this.#lanes.start(message);
        return;
      case 'lanesBusy':
        this.#options.watchdog.wake();
        return;
      case 'laneReplaced':
        this.#lanes.replaced(message.lane);
        return;
      case 'endLane':
        this.#lanes.end(message.lane, message.death);
        return;
      case 'askSnapshot':
        this.#leaveSnapshots();
        this.#leaveSnapshots = this.#options.snapshotPlaces.enter(() => {
          this.#send({ kind: 'snapshotGranted' });
        });
        return;
      case 'leaveSnapshot':
        this.#leaveSnapshots();
        return;
      case 'snapshotPort':
        this.#takeSnapshot(message.port);
        return;
      case 'member':
      case 'role':
      case 'handedOver':
      case 'readable':
        this.#member?.receive(message);
        return;
      default:
        unreachable(message);
    }
  }

  #takeSnapshot(port: MessagePort): void {
    const { snapshotThread, identity, directory, writer } = this.#options;
    if (snapshotThread === undefined || directory === undefined) port.close();
    else snapshotThread.take({ port, identity, directory, writer });
  }

  async #link(id: number, bytes: Uint8Array): Promise<void> {
    const isReopening = this.#isReopening && !this.#isOpen;
    if (isReopening) this.#events.links(true);
    const outcome = await this.#options.linker.link(bytes, isReopening);
    if (isReopening) this.#events.links(false);
    this.#send({ kind: 'linked', id, outcome }, linkedBuffers(outcome));
  }

  /** Reports that the worker is gone, or will never exist. */
  #ended(death: WorkerDeath | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const stopped = this.#options.historyDesk.stop();
    this.#leaveGate();
    this.#leaveSnapshots();
    this.#lanes.endAll();
    this.#alarm.dispose();
    if (this.#watched !== undefined) this.#options.watchdog.remove(this.#watched);
    const unknown = { cause: 'died', message: 'the worker of the database ended' } as const;
    const end = this.#end ?? { ...(death ?? unknown), ...this.#underWay() };
    this.#stuckRead?.stop();
    this.#member?.end(end.handed !== undefined);
    if (this.#whenEmpty.length === 0 || end.cause !== 'closed') {
      this.#events.ended({ ...end, reached: (ticket) => this.#reached(ticket) });
    }
    // The one who closes it may remove its files then.
    for (const resolve of this.#whenEmpty) void stopped.then(resolve);
  }

  #reached(ticket: Ticket): boolean {
    return this.#worker?.board.reached(ticket) ?? ticket <= this.#startedAfter;
  }

  #underWay(): Pick<EndWithMark, 'running' | 'scheduled'> {
    return { running: this.#running(), scheduled: this.#worker?.board.mark };
  }

  /** Ticket of the request that the board says is running. */
  #running(): Ticket | undefined {
    const board = this.#worker?.board;
    if (board === undefined) return undefined;
    const { phase } = board;
    if (phase !== 'calling' && phase !== 'viewing') return undefined;
    const behind = ((this.#lastTicket | 0) - board.running) >>> 0;
    // A process that a module has taken over may write anything there.
    return behind < this.#lastTicket ? ticketNumber(this.#lastTicket - behind) : noTicket;
  }

  #send(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.#messagesSent += 1;
    this.#worker?.send(message, transfer);
  }
}

const stuckReadText =
  'The read held the copy while the database had lost its leader, and was stopped. Try again.';

/** An end, with the scheduled run that the board shows, and what its gateway alone knows. */
type EndWithMark = PlainEnd & Pick<SeatEnd, 'scheduled' | 'isForTakeOver'>;

/** What promises another reply is not final: a caller waits for that one. */
function isAnswer({ reply }: TurnResult): boolean {
  return reply.kind !== 'reading' && reply.kind !== 'migrating';
}

/** The start of an actor, where the budget decides the rest. */
export function actorStart(
  what: Omit<ActorStart, 'statementMillisMax' | 'hardeningFile' | keyof HeapLimits>,
  budget: Budget,
): ActorStart {
  return {
    ...what,
    statementMillisMax: statementMillis(budget),
    ...heapLimits(budget),
    hardeningFile: hardeningFile(),
  };
}
