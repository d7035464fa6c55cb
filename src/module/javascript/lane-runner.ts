import { encodePathParameters } from '../../protocol/http-abi.ts';
import { logLevels, transactionEnds, transactionKinds } from '../../protocol/module-abi.ts';
import type { AsyncOutcome, LaneCall, LaneEnd, LaneLink, LaneRunner } from '../lane.ts';
import { type BegunCall, LaneCalls } from '../lane-calls.ts';
import type { LinkedProgram } from '../runner.ts';
import { dataApi } from './data-api.ts';
import type { AsyncStatus, GuestApi } from './guest-api.ts';
import { type GuestContext, GuestRealm, GuestScratch, type ProgramApi } from './guest-realm.ts';
import type { Realm } from './realm.ts';

export interface LaneContext extends GuestContext {
  /** The time that calls see after they have waited, in microseconds since the Unix epoch. */
  readonly nowMicros: () => bigint;
}

/**
 * Loads a program into `realm`, which is new and belongs to the runner from here on, to run its
 * procedures and HTTP handlers. `link` reaches the database. Throws `ProgramError`.
 */
export function loadLaneProgram(
  program: LinkedProgram,
  context: LaneContext,
  realm: Realm,
  link: LaneLink,
): LaneRunner {
  return realm.enter(() => new JavaScriptLane(program, context, realm, link));
}

class JavaScriptLane implements LaneRunner {
  readonly #realm: Realm;
  readonly #calls: LaneCalls;
  readonly #program: GuestRealm;
  readonly #guest: GuestApi;
  readonly #nowMicros: () => bigint;
  #ended: { readonly call: number; readonly end: LaneEnd }[] = [];
  /** Those that have ended since the program was entered. */
  #over: BegunCall[] = [];

  constructor(program: LinkedProgram, context: LaneContext, realm: Realm, link: LaneLink) {
    const scratch = new GuestScratch();
    this.#realm = realm;
    this.#nowMicros = context.nowMicros;
    this.#calls = new LaneCalls(link, scratch);
    const api = programApi(this.#calls);
    this.#program = new GuestRealm(realm, { api, scratch });
    this.#guest = this.#program.guest;
    this.#program.load(program, context);
    this.#calls.loaded();
  }

  describe(): Uint8Array {
    return this.#program.description;
  }

  start(call: LaneCall): LaneEnd | 'waiting' {
    return this.#realm.enter(() => this.#start(call));
  }

  completed(operation: number, outcome: AsyncOutcome): void {
    const call = this.#calls.take(operation);
    if (call === undefined) return;
    this.#within(call, () => {
      const { result, bodyBytes, text, isRedirected } = this.#calls.place(outcome);
      this.#guest.completed(operation, result, bodyBytes, text, isRedirected);
    });
  }

  abort(number: number, reason: string): void {
    const call = this.#calls.callOf(number);
    if (call === undefined) return;
    this.#within(call, () => this.#guest.abort(number, reason));
  }

  drop(number: number): void {
    const call = this.#calls.callOf(number);
    if (call === undefined) return;
    this.#within(call, () => this.#forget(call));
  }

  takeEnded(): readonly { readonly call: number; readonly end: LaneEnd }[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  dispose(): void {
    // The realm is collected when nothing refers to the runner any more.
  }

  #start(call: LaneCall): LaneEnd | 'waiting' {
    const { number, seed, name } = call;
    const begun = this.#calls.begin(call, this.#program.newLog(name));
    this.#program.enter(begun.log, seed);
    try {
      const status = this.#invoke(call);
      // Before jobs run, which may end other calls.
      const end = status === 5 ? undefined : this.#endOf(status);
      this.#calls.returned();
      this.#abandon();
      if (end !== undefined) this.#end(begun, end);
    } finally {
      this.#calls.returned();
    }
    this.#settle();
    const own = this.#ended.find((ended) => ended.call === number);
    this.#ended = this.#ended.filter((ended) => ended !== own);
    return own?.end ?? 'waiting';
  }

  #invoke(call: LaneCall): AsyncStatus {
    return call.kind === 'procedure' ? this.#procedure(call) : this.#handler(call);
  }

  #procedure({ number, id, sender, connectionId, timestampMicros, args }: LaneCall): AsyncStatus {
    const { length } = args;
    this.#program.placeArguments(args);
    return this.#guest.callProcedure(id, sender, connectionId, timestampMicros, length, number);
  }

  #handler({ number, id, sender, timestampMicros, args, body, params }: LaneCall): AsyncStatus {
    const sent = body ?? new Uint8Array(0);
    const encoded = encodePathParameters(params ?? []);
    this.#program.placeParts([args, sent, encoded]);
    const lengths = [args.length, sent.length, encoded.length] as const;
    return this.#guest.callHandler(id, sender, timestampMicros, ...lengths, number);
  }

  /** Enters the program for a call that waits. */
  #within(call: BegunCall, run: () => void): void {
    this.#realm.enter(() => {
      this.#program.enter(call.log);
      this.#calls.enter(call);
      this.#guest.setClock(this.#nowMicros());
      run();
      this.#settle();
    });
  }

  /** Runs what is left to do without waiting, and notes the calls that have ended by it. */
  #settle(): void {
    this.#program.settle();
    this.#abandon();
    for (let number = this.#guest.nextEnded(); number !== 0; number = this.#guest.nextEnded()) {
      const call = this.#calls.callOf(number);
      if (call !== undefined) this.#end(call, this.#endOf(this.#guest.endedStatus()));
    }
    for (const call of this.#calls.deadlocked()) {
      this.#end(call, { kind: 'failed', message: deadlockText(call.kind), trace: [] });
      this.#guest.abort(call.number, '');
    }
    this.#calls.left();
    // Jobs that a call leaves behind write to its log, too.
    for (const call of this.#over) call.log.end();
    this.#over = [];
    if (this.#calls.begunCount === 0) this.#program.clearTimers();
  }

  #abandon(): void {
    const call = this.#calls.abandon();
    if (call === undefined || !call.log.mayWrite()) return;
    const text = `aborting dangling anonymous transaction in ${call.kind} ${call.name}`;
    call.log.write(logLevels.error, text, undefined);
  }

  #end(call: BegunCall, end: LaneEnd): void {
    this.#calls.end(call);
    this.#over.push(call);
    this.#ended.push({ call: call.number, end });
  }

  /** The program does not wait for it any more. */
  #forget(call: BegunCall): void {
    this.#calls.end(call);
    this.#over.push(call);
    this.#guest.abort(call.number, '');
  }

  #endOf(status: Exclude<AsyncStatus, 5>): LaneEnd {
    if (status === 0) {
      const value = new Uint8Array(this.#guest.takeCallResult()).slice();
      const body = this.#guest.takeCallBody();
      if (body === undefined) return { kind: 'returned', value };
      return { kind: 'returned', value, body: new Uint8Array(body).slice() };
    }
    const message = this.#guest.message();
    return { kind: 'failed', message, trace: this.#program.trace() };
  }
}

function deadlockText(kind: LaneCall['kind']): string {
  const rest = 'awaits a promise that nothing will resolve: no request and no sleep is pending';
  return `the ${kind} ${rest} that could`;
}

function programApi(calls: LaneCalls): ProgramApi {
  return {
    ...dataApi(calls),
    secretsOf: (call) => calls.secretsOf(call),
    begin: (kind, call) => calls.open(kind === transactionKinds.read ? 'read' : 'write', call),
    end: (how) => calls.finish(how === transactionEnds.commit ? 'commit' : 'abort'),
    reducerId: (name) => calls.reducerId(name),
    callReducer: (id, length, call) => calls.reducer(id, length, call),
    fetch: (headLength, bodyLength, call) => calls.fetch(headLength, bodyLength, call),
    fetchStart: (headLength, bodyLength, redirect, call) =>
      calls.fetchStart(headLength, bodyLength, redirect, call),
    sleep: (micros, call) => calls.sleep(micros, call),
    cancel: (operation) => calls.cancel(operation),
    resultBytes: () => calls.resultBytes,
    failure: () => calls.failure,
  };
}
