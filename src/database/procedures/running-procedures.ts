import { limits } from '../../limits.ts';
import { laneCodes } from '../../module/lane.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import { type CallerKey, callerKeyOf } from '../caller-key.ts';
import type { DatabaseCore } from '../core.ts';
import type { ProcedureError, ProcedureOutcome, ProcedureRequest } from '../outcome.ts';
import { enter, isOutdated, leave } from '../run-call.ts';
import type { Ticket } from '../ticket.ts';
import type { DatabaseReply, TurnResult } from '../turn.ts';
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
import { type ProcedureResult, resultOf } from './procedure-end.ts';
import type { RunningCall } from './running-call.ts';
import { checkedCall } from './start-procedure.ts';

/**
 * The procedures of one database. Lanes run them; what they ask of the rows is done in turns, after
 * the requests of the turn, and answered when the turn is written. So a procedure can tell nobody
 * of a commit that might be undone.
 */
export class RunningProcedures {
  readonly #core: DatabaseCore;
  readonly #desk: LaneDesk | undefined;
  /** Called before work for a ticket, once that many results exist. */
  readonly #begin: (ticket: Ticket, resultsBefore: number) => void;
  readonly #calls = new Map<number, RunningCall>();
  readonly #byCaller = new Map<CallerKey, number>();
  /** Reads that go on beside the turns, by the number of their call. */
  readonly #reads = new Map<number, LaneRead>();
  /** What the lanes get when this turn is written. */
  #answers: Answer[] = [];
  #hasAnswered = false;
  #lastNumber = 0;
  #isStopping = false;

  constructor(
    core: DatabaseCore,
    desk: LaneDesk | undefined,
    begin: (ticket: Ticket, resultsBefore: number) => void,
  ) {
    this.#core = core;
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
    if (isOutdated(core, request)) return replyOf(failedWith({ code: 'schema.changed' }));
    const refusal = enter(core, request, acceptedMicros);
    if (refusal !== undefined) {
      return replyOf(failedWith({ code: 'connection.refused', message: refusal }));
    }
    const error = this.#start(ticket, request, acceptedMicros);
    if (error === undefined) return undefined;
    leave(core, request, acceptedMicros);
    return replyOf(failedWith(error));
  }

  #start(
    ticket: Ticket,
    request: ProcedureRequest,
    acceptedMicros: bigint,
  ): ProcedureError | undefined {
    const core = this.#core;
    const checked = checkedCall(core, request);
    if ('code' in checked) return checked;
    const { caller, connection } = request;
    const { procedure, args } = checked;
    const key = callerKeyOf(caller);
    if (this.#desk === undefined) return noLanes;
    if (this.#isStopping) return { code: 'procedure.stopped', message: stoppedText };
    if (this.#calls.size >= limits.proceduresMax) return databaseBusy;
    const ownCount = this.#byCaller.get(key) ?? 0;
    if (ownCount >= limits.callerProceduresMax) return callerBusy;
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const seed = new Uint8Array(32);
    core.entropy.fill(seed);
    const place = this.#desk.start(
      {
        number,
        kind: 'procedure',
        id: procedure.id,
        name: procedure.name,
        sender: caller.identity,
        connectionId: connection.id,
        timestampMicros: acceptedMicros,
        // The arguments are a view of the batch that brought the request.
        args: args.slice(),
        seed,
        jwtPayload: caller.jwtPayload,
      },
      core.program.source,
    );
    if (place === 'busy') return databaseBusy;
    this.#byCaller.set(key, ownCount + 1);
    const startedAt = core.clock.monotonicMillis();
    const { program } = core;
    const begun = { number, ticket, request, procedure, program, acceptedMicros, startedAt };
    this.#calls.set(number, { ...begun, hasLeft: false, late: undefined });
    return undefined;
  }

  /** The caller of this request is gone. */
  cancel(ticket: Ticket): void {
    this.#cancelThose((call) => call.ticket === ticket);
  }

  /** This connection is gone. */
  cancelOf(connectionId: ConnectionNumber): void {
    this.#cancelThose(({ request }) => request.connection.id === connectionId);
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
    const { ticket, request, acceptedMicros } = call;
    this.#giveBack(callerKeyOf(request.caller));
    this.#begin(ticket, results.length);
    const result = resultOf(this.#core, call, end);
    const micros = Math.round((this.#core.clock.monotonicMillis() - call.startedAt) * 1000);
    if (!call.hasLeft) leave(this.#core, request, nowOf(this.#core));
    results.push({ ticket, reply: replyOf(outcomeOf(result, acceptedMicros, micros)) });
  }

  #giveBack(key: CallerKey): void {
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

/** No call of this number runs. */
function refuse(wanted: LaneRequest): void {
  const code = laneCodes.failed;
  if (wanted.kind === 'reducer') wanted.answer({ kind: 'code', code });
  else wanted.begun(BigInt(code));
}

function outcomeOf(
  result: ProcedureResult,
  timestampMicros: bigint,
  micros: number,
): ProcedureOutcome {
  if ('code' in result) return { kind: 'failed', error: result, micros };
  return { kind: 'returned', value: result, timestampMicros, micros };
}

function failedWith(error: ProcedureError): ProcedureOutcome {
  return { kind: 'failed', error, micros: 0 };
}

function replyOf(outcome: ProcedureOutcome): DatabaseReply {
  return { kind: 'procedure', outcome };
}

const noLanes: ProcedureError = {
  code: 'procedure.failed',
  message: 'procedures are not supported in a process (isolation) yet',
};

const stoppedText = 'The procedure was not run, because its database stops. Try again.';

const databaseBusy: ProcedureError = {
  code: 'procedure.busy',
  message: `${limits.proceduresMax} procedures of this database are in flight; try again later`,
  of: 'database',
};

const callerBusy: ProcedureError = {
  code: 'procedure.busy',
  message: `${limits.callerProceduresMax} of your procedures are in flight; try again later`,
  of: 'caller',
};
