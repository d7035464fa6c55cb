import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { type LaneCall, laneCodes } from '../../module/lane.ts';
import { type ConnectionNumber, noConnection } from '../../values/connection-number.ts';
import { databaseAsCaller } from '../../values/identity-roles.ts';
import { callerKeyOf } from '../caller-key.ts';
import type { DatabaseCore } from '../core.ts';
import type { HandlerRequest, ProcedureError, ProcedureRequest } from '../outcome.ts';
import { enter, isOutdated, leave } from '../run-call.ts';
import { noBytes } from '../run-reducer.ts';
import type { Ticket } from '../ticket.ts';
import type { CancelReason, DatabaseReply, TurnResult } from '../turn.ts';
import { HandlerWarnings } from './handler-warnings.ts';
import { runLaneCall } from './lane-call.ts';
import type { EndedCall, LaneDesk, LaneRequest } from './lane-desk.ts';
import { LaneRead } from './lane-read.ts';
import {
  type Answer,
  announce,
  beginRefused,
  nowOf,
  refusalOf,
  runTransaction,
  type WriteRequest,
} from './lane-transaction.ts';
import { failedReply, replyOfEnd, scheduledError } from './procedure-end.ts';
import type { Job, RunningCall, ScheduledJob } from './running-call.ts';
import { type CheckedCall, checkedCall } from './start-procedure.ts';

/** Called before work for a ticket, or for no request, once that many results exist. */
type Begin = (ticket: Ticket | undefined, resultsBefore: number) => void;

/**
 * The procedures and HTTP handlers of one database. Lanes run them; what they ask of the rows is
 * done in turns, after the requests of the turn, and answered when the turn is written. So a
 * procedure can tell nobody of a commit that might be undone.
 */
export class RunningProcedures {
  readonly #core: DatabaseCore;
  readonly #desk: LaneDesk | undefined;
  readonly #begin: Begin;
  readonly #calls = new Map<number, RunningCall>();
  readonly #byCaller = new Map<RunningCall['countedAs'], number>();
  /** Reads that go on beside the turns, by the number of their call. */
  readonly #reads = new Map<number, LaneRead>();
  /** What the lanes get when this turn is written. */
  #answers: Answer[] = [];
  #hasAnswered = false;
  #lastNumber = 0;
  readonly #warnings: HandlerWarnings;
  #isStopping = false;

  constructor(core: DatabaseCore, desk: LaneDesk | undefined, begin: Begin) {
    this.#core = core;
    this.#warnings = new HandlerWarnings(core);
    this.#desk = desk;
    this.#begin = begin;
  }

  /** False: nothing runs procedures here. */
  get hasLanes(): boolean {
    return this.#desk !== undefined;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get hasWork(): boolean {
    return this.#desk?.hasWork === true;
  }

  /** Those that have begun and not ended. */
  get count(): number {
    return this.#calls.size;
  }

  /** Lets a lane run the procedure; its reply, where it does not come to that. */
  start(
    ticket: Ticket,
    request: ProcedureRequest,
    acceptedMicros: bigint,
  ): DatabaseReply | undefined {
    const core = this.#core;
    const job = { kind: 'procedure' } as const;
    if (isOutdated(core, request)) return failedReply(job, { code: 'schema.changed' });
    const refusal = enter(core, request, acceptedMicros);
    if (refusal !== undefined) {
      return failedReply(job, { code: 'connection.refused', message: refusal });
    }
    const checked = checkedCall(core, request);
    const error =
      'code' in checked
        ? checked
        : this.#ask(ticket, procedureLaunch(request, checked), acceptedMicros);
    if (error === undefined) return undefined;
    leave(core, request, acceptedMicros);
    return failedReply(job, error);
  }

  /** Lets a lane answer the request; its reply, where it does not come to that. */
  startHandler(
    ticket: Ticket,
    request: HandlerRequest,
    acceptedMicros: bigint,
  ): DatabaseReply | undefined {
    const core = this.#core;
    const job = { kind: 'handler', request } as const;
    const id = core.program.handlers.get(request.handler);
    if (id === undefined || isOutdated(core, request)) {
      return failedReply(job, { code: 'schema.changed' });
    }
    const error = this.#ask(ticket, handlerLaunch(request, id), acceptedMicros);
    return error && failedReply(job, error);
  }

  /** Lets a lane run a procedure for a schedule: nobody waits for it, for however long it takes. */
  startScheduled(job: ScheduledJob, args: Uint8Array, startMicros: bigint): void {
    const { id, name } = job.procedure;
    const caller = { identity: databaseAsCaller(this.#core.identity), jwtPayload: '' };
    const error = this.#launch(
      undefined,
      { job, name, caller, connectionId: noConnection, countedAs: 'schedule', call: { id, args } },
      startMicros,
    );
    if (error !== undefined) job.ended(error);
  }

  /** As below, within what may be in flight. */
  #ask(ticket: Ticket, launch: AskedLaunch, acceptedMicros: bigint): ProcedureError | undefined {
    const { job, countedAs } = launch;
    if (this.#calls.size >= limits.proceduresMax) return databaseBusy;
    const ownCount = this.#byCaller.get(countedAs) ?? 0;
    if (ownCount >= limits.callerProceduresMax) return callerBusy[job.kind];
    return this.#launch(ticket, launch, acceptedMicros);
  }

  #launch(
    ticket: Ticket | undefined,
    { job, name, caller, connectionId, countedAs, call }: Launch,
    acceptedMicros: bigint,
  ): ProcedureError | undefined {
    const core = this.#core;
    const desk = present(this.#desk, 'procedures run where there are lanes');
    if (this.#isStopping) return { code: 'procedure.stopped', message: stoppedText(job.kind) };
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const seed = new Uint8Array(32);
    core.entropy.fill(seed);
    const place = desk.start(
      {
        ...call,
        number,
        kind: job.kind === 'handler' ? 'handler' : 'procedure',
        isScheduled: job.kind === 'schedule',
        name,
        sender: caller.identity,
        connectionId,
        timestampMicros: acceptedMicros,
        seed,
        jwtPayload: caller.jwtPayload,
      },
      core.program.source,
    );
    if (place === 'busy') return databaseBusy;
    this.#byCaller.set(countedAs, (this.#byCaller.get(countedAs) ?? 0) + 1);
    const startedAt = core.clock.monotonicMillis();
    const { program } = core;
    const begun = { number, ticket, job, name, caller, connectionId, countedAs };
    const nothing = { full: undefined, committed: undefined, late: undefined };
    const state = { program, acceptedMicros, startedAt, hasLeft: false, ...nothing };
    this.#calls.set(number, { ...begun, ...state });
    return undefined;
  }

  /** The caller of this request is gone. */
  cancel(ticket: Ticket, why: CancelReason): void {
    this.#cancelThose((call) => call.ticket === ticket, why);
  }

  /** This connection is gone. */
  cancelOf(connectionId: ConnectionNumber): void {
    this.#cancelThose((call) => call.connectionId === connectionId, 'gone');
  }

  #cancelThose(isMeant: (call: RunningCall) => boolean, why: CancelReason): void {
    for (const call of this.#calls.values()) {
      if (isMeant(call)) this.#desk?.cancel(call.number, why);
    }
  }

  /** `ended`: the connections that ended with the program from before. */
  replaced(ended: readonly ConnectionNumber[]): void {
    const gone = new Set(ended);
    for (const call of this.#calls.values()) {
      if (gone.has(call.connectionId)) call.hasLeft = true;
    }
    this.#desk?.replaced();
  }

  /**
   * Does what lanes have asked for, within the time of a turn, and adds the replies of procedures
   * that have ended. True if it may have written something.
   */
  goOn(results: TurnResult[]): boolean {
    const desk = this.#desk;
    if (desk?.hasWork !== true) return false;
    const { clock } = this.#core;
    const endAt = clock.monotonicMillis() + limits.turnMillisMax;
    for (const ended of desk.takeEnded()) this.#end(ended, results);
    for (;;) {
      const wanted = desk.takeWanted();
      if (wanted === undefined) break;
      this.#do(wanted, results.length);
      if (clock.monotonicMillis() >= endAt) break;
    }
    return true;
  }

  /** The turn is written: tells the lanes. */
  answer(): void {
    const answers = this.#answers;
    this.#hasAnswered = answers.length > 0;
    if (!this.#hasAnswered) return;
    this.#answers = [];
    for (const answer of answers) answer();
  }

  /** A procedure that has got its answer often asks again at once. */
  linger(): void {
    if (!this.#hasAnswered) return;
    this.#hasAnswered = false;
    this.#desk?.linger();
  }

  /** Ends all lanes, after the time that running procedures get. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#desk?.stop(this.#calls.size === 0 ? 0 : limits.procedureStopMillis);
  }

  /** Ends all lanes at once, for a database that no longer replies to anyone. */
  abandon(): void {
    this.#isStopping = true;
    this.#answers = [];
    for (const read of this.#reads.values()) read.dispose();
    this.#reads.clear();
    void this.#desk?.stop(0);
  }

  #end({ call: number, end }: EndedCall, results: TurnResult[]): void {
    const call = this.#calls.get(number);
    if (call === undefined) return;
    this.#calls.delete(number);
    this.#reads.get(number)?.dispose();
    this.#reads.delete(number);
    const core = this.#core;
    const { ticket, job, startedAt } = call;
    this.#giveBack(call.countedAs);
    this.#announce(call, results.length);
    if (job.kind === 'schedule') {
      job.ended(scheduledError(core, { ...call, job }, end));
      return;
    }
    const micros = Math.round((core.clock.monotonicMillis() - startedAt) * 1000);
    const reply = replyOfEnd({ core, warnings: this.#warnings }, { ...call, job }, end, micros);
    if (job.kind === 'procedure' && !call.hasLeft) leave(core, job.request, nowOf(core));
    results.push({ ticket: present(ticket, 'the ticket of a request'), reply });
  }

  #announce(call: RunningCall, resultsBefore: number): void {
    this.#begin(call.ticket, resultsBefore);
    if (call.ticket === undefined) announce(this.#core, call);
  }

  #giveBack(key: RunningCall['countedAs']): void {
    const left = (this.#byCaller.get(key) ?? 0) - 1;
    if (left > 0) this.#byCaller.set(key, left);
    else this.#byCaller.delete(key);
  }

  #do(wanted: LaneRequest, resultsBefore: number): void {
    const call = this.#calls.get(wanted.call);
    if (call === undefined) {
      this.#answers.push(() => refuse(wanted));
      return;
    }
    this.#announce(call, resultsBefore);
    if (wanted.kind === 'reducer') {
      const end = runLaneCall(this.#core, call, wanted);
      this.#answers.push(() => wanted.answer(end));
      return;
    }
    if (wanted.kind === 'read') {
      this.#read(call, wanted);
      return;
    }
    const answer = runTransaction(this.#core, call, wanted);
    if (answer !== undefined) this.#answers.push(answer);
  }

  #read(call: RunningCall, request: WriteRequest): void {
    const { number } = call;
    let read = this.#reads.get(number);
    if (read === undefined) {
      const refusal = refusalOf(this.#core, call);
      if (refusal !== undefined) {
        this.#answers.push(() => request.begun(beginRefused, refusal));
        return;
      }
      request.begun(nowOf(this.#core));
      read = new LaneRead(this.#core);
      this.#reads.set(number, read);
    }
    const end = read.serve(request);
    if (end === undefined) return;
    this.#reads.delete(number);
    if (end !== 'gone') this.#answers.push(end);
  }
}

/** What a lane is to run, and in whose name. */
interface Launch
  extends Pick<RunningCall, 'job' | 'name' | 'caller' | 'connectionId' | 'countedAs'> {
  readonly call: Pick<LaneCall, 'id' | 'args' | 'body' | 'params'>;
}

interface AskedLaunch extends Launch {
  readonly job: Exclude<Job, ScheduledJob>;
}

function procedureLaunch(request: ProcedureRequest, { procedure, args }: CheckedCall): AskedLaunch {
  const { caller, connection } = request;
  return {
    job: { kind: 'procedure', request, procedure },
    name: procedure.name,
    caller,
    connectionId: connection.id,
    countedAs: callerKeyOf(caller),
    // The arguments are a view of the batch that brought the request.
    call: { id: procedure.id, args: args.slice() },
  };
}

function handlerLaunch(request: HandlerRequest, id: number): AskedLaunch {
  const { caller, handler, head, body, params, client } = request;
  const isNameless = caller.isAnonymous === true;
  return {
    job: { kind: 'handler', request: { ...request, body: noBytes } },
    name: handler,
    caller,
    connectionId: noConnection,
    countedAs: isNameless ? `client ${client}` : callerKeyOf(caller),
    call: { id, args: head, body, params },
  };
}

/** No call of this number runs. */
function refuse(wanted: LaneRequest): void {
  const code = laneCodes.failed;
  if (wanted.kind === 'reducer') wanted.answer({ kind: 'code', code });
  else wanted.begun(BigInt(code));
}

function stoppedText(kind: Job['kind']): string {
  const what = kind === 'handler' ? 'handler' : 'procedure';
  return `The ${what} was not run, because its database stops. Try again.`;
}

const databaseBusy: ProcedureError = {
  code: 'procedure.busy',
  message: `${limits.proceduresMax} procedures of this database are in flight; try again later`,
  of: 'database',
};

const callerBusy: Readonly<Record<AskedLaunch['job']['kind'], ProcedureError>> = {
  procedure: busyOf('procedures'),
  handler: busyOf('requests'),
};

function busyOf(what: string): ProcedureError {
  const message = `${limits.callerProceduresMax} of your ${what} are in flight; try again later`;
  return { code: 'procedure.busy', message, of: 'caller' };
}
