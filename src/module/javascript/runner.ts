import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import {
  errorBytesKey,
  errorCodes,
  hookNames,
  moduleHooksKey,
  scratchBytes,
} from '../../protocol/module-abi.ts';
import type { Transaction } from '../../store/transaction.ts';
import { CallLog } from '../call-log.ts';
import { HostCalls, type RangeLengths, type Scratch } from '../host-calls.ts';
import { checkImports } from '../imports.ts';
import {
  type LinkedProgram,
  type ModuleRunner,
  ProgramError,
  type ReducerCall,
  type RunnerContext,
  type RunOutcome,
  type ViewCall,
  type ViewOutcome,
} from '../runner.ts';
import { SpanTimers } from '../span-timers.ts';
import { readViewResult } from '../view-result.ts';
import { bridgeFileName, bridgeSource, programFileName } from './bridge-source.ts';
import { guardNames } from './guard-names.ts';
import type {
  Bridge,
  BridgeOptions,
  GuestApi,
  GuestProgram,
  HostApi,
  RangeCall,
} from './guest-api.ts';
import type { Realm } from './realm.ts';
import { StackReader } from './stack-trace.ts';

/** UTF-16 units of an error's message, and of a stack, that leave a program. */
const textLengthMax = 16_384;
const stackLengthMax = 65_536;
const stackFramesMax = 30;

/** Arguments up to this size share one buffer. */
const argumentBytes = 4_096;

/**
 * Loads a program into `realm`, which is new and belongs to the runner from here on: evaluates it
 * and has it describe itself. Throws `ProgramError` with a text for its publisher.
 */
export function loadJavaScriptProgram(
  program: LinkedProgram,
  context: RunnerContext,
  realm: Realm,
): ModuleRunner {
  checkImports(program.imports);
  return realm.enter(() => new JavaScriptRunner(program, context, realm));
}

class JavaScriptRunner implements ModuleRunner {
  readonly #realm: Realm;
  readonly #context: RunnerContext;
  readonly #calls: HostCalls;
  readonly #log: CallLog;
  readonly #timers: SpanTimers;
  readonly #stacks: StackReader;
  readonly #guest: GuestApi;
  readonly #description: Uint8Array;
  /** Randomness where there must be none: while the program loads, and in views. */
  readonly #fixedSeed: Uint8Array;
  readonly #argumentsBuffer: ArrayBuffer;
  readonly #arguments: Uint8Array;
  #scratch: Uint8Array;
  #seed: Uint8Array;
  #jwtPayload = '';
  /** The error that a bug of ours threw in a host function; the program got a stand-in. */
  #fault: Error | undefined;

  constructor(program: LinkedProgram, context: RunnerContext, realm: Realm) {
    this.#realm = realm;
    this.#context = context;
    this.#log = new CallLog(context.log);
    this.#timers = new SpanTimers(context.monotonicMillis ?? (() => 0));
    this.#stacks = new StackReader(program.sourceMap);
    this.#fixedSeed = program.seed;
    this.#seed = program.seed;
    this.#calls = new HostCalls(context.store, this.#scratchAccess());
    const bridge = realm.evaluate(bridgeSource, bridgeFileName) as Bridge;
    this.#guest = bridge(this.#noteFaults(this.#hostApi()), bridgeOptions(context));
    this.#scratch = new Uint8Array(this.#guest.scratch());
    assert(this.#guest.stacksAreNative, 'reading a stack in the realm must not leave it');
    this.#argumentsBuffer = this.#guest.argumentsBuffer(0);
    this.#arguments = new Uint8Array(this.#argumentsBuffer);
    this.#description = this.#load(program);
  }

  describe(): Uint8Array {
    return this.#description;
  }

  callReducer(call: ReducerCall, transaction: Transaction): RunOutcome {
    return this.#realm.enter(() => this.#run(call, transaction));
  }

  callView(call: ViewCall): ViewOutcome {
    return this.#realm.enter(() => this.#evaluateView(call));
  }

  batch<Result>(run: () => Result): Result {
    return this.#realm.enter(run);
  }

  dispose(): void {
    // The realm is collected when nothing refers to the runner any more.
  }

  #load(program: LinkedProgram): Uint8Array {
    this.#log.begin(undefined);
    try {
      this.#expectLoaded(this.#guest.load(this.#compile(program)));
      this.#guest.settle();
      this.#expectLoaded(this.#guest.describe());
      const described = this.#guest.description();
      if (described.byteLength > limits.programBytesMax) {
        throw new ProgramError(`the description is larger than ${limits.programBytesMax} bytes`);
      }
      return new Uint8Array(described).slice();
    } finally {
      this.#log.end();
      this.#calls.end();
      this.#timers.clear();
    }
  }

  /** Finds text that the linker has passed but the engine rejects, before anything runs. */
  #compile(program: LinkedProgram): GuestProgram {
    const source = this.#guest.programSource(program.script);
    try {
      return this.#realm.evaluate(source, programFileName) as GuestProgram;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : 'the engine rejects it';
      throw new ProgramError(`the program does not compile: ${reason}`, { cause });
    }
  }

  #expectLoaded(status: number): void {
    if (status === 0) return;
    const message = this.#guest.message();
    const frames = this.#stacks.frames(this.#guest.stack());
    const lines = frames.map(
      ({ functionName, moduleName }) => `\n\tat ${functionName ?? '<anonymous>'} (${moduleName})`,
    );
    throw new ProgramError(message + lines.join(''));
  }

  #run(call: ReducerCall, transaction: Transaction): RunOutcome {
    const { reducerId, sender, connectionId, timestampMicros, args } = call;
    assert(!this.#calls.isUnfinished, 'the store is half changed by an earlier call');
    this.#seed = call.seed;
    this.#jwtPayload = call.jwtPayload;
    this.#log.begin(call.reducerName);
    this.#placeArguments(args);
    this.#calls.begin(transaction);
    const guest = this.#guest;
    let outcome: RunOutcome;
    try {
      const length = args.length;
      const status = guest.callReducer(reducerId, sender, connectionId, timestampMicros, length);
      outcome = status === 0 ? returned : this.#otherOutcome(status, call.reducerName);
    } finally {
      this.#calls.end();
      this.#jwtPayload = '';
    }
    this.#finish();
    return outcome;
  }

  #evaluateView({ hookId, viewName, sender }: ViewCall): ViewOutcome {
    assert(!this.#calls.isUnfinished, 'the store is half changed by an earlier call');
    this.#seed = this.#fixedSeed;
    this.#log.begin(viewName);
    this.#calls.beginView();
    const guest = this.#guest;
    let outcome: ViewOutcome;
    try {
      const status =
        sender === undefined ? guest.callAnonymousView(hookId) : guest.callView(hookId, sender);
      outcome =
        status === 0
          ? readViewResult(new Uint8Array(guest.takeViewResult()), this.#calls.endView())
          : this.#failure(status);
    } finally {
      this.#calls.end();
    }
    this.#finish();
    return outcome;
  }

  /** Promise jobs belong to the call, but their access to the database is refused. */
  #finish(): void {
    this.#guest.settle();
    this.#timers.clear();
    this.#log.end();
    if (this.#fault !== undefined) throw this.#fault;
    assert(!this.#calls.isUnfinished, 'a write to the store did not end');
  }

  #placeArguments(args: Uint8Array): void {
    const buffer = this.#guest.argumentsBuffer(args.length);
    const view = buffer === this.#argumentsBuffer ? this.#arguments : new Uint8Array(buffer);
    view.set(args);
  }

  /** The outcome of a call that did more than return nothing. */
  #otherOutcome(status: 1 | 2 | 3 | 4, reducerName: string): RunOutcome {
    if (status === 1 || status === 2) return this.#failure(status);
    const message = this.#guest.message();
    const buffer = this.#guest.takeCallResult();
    if (buffer.byteLength > limits.callResultBytesMax) {
      const size = `${buffer.byteLength} bytes, more than ${limits.callResultBytesMax}`;
      const text = `reducer ${reducerName} returned a value of ${size}: let clients query a table`;
      return { kind: 'crashed', message: text, trace: [] };
    }
    const value = new Uint8Array(buffer).slice();
    return status === 3 ? { kind: 'returned', value } : { kind: 'refused', message, value };
  }

  #failure(status: 1 | 2): Exclude<RunOutcome, { kind: 'returned' }> {
    const message = this.#guest.message();
    if (status === 1) return { kind: 'refused', message };
    const trace = this.#stacks.frames(this.#guest.stack());
    return { kind: 'crashed', message, trace };
  }

  #scratchAccess(): Scratch {
    const bytes = (): Uint8Array => this.#scratch;
    return {
      get bytes() {
        return bytes();
      },
      grow: (minBytes) => {
        this.#guest.growScratch(minBytes);
      },
    };
  }

  /** Plain functions over primitives: what the bridge can call (see `guest-api.ts`). */
  #hostApi(): HostApi {
    const calls = this.#calls;
    return {
      ...dataApi(calls),
      mayLog: () => this.#log.mayWrite(),
      log: (level, message, stack) => this.#write(level, message, stack),
      timerStart: (label) => this.#timers.start(label),
      timerEnd: (id, stack) => this.#endTimer(id, stack),
      identity: () => this.#context.databaseIdentity,
      jwt: () => this.#jwtPayload,
      seed: () => {
        const refusal = calls.refusal();
        if (refusal !== 0) return refusal;
        this.#scratch.set(this.#seed);
        return this.#seed.length;
      },
      seedWord: (index) => {
        const view = new DataView(this.#seed.buffer, this.#seed.byteOffset);
        return view.getUint32(16 + index * 4, true);
      },
      scratchReplaced: (buffer) => {
        this.#scratch = new Uint8Array(buffer);
      },
    };
  }

  /** A full stack or a failed allocation is the program's doing; any other error is a bug. */
  #noteFaults(api: HostApi): HostApi {
    const noted = Object.entries(api).map(([name, run]) => [
      name,
      (a: never, b: never, c: never, d: never, e: never) => {
        try {
          return run(a, b, c, d, e);
        } catch (error) {
          if (error instanceof Error && !(error instanceof RangeError)) this.#fault ??= error;
          throw error;
        }
      },
    ]);
    return Object.fromEntries(noted) as HostApi;
  }

  #write(level: number, message: string, stack: string): void {
    const caller = this.#stacks.caller(stack);
    const position =
      caller === undefined ? undefined : { fileName: caller.source, lineNumber: caller.line };
    this.#log.write(level, message, position);
  }

  #endTimer(id: number, stack: string): number {
    const message = this.#timers.end(id);
    if (message === undefined) return -errorCodes.noSuchTimer;
    if (this.#log.mayWrite()) this.#write(2, message, stack);
    return 0;
  }
}

const returned: RunOutcome = { kind: 'returned' };

function bridgeOptions(context: RunnerContext): BridgeOptions {
  return {
    hooksKey: moduleHooksKey,
    hookNames,
    guardNames,
    errorBytesKey,
    programFileName,
    loadMicros: context.publishedMicros,
    textLengthMax,
    stackLengthMax,
    stackFramesMax,
    slowCountMax: limits.moduleSlowCountMax,
    scratchBytes,
    scratchBytesMax: limits.rowBytesMax + scratchBytes,
    argumentBytes,
  };
}

type DataApi = Pick<
  HostApi,
  | 'tableId'
  | 'indexId'
  | 'rowCount'
  | 'insert'
  | 'update'
  | 'deleteEqual'
  | 'find'
  | 'scan'
  | 'scanPoint'
  | 'scanRange'
  | 'next'
  | 'close'
  | 'deletePoint'
  | 'deleteRange'
  | 'clear'
  | 'violation'
>;

function dataApi(calls: HostCalls): DataApi {
  const withLengths =
    (run: (index: number, range: RangeLengths) => number): RangeCall =>
    (index, prefixColumns, prefixLength, startLength, endLength) =>
      run(index, { prefixColumns, prefixLength, startLength, endLength });
  return {
    tableId: (name) => calls.tableId(name),
    indexId: (name) => calls.indexId(name),
    rowCount: (table) => calls.rowCount(table),
    insert: (table, rowLength) => calls.insert(table, rowLength),
    update: (table, index, rowLength) => calls.update(table, index, rowLength),
    deleteEqual: (table, rowLength) => calls.deleteEqual(table, rowLength),
    find: (index, keyLength) => calls.find(index, keyLength),
    scan: (table) => calls.scan(table),
    scanPoint: (index, keyLength) => calls.scanPoint(index, keyLength),
    scanRange: withLengths((index, range) => calls.scanRange(index, range)),
    next: (iterator) => calls.next(iterator),
    close: (iterator) => calls.close(iterator),
    deletePoint: (index, keyLength) => calls.deletePoint(index, keyLength),
    deleteRange: withLengths((index, range) => calls.deleteRange(index, range)),
    clear: (table) => calls.clear(table),
    violation: () => calls.violation(),
  };
}
