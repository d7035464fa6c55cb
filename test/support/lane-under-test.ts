import { LaneData } from '../../src/database/procedures/data-server.ts';
import { linkHere } from '../../src/host/linking/local-linker.ts';
import type { Scratch } from '../../src/module/host-calls.ts';
import { loadLaneProgram } from '../../src/module/javascript/lane-runner.ts';
import type {
  AsyncOperation,
  AsyncOutcome,
  DataOp,
  FetchOutcome,
  LaneCall,
  LaneEnd,
  LaneLink,
  LaneRunner,
  OutboundRequest,
  ReducerEnd,
  TransactionEnd,
  TransactionKind,
} from '../../src/module/lane.ts';
import type { ModuleLogLine } from '../../src/module/log-line.ts';
import { openRealm } from '../../src/node/realm.ts';
import { errorCodes } from '../../src/protocol/module-abi.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import { calledMicros, type ModuleUnderTest, publishedMicros } from './module-under-test.ts';

export interface AskedOperation {
  readonly number: number;
  readonly call: number;
  readonly operation: AsyncOperation;
}

/** The way of a lane straight to the store and the runner of a module, in the same thread. */
export class StoreLink implements LaneLink {
  /** Commits that changed something. */
  commitCount = 0;
  /** Reasons for which the next commits are refused. */
  readonly refusals: string[] = [];
  /** Why reads are stopped before they have read anything. */
  stopsReads: string | undefined;
  failure = '';
  timestampMicros = calledMicros + 1_000n;
  reducerNames: readonly string[] = [];
  fetch?: (request: OutboundRequest) => FetchOutcome;
  /** What was started, and the numbers of what was cancelled. */
  readonly asked: AskedOperation[] = [];
  readonly cancelled: number[] = [];
  /** The calls for which transactions were begun and reducers were run. */
  readonly callers: number[] = [];
  #lastOperation = 0;
  readonly #module: ModuleUnderTest;
  #data: LaneData | undefined;
  #transaction: Transaction | undefined;
  #stopped: string | undefined;

  constructor(module: ModuleUnderTest) {
    this.#module = module;
  }

  begin(kind: TransactionKind, call: number): bigint {
    this.callers.push(call);
    this.failure = '';
    this.#data = new LaneData(this.#module.store);
    this.timestampMicros += 1n;
    if (kind === 'read') {
      this.#stopped = this.stopsReads;
      this.#data.calls.beginRead();
    } else {
      this.#transaction = this.#module.store.begin();
      this.#data.calls.begin(this.#transaction);
    }
    return this.timestampMicros;
  }

  data(
    op: DataOp,
    a: number,
    b: number,
    c: number,
    d: number,
    e: number,
    scratch: Scratch,
  ): number {
    if (this.#data === undefined) throw new Error('no transaction is open');
    if (this.#stopped !== undefined) return -errorCodes.hostCallFailure;
    return this.#data.serve(op, a, b, c, d, e, scratch);
  }

  end(how: 'commit' | 'abort'): TransactionEnd {
    const transaction = this.#transaction;
    this.#data?.calls.end();
    this.#data = undefined;
    this.#transaction = undefined;
    const refusal = how === 'commit' && transaction ? this.refusals.shift() : this.#stopped;
    this.#stopped = undefined;
    if (how === 'abort' || refusal !== undefined) transaction?.rollback();
    else if (transaction !== undefined)
      this.commitCount += transaction.commit() === undefined ? 0 : 1;
    const code = refusal === undefined ? 0 : -errorCodes.hostCallFailure;
    return { code, failure: refusal ?? '' };
  }

  reducerId(name: string): number {
    const id = this.reducerNames.indexOf(name);
    return id < 0 ? -errorCodes.hostCallFailure : id;
  }

  ask(operation: AsyncOperation, call: number): number {
    this.#lastOperation += 1;
    this.asked.push({ number: this.#lastOperation, call, operation });
    return this.#lastOperation;
  }

  cancel(operation: number): void {
    this.cancelled.push(operation);
  }

  reducer(id: number, args: Uint8Array, call: number): ReducerEnd {
    this.callers.push(call);
    const outcome = this.#module.call(id, { args });
    if (outcome.kind === 'crashed') return { kind: 'failed', message: outcome.message };
    return outcome;
  }
}

/** The procedures of a module in a lane of their own. */
export class LaneUnderTest {
  readonly runner: LaneRunner;
  readonly link: StoreLink;
  readonly logs: ModuleLogLine[];
  lastCall = 0;

  private constructor(runner: LaneRunner, link: StoreLink, logs: ModuleLogLine[]) {
    this.runner = runner;
    this.link = link;
    this.logs = logs;
  }

  static async of(program: Uint8Array, module: ModuleUnderTest): Promise<LaneUnderTest> {
    const link = new StoreLink(module);
    const logs: ModuleLogLine[] = [];
    const context = {
      databaseIdentity: databaseIdentity(0xdbn),
      log: (line: ModuleLogLine) => logs.push(line),
      publishedMicros,
      monotonicMillis: () => performance.now(),
      nowMicros: () => link.timestampMicros,
    };
    const linked = await linkHere(program);
    return new LaneUnderTest(loadLaneProgram(linked, context, openRealm(), link), link, logs);
  }

  run(call: Partial<LaneCall>): LaneEnd {
    const end = this.start(call);
    if (end === 'waiting') throw new Error('it waits');
    return end;
  }

  /** Its number is `lastCall`. */
  start(call: Partial<LaneCall>): LaneEnd | 'waiting' {
    this.lastCall += 1;
    return this.runner.start({ ...anyProcedure, number: this.lastCall, ...call });
  }

  /** Completes the oldest operation, and returns what has ended by that. */
  complete(outcome: AsyncOutcome = { kind: 'slept' }) {
    const asked = this.link.asked.shift();
    if (asked === undefined) throw new Error('nothing is waited for');
    this.runner.completed(asked.number, outcome);
    return this.runner.takeEnded();
  }
}

const anyProcedure: Omit<LaneCall, 'number'> = {
  kind: 'procedure',
  id: 0,
  name: 'procedure_under_test',
  sender: callerIdentity(0x5e4dn),
  connectionId: connectionNumber(0xc0n),
  timestampMicros: calledMicros,
  args: new Uint8Array(0),
  seed: Uint8Array.from({ length: 32 }, (_, index) => index * 7),
  jwtPayload: '',
};
