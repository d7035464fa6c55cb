import type { Brand } from '../../brand.ts';
import type { hookNames } from '../../protocol/module-abi.ts';
import type { guardNames } from './guard-names.ts';

/**
 * The two sides of the bridge, as the engine sees them. Only primitives cross, and buffers of the
 * guest realm in `GuestApi`; `guest/bridge/bridge.js` says what keeps it so.
 */

/** Functions that the bridge can call: called plain, they return a primitive, and may throw. */
export interface HostApi {
  tableId(name: string): number;
  indexId(name: string): number;
  rowCount(table: number): number;
  insert(table: number, rowLength: number): number;
  update(table: number, index: number, rowLength: number): number;
  deleteEqual(table: number, rowLength: number): number;
  find(index: number, keyLength: number): number;
  scan(table: number): number;
  scanPoint(index: number, keyLength: number): number;
  scanRange: RangeCall;
  next(iterator: number): number;
  close(iterator: number): number;
  deletePoint(index: number, keyLength: number): number;
  deleteRange: RangeCall;
  clear(table: number): number;
  /** False when further lines of this call are dropped, which saves capturing a stack for them. */
  mayLog(): boolean;
  log(level: number, message: string, stack: string): void;
  timerStart(label: string): number;
  timerEnd(id: number, stack: string): number;
  identity(): bigint;
  // A `call` is the number of a call that this is for; 0: the one that runs and has not returned.
  jwt(call: number): string;
  seed(call: number): number;
  envVersion(): number;
  /** The configuration that the program may read, as JSON text. */
  env(): string;
  violation(): string;
  /** Opens a transaction; its timestamp in microseconds, or a negated error code. */
  begin(kind: number, call: number): bigint;
  end(how: number): number;
  reducerId(name: string): number;
  /** Takes encoded arguments; returns one of `reducerEnds`, or a negated error code. */
  callReducer(id: number, argumentLength: number, call: number): number;
  /**
   * Takes the head of a request, then its body; returns the bytes of the head of the response,
   * which its body follows.
   */
  fetch(headLength: number, bodyLength: number, call: number): number;
  /**
   * Takes a request like `fetch`, and one of `redirectModes`; returns the number of an operation,
   * which `GuestApi.completed` reports, or a negated error code.
   */
  fetchStart(headLength: number, bodyLength: number, redirect: number, call: number): number;
  /** Returns the number of an operation. Call 0 is here the one that the guest was entered for. */
  sleep(micros: bigint, call: number): number;
  /** The operation is not reported any more. */
  cancel(operation: number): number;
  /** Bytes of what the last `callReducer` or `fetch` has left in the scratch besides a head. */
  resultBytes(): number;
  /** Text of the last failure of these functions; empty: the text of its code says it. */
  failure(): string;
  /** 32 bits of the seed of the program's random generator; `index` is 0 to 3. */
  seedWord(index: number): number;
  /** The scratch buffer is now `buffer`, of the guest realm; contents were copied. */
  scratchReplaced(buffer: ArrayBuffer): void;
}

/** Index, prefix columns, prefix bytes, start bytes, end bytes. */
export type RangeCall = (
  index: number,
  prefixColumns: number,
  prefixLength: number,
  startLength: number,
  endLength: number,
) => number;

export interface BridgeOptions {
  readonly hooksKey: string;
  readonly hookNames: typeof hookNames;
  /** Names that the linker has put into the program, by the guard that each is bound to. */
  readonly guardNames: typeof guardNames;
  readonly errorBytesKey: string;
  readonly programFileName: string;
  /** UTF-16 units of a message and of a stack; the rest is cut. */
  readonly textLengthMax: number;
  readonly stackLengthMax: number;
  readonly stackFramesMax: number;
  readonly scratchBytes: number;
  readonly scratchBytesMax: number;
  /** Characters of a text that becomes code while the program runs. */
  readonly slowCountMax: number;
  /** Size of the arguments buffer that calls share. */
  readonly argumentBytes: number;
}

/**
 * The functions that the engine calls, inside `Realm.enter`. They never throw for a reason that the
 * program can cause, other than a full stack below the engine.
 */
export interface GuestApi {
  scratch(): ArrayBuffer;
  /** At least `minBytes` large afterwards; also announced by `scratchReplaced`. */
  growScratch(minBytes: number): ArrayBuffer;
  /** The buffer for the arguments of the next call, from its first byte. */
  argumentsBuffer(length: number): ArrayBuffer;
  /** Text to evaluate in the realm; `load` takes its value. Runs nothing of the program. */
  programSource(script: string): string;
  /** Runs the program and obtains its hooks. */
  /** `micros`: the time that it sees while it loads. */
  load(program: GuestProgram, micros: bigint): GuestStatus;
  /** Asks the program for its description, which is then in `description`. */
  describe(): GuestStatus;
  description(): ArrayBuffer;
  callReducer(
    id: number,
    sender: bigint,
    connectionId: bigint,
    timestampMicros: bigint,
    argumentLength: number,
  ): CallStatus;
  /**
   * Runs a procedure; with status 0, `takeCallResult` then gives its encoded value. Status 5: it
   * waits, and ends by something that is completed; `nextEnded` then has its number.
   */
  callProcedure(
    id: number,
    sender: bigint,
    connectionId: bigint,
    timestampMicros: bigint,
    argumentLength: number,
    call: number,
  ): AsyncStatus;
  /**
   * Answers a request, which lies in the buffer for arguments: its head, its body, the parameters
   * of its path. With status 0, `takeCallResult` then gives the head of the response.
   */
  callHandler(
    id: number,
    sender: bigint,
    timestampMicros: bigint,
    headLength: number,
    bodyLength: number,
    paramsLength: number,
    call: number,
  ): AsyncStatus;
  /**
   * An operation has ended. `result`: 0; or the bytes of the head of a response in the scratch,
   * which its body of `bodyBytes` follows, and `text` is its URL; or a negated error code, and
   * `text` says why.
   */
  completed(
    operation: number,
    result: number,
    bodyBytes: number,
    text: string,
    isRedirected: boolean,
  ): void;
  /** Aborts the signal of a call, for a reason; an empty one: the call is over. */
  abort(call: number, reason: string): void;
  /** The time that the program sees, in microseconds since the Unix epoch. */
  setClock(micros: bigint): void;
  /**
   * The next call that ended while others ran, with its status: then `message`, `stack` and
   * `takeCallResult` are of it. 0: there is none.
   */
  nextEnded(): number;
  endedStatus(): GuestStatus;
  /** The value of a call that ended with status 3 or 4, once. */
  takeCallResult(): ArrayBuffer;
  /** The body of a handler's response, once; `undefined`: the call was another. */
  takeCallBody(): ArrayBuffer | undefined;
  /** Evaluates a view of one caller; `takeViewResult` then gives what it returned, once. */
  callView(id: number, sender: bigint): GuestStatus;
  callAnonymousView(id: number): GuestStatus;
  takeViewResult(): ArrayBuffer;
  /**
   * Has the program do a part of a migration, a kind of `migrationKinds`; with status 0,
   * `takeCallResult` then gives its answer. Rows lie in the buffer for arguments.
   */
  callMigration(
    kind: number,
    step: number,
    count: number,
    timestampMicros: bigint,
    rowsLength: number,
    route: string,
  ): GuestStatus;
  /** After a failure: the position of a row, a line break, and what was being done. */
  migrationPlace(): string;
  /** Runs promise jobs until none is left and logs unhandled rejections. */
  settle(): void;
  /** Text of the last failure. */
  message(): string;
  /** Stack text of the last failure, as the engine formats it; empty if there was none. */
  stack(): string;
  /** False when reading a stack in the realm entered code outside of it (see `Realm.enter`). */
  readonly stacksAreNative: boolean;
}

/** A function of the guest realm, usable by the bridge alone. */
export type GuestProgram = Brand<object, 'GuestProgram'>;

/** 0: fine. 1: the program threw its own `SenderError`. 2: it threw anything else. */
export type GuestStatus = 0 | 1 | 2;

/** 5: it has returned a promise of its value. */
export type AsyncStatus = GuestStatus | 5;

/** 3: it returned an encoded value. 4: its own `SenderError` came with one. */
export type CallStatus = GuestStatus | 3 | 4;

export type Bridge = (host: HostApi, options: BridgeOptions) => GuestApi;
