import { limits } from '../../limits.ts';
import { type LaneCall, laneCodes } from '../../module/lane.ts';
import { type ConnectionNumber, noConnection } from '../../values/connection-number.ts';
import { callerKeyOf } from '../caller-key.ts';
import type { DatabaseCore } from '../core.ts';
import type { HandlerRequest, ProcedureError, ProcedureRequest } from '../outcome.ts';
import { enter, isOutdated, leave } from '../run-call.ts';
import { noBytes } from '../run-reducer.ts';
import type { Ticket } from '../ticket.ts';
import type { DatabaseReply, TurnResult } from '../turn.ts';
import { HandlerWarnings } from './handler-warnings.ts';
import { runLaneCall } from './lane-call.ts';
import type { EndedCall, LaneDesk, LaneRequest } from './lane-desk.ts';
import { LaneRead } from './lane-read.ts';
import {
  type Answer,
  beginRefused,
  nowOf,
  refusalOf,
  runTransaction,
  type WriteRequest,
} from './lane-transaction.ts';
import { failedReply, replyOfEnd } from './procedure-end.ts';
import type { Job, RunningCall } from './running-call.ts';
import { type CheckedCall, checkedCall } from './start-procedure.ts';

/**
 * The procedures and HTTP handlers of one database. Lanes run them; what they ask of the rows is
 * done in turns, after the requests of the turn, and answered when the turn is written. So a
 * procedure can tell nobody of a commit that might be undone.
 */
export class RunningProcedures {
  readonly #core: DatabaseCore;
  readonly #desk: LaneDesk | undefined;
  /** Called before work for a ticket, once that many results exist. */
  readonly #begin: (ticket: Ticket, resultsBefore: number) => void;
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

  constructor(
    core: DatabaseCore,
    desk: LaneDesk | undefined,
    begin: (ticket: Ticket, resultsBefore: number) => void,
  ) {
    this.#core = core;
    this.#warnings = new HandlerWarnings(core);
    this.#desk = desk;
    this.#begin = begin;
  }

  get hasWork(): boolean {
    return this.#desk?.hasWork === true;
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
        : this.#launch(ticket, procedureLaunch(request, checked), acceptedMicros);
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
    const error = this.#launch(ticket, handlerLaunch(request, id), acceptedMicros);
    return error && failedReply(job, error);
  }

  #launch(
    ticket: Ticket,
    { job, name, caller, connectionId, countedAs, call }: Launch,
    acceptedMicros: bigint,
  ): ProcedureError | undefined {
    const core = this.#core;
    if (this.#desk === undefined) return noLanes;
    if (this.#isStopping) return { code: 'procedure.stopped', message: stoppedText(job.kind) };
    if (this.#calls.size >= limits.proceduresMax) return databaseBusy;
    const ownCount = this.#byCaller.get(countedAs) ?? 0;
    if (ownCount >= limits.callerProceduresMax) return callerBusy[job.kind];
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const seed = new Uint8Array(32);
    core.entropy.fill(seed);
    const place = this.#desk.start(
      {
        ...call,
        number,
        kind: job.kind,
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
    this.#byCaller.set(countedAs, ownCount + 1);
    const startedAt = core.clock.monotonicMillis();
    const { program } = core;
    const begun = { number, ticket, job, name, caller, connectionId, countedAs };
    const state = { program, acceptedMicros, startedAt, hasLeft: false, late: undefined };
    this.#calls.set(number, { ...begun, ...state });
    return undefined;
  }

  /** The caller of this request is gone. */
  cancel(ticket: Ticket): void {
    this.#cancelThose((call) => call.ticket === ticket);
  }

  /** This connection is gone. */
  cancelOf(connectionId: ConnectionNumber): void {
    this.#cancelThose((call) => call.connectionId === connectionId);
  }

  #cancelThose(isMeant: (call: RunningCall) => boolean): void {
    for (const call of this.#calls.values()) {
      if (isMeant(call)) this.#desk?.cancel(call.number);
    }
  }

  /** `endsConnections`: also those that were opened for one call. */
  replaced(endsConnections: boolean): void {
    if (endsConnections) for (const call of this.#calls.values()) call.hasLeft = true;
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
    if (this.#hasAnswered) this.#desk?.linger();
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
    const { ticket, job, startedAt } = call;
    this.#giveBack(call.countedAs);
    this.#begin(ticket, results.length);
    const micros = Math.round((this.#core.clock.monotonicMillis() - startedAt) * 1000);
    const reply = replyOfEnd({ core: this.#core, warnings: this.#warnings }, call, end, micros);
    if (job.kind === 'procedure' && !call.hasLeft) {
      leave(this.#core, job.request, nowOf(this.#core));
    }
    results.push({ ticket, reply });
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
    this.#begin(call.ticket, resultsBefore);
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

function procedureLaunch(request: ProcedureRequest, { procedure, args }: CheckedCall): Launch {
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

function handlerLaunch(request: HandlerRequest, id: number): Launch {
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

const noLanes: ProcedureError = {
  code: 'procedure.failed',
  message: 'procedures and HTTP handlers are not supported in a process (isolation) yet',
};

function stoppedText(kind: Job['kind']): string {
  return `The ${kind} was not run, because its database stops. Try again.`;
}

const databaseBusy: ProcedureError = {
  code: 'procedure.busy',
  message: `${limits.proceduresMax} procedures of this database are in flight; try again later`,
  of: 'database',
};

const callerBusy: Readonly<Record<Job['kind'], ProcedureError>> = {
  procedure: busyOf('procedures'),
  handler: busyOf('requests'),
};

function busyOf(what: string): ProcedureError {
  const message = `${limits.callerProceduresMax} of your ${what} are in flight; try again later`;
  return { code: 'procedure.busy', message, of: 'caller' };
}
