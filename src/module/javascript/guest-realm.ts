import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import {
  errorBytesKey,
  errorCodes,
  hookNames,
  moduleHooksKey,
  scratchBytes,
} from '../../protocol/module-abi.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { CallLog } from '../call-log.ts';
import type { Scratch } from '../host-calls.ts';
import { checkImports } from '../imports.ts';
import type { CallSecrets } from '../lane.ts';
import type { TraceFrame } from '../log-line.ts';
import { emptyEnv } from '../module-env.ts';
import { type LinkedProgram, ProgramError, type RunnerContext } from '../runner.ts';
import { SpanTimers } from '../span-timers.ts';
import { bridgeFileName, bridgeSource, programFileName } from './bridge-source.ts';
import type { DataApi } from './data-api.ts';
import { guardNames } from './guard-names.ts';
import type { Bridge, BridgeOptions, GuestApi, GuestProgram, HostApi } from './guest-api.ts';
import type { Realm } from './realm.ts';
import { StackReader } from './stack-trace.ts';

/** UTF-16 units of an error's message, and of a stack, that leave a program. */
const textLengthMax = 16_384;
const stackLengthMax = 65_536;
const stackFramesMax = 30;

/** Arguments up to this size share one buffer. */
const argumentBytes = 4_096;

export type GuestContext = Omit<RunnerContext, 'store'>;

/** What a program can do to the data, and how the host refuses the rest. */
export interface ProgramApi
  extends DataApi,
    Pick<
      HostApi,
      | 'begin'
      | 'end'
      | 'reducerId'
      | 'callReducer'
      | 'fetch'
      | 'fetchStart'
      | 'sleep'
      | 'cancel'
      | 'resultBytes'
      | 'failure'
    > {
  /** What only the call of this number may see; else the negated code that refuses it. */
  secretsOf(call: number): CallSecrets | number;
}

/** The scratch of a realm, which exists before the realm does. */
export class GuestScratch implements Scratch {
  bytes = new Uint8Array(0);
  #grow: GuestApi['growScratch'] | undefined;

  grow(minBytes: number): void {
    this.#grow?.(minBytes);
  }

  /** From here on it is the buffer of this realm. */
  adopt(guest: GuestApi): void {
    this.bytes = new Uint8Array(guest.scratch());
    this.#grow = guest.growScratch;
  }
}

/**
 * A program in a realm of its own, behind the bridge: what runners of all kinds share. Everything
 * is called inside `Realm.enter`.
 */
export class GuestRealm {
  readonly guest: GuestApi;
  #description: Uint8Array | undefined;
  readonly #realm: Realm;
  #context: GuestContext = nowhere;
  readonly #scratch: GuestScratch;
  #log = new CallLog(nowhere.log);
  #timers = new SpanTimers(() => 0);
  #stacks = new StackReader('');
  readonly #argumentsBuffer: ArrayBuffer;
  readonly #arguments: Uint8Array;
  /** Of the call that began last: what the program's own generator starts from. */
  #seed: Uint8Array = new Uint8Array(0);
  /** The error that a bug of ours threw in a host function; the program got a stand-in. */
  #fault: Error | undefined;

  /** Hardens the realm and makes the bridge: all that needs no program yet. */
  constructor(
    realm: Realm,
    { api, scratch }: { readonly api: ProgramApi; readonly scratch: GuestScratch },
  ) {
    this.#realm = realm;
    this.#scratch = scratch;
    const bridge = realm.evaluate(bridgeSource, bridgeFileName) as Bridge;
    this.guest = bridge(this.#noteFaults(this.#hostApi(api)), bridgeOptions);
    scratch.adopt(this.guest);
    assert(this.guest.stacksAreNative, 'reading a stack in the realm must not leave it');
    this.#argumentsBuffer = this.guest.argumentsBuffer(0);
    this.#arguments = new Uint8Array(this.#argumentsBuffer);
  }

  /** Loads the program, the only one. Throws `ProgramError` with a text for its publisher. */
  load(program: LinkedProgram, context: GuestContext): void {
    checkImports(program.imports);
    this.#context = context;
    this.#log = new CallLog(context.log);
    this.#timers = new SpanTimers(context.monotonicMillis ?? (() => 0));
    this.#stacks = new StackReader(program.sourceMap);
    this.#seed = program.seed;
    this.#description = this.#load(program);
  }

  get description(): Uint8Array {
    return present(this.#description, 'its program was loaded');
  }

  /** What the program logs and draws is that of this call, from here on. */
  begin(functionName: string, seed: Uint8Array): void {
    this.#seed = seed;
    this.#log.begin(functionName);
  }

  /** A log for a call that can wait while others run. */
  newLog(functionName: string): CallLog {
    const log = new CallLog(this.#context.log);
    log.begin(functionName);
    return log;
  }

  /** What the program logs goes there, from here on. `seed`: of a call that begins. */
  enter(log: CallLog, seed = this.#seed): void {
    this.#log = log;
    this.#seed = seed;
  }

  placeArguments(args: Uint8Array): void {
    this.#argumentsFor(args.length).set(args);
  }

  /** One after the other. */
  placeParts(parts: readonly Uint8Array[]): void {
    const view = this.#argumentsFor(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      view.set(part, at);
      at += part.length;
    }
  }

  #argumentsFor(length: number): Uint8Array {
    const buffer = this.guest.argumentsBuffer(length);
    return buffer === this.#argumentsBuffer ? this.#arguments : new Uint8Array(buffer);
  }

  /** Promise jobs belong to the call, but what it could do with the data is over. */
  finish(): void {
    this.settle();
    this.clearTimers();
    this.#log.end();
  }

  /** Runs promise jobs until none is left. */
  settle(): void {
    this.guest.settle();
    if (this.#fault !== undefined) throw this.#fault;
  }

  clearTimers(): void {
    this.#timers.clear();
  }

  /** The stack of the last failure, in the author's files. */
  trace(): TraceFrame[] {
    return this.#stacks.frames(this.guest.stack());
  }

  #load(program: LinkedProgram): Uint8Array {
    this.#log.begin(undefined);
    try {
      this.#expectLoaded(this.guest.load(this.#compile(program), this.#context.publishedMicros));
      this.guest.settle();
      this.#expectLoaded(this.guest.describe());
      const described = this.guest.description();
      if (described.byteLength > limits.programBytesMax) {
        throw new ProgramError(`the description is larger than ${limits.programBytesMax} bytes`);
      }
      return new Uint8Array(described).slice();
    } finally {
      this.#log.end();
      this.#timers.clear();
    }
  }

  /** Finds text that the linker has passed but the engine rejects, before anything runs. */
  #compile(program: LinkedProgram): GuestProgram {
    const source = this.guest.programSource(program.script);
    try {
      return this.#realm.evaluate(source, programFileName) as GuestProgram;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : 'the engine rejects it';
      throw new ProgramError(`the program does not compile: ${reason}`, { cause });
    }
  }

  #expectLoaded(status: number): void {
    if (status === 0) return;
    const lines = this.trace().map(
      ({ functionName, moduleName }) => `\n\tat ${functionName ?? '<anonymous>'} (${moduleName})`,
    );
    throw new ProgramError(this.guest.message() + lines.join(''));
  }

  /** Plain functions over primitives: what the bridge can call (see `guest-api.ts`). */
  #hostApi({ secretsOf, ...api }: ProgramApi): HostApi {
    return {
      ...api,
      mayLog: () => this.#log.mayWrite(),
      log: (level, message, stack) => this.#write(level, message, stack),
      timerStart: (label) => this.#timers.start(label),
      timerEnd: (id, stack) => this.#endTimer(id, stack),
      identity: () => this.#context.databaseIdentity,
      envVersion: () => this.#context.env?.().version ?? 0,
      env: () => JSON.stringify(this.#context.env?.() ?? emptyEnv),
      jwt: (call) => {
        const secrets = secretsOf(call);
        return typeof secrets === 'number' ? '' : secrets.jwtPayload;
      },
      seed: (call) => {
        const secrets = secretsOf(call);
        if (typeof secrets === 'number') return secrets;
        this.#scratch.bytes.set(secrets.seed);
        return secrets.seed.length;
      },
      seedWord: (index) => {
        const view = new DataView(this.#seed.buffer, this.#seed.byteOffset);
        return view.getUint32(16 + index * 4, true);
      },
      scratchReplaced: (buffer) => {
        this.#scratch.bytes = new Uint8Array(buffer);
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

const bridgeOptions: BridgeOptions = {
  hooksKey: moduleHooksKey,
  hookNames,
  guardNames,
  errorBytesKey,
  programFileName,
  textLengthMax,
  stackLengthMax,
  stackFramesMax,
  slowCountMax: limits.moduleSlowCountMax,
  scratchBytes,
  scratchBytesMax: limits.rowBytesMax + scratchBytes,
  argumentBytes,
};

/** Before there is a program, which alone can ask for any of it. */
const nowhere: GuestContext = {
  databaseIdentity: databaseIdentity(0n),
  log: () => undefined,
  publishedMicros: 0n,
};
