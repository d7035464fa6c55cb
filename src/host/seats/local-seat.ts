import { present } from '../../assert.ts';
import type { MakeAlarm } from '../../database/alarm.ts';
import type { ItemSource } from '../../database/call-queue.ts';
import type { Clock } from '../../database/clock.ts';
import type { CronReader } from '../../database/cron.ts';
import type { Database } from '../../database/database.ts';
import type { Entropy } from '../../database/entropy.ts';
import type { DatabaseOptions } from '../../database/open-database.ts';
import type { LaneDesk } from '../../database/procedures/lane-desk.ts';
import type { ProgramLoader } from '../../database/program.ts';
import type { ProgramHash } from '../../database/program-hash.ts';
import type { Progress } from '../../database/progress.ts';
import type { ScheduleFollower } from '../../database/schedules/ran-schedule.ts';
import type { SnapshotDesk } from '../../database/snapshots/snapshot-desk.ts';
import type { SnapshotSizes } from '../../database/snapshots/snapshot-due.ts';
import type { StorageLimits } from '../../database/storage-quota.ts';
import type { Ticket } from '../../database/ticket.ts';
import type { StopReason, TicketedRequest } from '../../database/turn.ts';
import type { Disk } from '../../log/disk.ts';
import type { ModuleLogLine } from '../../module/log-line.ts';
import { type ActorEnv, emptyActorEnv, envFor } from '../../module/module-env.ts';
import { nextTurn } from '../../node/next-turn.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { SettledNote } from '../../shared-log/member-options.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import type { MemberPlace } from '../replication/member-place.ts';
import { MemberError, MemberRun } from '../replication/member-run.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import { assembleDatabase, assembleMember } from './assemble.ts';
import { Board } from './board.ts';
import type { HistoryDesk } from './history-desk.ts';
import type { HistoryAnswer, HistoryTask } from './history-task.ts';
import { later } from './later.ts';
import { memberAnswer } from './member-history.ts';
import type { Kill, Seat, SeatEvents, SeatMode, SeatStart } from './seat.ts';
import { endOfService, endOfStart, type PlainEnd } from './start-end.ts';

export interface LocalSeatOptions {
  readonly identity: DatabaseIdentity;
  readonly ownerIdentity: OwnerIdentity;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Creates the loader of an actor, which must report to `progress` while it evaluates. */
  readonly loaderFor: (progress: Progress) => ProgramLoader;
  readonly hash: ProgramHash;
  /** Absent: the database runs no procedures. */
  readonly makeLanes?: (report: (line: ModuleLogLine) => void) => LaneDesk;
  readonly statementMillisMax: number;
  /** Absent, both: the database has no schedules. */
  readonly makeAlarm?: MakeAlarm;
  readonly cron?: CronReader;
  /** Called after each scheduled run. */
  readonly follower?: ScheduleFollower | undefined;
  /** Absent: no snapshots are taken. */
  readonly snapshotDesk?: SnapshotDesk | undefined;
  /** Does tasks on the files of its history. Absent: it is kept in memory. */
  readonly history?:
    | ((task: HistoryTask, signal: AbortSignal) => Promise<HistoryAnswer>)
    | undefined;
  readonly historyDesk?: HistoryDesk | undefined;
  /** Used instead of those in `limits.ts`, for tests. */
  readonly snapshotSizes?: SnapshotSizes | undefined;
  /** Where it is a database of a cluster. */
  readonly member?: MemberPlace | undefined;
}

/**
 * A seat in the caller's thread, for tests and for the registry. Everything works as on a worker,
 * except that nothing can end a call that runs away.
 */
export class LocalSeat implements Seat {
  readonly #options: LocalSeatOptions;
  readonly #events: SeatEvents;
  readonly #board = new Board();
  /** Work requested of the actor before it served happens once it does. */
  #opening: Promise<Database | undefined>;
  #database: Database | undefined;
  #hasEnded = false;
  #env: ActorEnv;
  /** What it is in a cluster. */
  readonly #member: MemberRun | undefined;

  constructor(
    options: LocalSeatOptions,
    { mode, env = emptyActorEnv, ...start }: SeatStart,
    events: SeatEvents,
  ) {
    this.#options = options;
    this.#events = events;
    this.#board.startAfter(start.lastTicket);
    this.#env = env;
    const { member: place } = options;
    this.#member =
      place &&
      new MemberRun({
        place,
        ...{ handedTerm: start.handedTerm, coldReason: start.coldReason },
        role: (role) => events.role?.(role),
        readable: (reading) => events.readable?.(reading),
        warn: (message) => events.warn(message),
      });
    this.#opening = this.#open(mode, start);
  }

  submit(requests: readonly TicketedRequest[]): void {
    if (this.#database === undefined) this.#member?.read(sourceOf(requests));
    for (const request of requests) this.#database?.submit(request);
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

  setStorage(limits: StorageLimits): void {
    void this.#opening.then((database) => {
      database?.setStorage(limits);
      this.#tellMemory();
    });
  }

  setEnv(env: ActorEnv): void {
    this.#env = env;
  }

  async history(task: HistoryTask, signal?: AbortSignal): Promise<HistoryAnswer> {
    const { history, historyDesk } = this.#options;
    if (history === undefined || historyDesk === undefined) return { kind: 'stopped' };
    const answer = this.#member && memberAnswer(task);
    if (answer !== undefined) return answer;
    return historyDesk.run((stop) => history(task, stop), signal);
  }

  wake(): void {
    this.#member?.wake();
  }

  /** Of a member that follows; see `MemberRun`. */
  followedRows(tableName: string): Uint8Array | undefined {
    return this.#member?.followedRows(tableName);
  }

  async handOver(to: Lead): Promise<void> {
    if (this.#member === undefined) throw notLeaderRefusal(undefined);
    await this.#member.handOver(to);
  }

  async close(snapshotMillis = 0): Promise<void> {
    // A follower has nothing to finish.
    if (this.#database === undefined) this.#member?.stop();
    const database = await this.#opening;
    await database?.close(snapshotMillis);
    this.#member?.stop();
    await this.#options.historyDesk?.stop();
    this.#hasEnded = true;
  }

  kill({ cause, message }: Kill): void {
    this.#member?.stop();
    this.#end({ cause, message, running: undefined });
  }

  async #open(
    mode: SeatMode,
    { storage, schedulesPaused, after }: Omit<SeatStart, 'mode' | 'env'>,
  ): Promise<Database | undefined> {
    const { clock, loaderFor, makeLanes } = this.#options;
    const events = this.#events;
    const board = this.#board;
    const report = (line: ModuleLogLine) => events.lines([{ micros: clock.nowMicros(), line }]);
    // The owner has the seat only after the constructor has returned.
    await nextTurn();
    await this.#options.historyDesk?.stop();
    await after;
    try {
      const options: DatabaseOptions = {
        ...this.#options,
        ...{ storage, schedulesPaused },
        env: (program) => envFor(this.#env, program),
        progress: board,
        loader: loaderFor(board),
        nextTurn,
        later,
        report,
        ...(makeLanes === undefined ? {} : { lanes: makeLanes(report) }),
        warn: (message) => events.warn(message),
        owner: {
          handOver: (turn) => {
            events.handOver(turn);
            this.#tellMemory();
          },
          durable: (write, offset) => {
            events.durable(write, offset);
            this.#tellMemory();
          },
          stopped: (reason: StopReason) => {
            this.#member?.stop();
            this.#end(endOfService(reason));
          },
        },
      };
      const database =
        this.#member === undefined
          ? await assembleDatabase(mode, options)
          : await assembleMember(mode, options, this.#member);
      this.#database = database;
      this.#tellMemory();
      const { description, offset, nextDueMicros, start } = database;
      events.opened({ description, offset, nextDueMicros, ...start });
      this.#member?.served();
      return database;
    } catch (error) {
      const isStopped = error instanceof MemberError && error.isStopped;
      if (!isStopped) this.#end(endOfStart(error));
      return undefined;
    }
  }

  #tellMemory(): void {
    const open = this.#database;
    if (open === undefined) return;
    const used = open.storageUse();
    const counters = {
      live: open.liveFigures,
      schedules: open.scheduleFigures,
      snapshots: open.snapshotFigures,
    };
    this.#events.memory({ ...open.memory(), used, times: open.times(), ...counters });
  }

  #end(end: PlainEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const board = this.#board;
    const reached = (ticket: Ticket) => board.reached(ticket);
    this.#events.ended({ ...end, scheduled: board.mark, reached });
  }
}

function sourceOf(requests: readonly TicketedRequest[]): ItemSource<TicketedRequest> {
  const left = [...requests].reverse();
  return {
    get remaining() {
      return left.length;
    },
    next: () => present(left.pop(), 'a request that remains'),
  };
}
