import { limits } from '../limits.ts';
import { decodeHttpRequest, type HttpRequest } from '../protocol/http-abi.ts';
import { errorCodes, redirectModes, reducerEnds } from '../protocol/module-abi.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { CallLog } from './call-log.ts';
import type { RangeLengths, Scratch } from './host-calls.ts';
import {
  type AsyncOperation,
  type AsyncOutcome,
  type CallSecrets,
  type DataOp,
  dataOps,
  type LaneCall,
  type LaneLink,
  type OutboundRequest,
  type RedirectMode,
  type TransactionEnd,
  type TransactionKind,
} from './lane.ts';

/** A call that a lane has begun and that has not ended. */
export interface BegunCall extends Pick<LaneCall, 'number' | 'kind' | 'name'>, CallSecrets {
  readonly log: CallLog;
  /** What it waits for, by number. */
  readonly operations: Set<number>;
}

/**
 * The calls of the module boundary in a lane: those of `HostCalls` in the transaction that is open,
 * served by the database, and those that only procedures have. A negative result is a negated error
 * code. The arguments come from the program: any number can be anything.
 *
 * Many calls of procedures can have begun, of which all but one wait. What is done in the name of a
 * caller names its call, which must not have ended; number 0 is the call whose hook runs and has
 * not returned. So no call ever has the rights of another one just because that runs.
 */
export class LaneCalls {
  readonly #link: LaneLink;
  readonly #scratch: Scratch;
  /** Names and texts cross here: the other scratch may hold a row. */
  readonly #texts = new TextScratch();
  #isLoading = true;
  readonly #begun = new Map<number, BegunCall>();
  readonly #operations = new Map<number, BegunCall>();
  /** The call whose hook runs and has not returned. */
  #running: BegunCall | undefined;
  /** The call for which the program was entered. */
  #entered: BegunCall | undefined;
  /** The transaction that is open. It is synchronous, so the lane has one at most. */
  #open: { readonly call: BegunCall; readonly kind: TransactionKind } | undefined;
  #failure = '';
  #resultBytes = 0;

  constructor(link: LaneLink, scratch: Scratch) {
    this.#link = link;
    this.#scratch = scratch;
  }

  loaded(): void {
    this.#isLoading = false;
  }

  /** Its hook is about to run. */
  begin({ number, kind, name, seed, jwtPayload }: LaneCall, log: CallLog): BegunCall {
    const call = { number, kind, name, seed, jwtPayload, log, operations: new Set<number>() };
    this.#begun.set(number, call);
    this.#running = call;
    this.#entered = call;
    return call;
  }

  /** The hook has returned. */
  returned(): void {
    this.#running = undefined;
  }

  /** The program is entered for a call that waits. */
  enter(call: BegunCall): void {
    this.#entered = call;
  }

  left(): void {
    this.#entered = undefined;
  }

  /** Ends a call, and all that it waits for. */
  end(call: BegunCall): void {
    this.#begun.delete(call.number);
    for (const operation of call.operations) {
      this.#operations.delete(operation);
      this.#link.cancel(operation);
    }
    call.operations.clear();
  }

  callOf(number: number): BegunCall | undefined {
    return this.#begun.get(number);
  }

  get begunCount(): number {
    return this.#begun.size;
  }

  /** An operation was completed; `undefined`: nobody waits for it any more. */
  take(operation: number): BegunCall | undefined {
    const call = this.#operations.get(operation);
    this.#operations.delete(operation);
    call?.operations.delete(operation);
    return call;
  }

  /**
   * Calls that nothing can end any more: no call of the lane waits for anything, so no promise of
   * the program will ever be resolved. As long as one does, it may resolve what others wait for.
   */
  deadlocked(): readonly BegunCall[] {
    return this.#operations.size > 0 ? [] : [...this.#begun.values()];
  }

  /** Aborts the transaction that the program has left open; returns the call that has begun it. */
  abandon(): BegunCall | undefined {
    const call = this.#open?.call;
    if (call !== undefined) this.finish('abort');
    return call;
  }

  /** The seed and the token of a call, or the code that refuses them. */
  secretsOf(number: number): CallSecrets | number {
    this.#failure = '';
    return this.#named(number);
  }

  /** Text of the last failure; empty: the text of its code says it. */
  get failure(): string {
    return this.#failure;
  }

  /** Bytes that `reducer` has left in the scratch, or `fetch` after the head. */
  get resultBytes(): number {
    return this.#resultBytes;
  }

  /** Opens a transaction; returns its timestamp in microseconds. */
  open(kind: TransactionKind, number: number): bigint {
    this.#failure = '';
    const call = this.#outside(number);
    if (typeof call === 'number') return BigInt(call);
    const begun = this.#link.begin(kind, call.number);
    if (begun >= 0n) this.#open = { call, kind };
    else this.#failure = this.#link.failure;
    return begun;
  }

  finish(how: 'commit' | 'abort'): number {
    this.#failure = '';
    if (this.#open === undefined) {
      if (this.#entered === undefined) return this.#refusal();
      return -errorCodes.transactionNotAnonymous;
    }
    this.#open = undefined;
    const { code, failure }: TransactionEnd = this.#link.end(how);
    this.#failure = failure;
    return code;
  }

  reducerId(name: string): number {
    if (this.#entered === undefined) return this.#refusal();
    if (this.#open !== undefined) return -errorCodes.wouldBlockTransaction;
    return this.#link.reducerId(name);
  }

  /** Takes encoded arguments from the scratch; returns one of `reducerEnds`. */
  reducer(id: number, argumentLength: number, number: number): number {
    this.#failure = '';
    this.#resultBytes = 0;
    const call = this.#outside(number);
    if (typeof call === 'number') return call;
    if (!this.#holds(argumentLength)) return -errorCodes.undecodable;
    const args = this.#scratch.bytes.slice(0, argumentLength);
    const end = this.#link.reducer(id, args, call.number);
    switch (end.kind) {
      case 'code':
        return end.code;
      case 'failed':
        this.#failure = end.message;
        return reducerEnds.failed;
      case 'refused':
        this.#failure = end.message;
        return this.#put(end.value) ? reducerEnds.refusedValue : reducerEnds.refused;
      case 'returned':
        return this.#put(end.value) ? reducerEnds.returnedValue : reducerEnds.returned;
    }
  }

  /** Takes head and body from the scratch, and leaves those of the response in it. */
  fetch(headLength: number, bodyLength: number, number: number): number {
    this.#failure = '';
    this.#resultBytes = 0;
    if (this.#link.fetch === undefined) return this.#noResponse(fetchIsOff);
    const call = this.#outside(number);
    if (typeof call === 'number') return call;
    const request = this.#request(headLength, bodyLength);
    if (typeof request === 'number') return request;
    const placed = this.place(this.#link.fetch(request, call.number));
    if (placed.result < 0) this.#failure = placed.text;
    return placed.result;
  }

  /** Takes a request as `fetch` does, and returns the number of an operation. */
  fetchStart(headLength: number, bodyLength: number, mode: number, number: number): number {
    this.#failure = '';
    if (this.#link.fetch === undefined) return this.#noResponse(fetchIsOff);
    const call = this.#outside(number);
    if (typeof call === 'number') return call;
    const request = this.#request(headLength, bodyLength);
    if (typeof request === 'number') return request;
    if (call.operations.size >= limits.callOperationsMax) return this.#noResponse(tooMany);
    const redirect = modes.find((one) => redirectModes[one] === mode) ?? 'follow';
    return this.#ask({ kind: 'fetch', request: { ...request, redirect } }, call);
  }

  /**
   * Returns the number of an operation. Number 0 is the call for which the program was entered,
   * since to wait is no right of a caller.
   */
  sleep(micros: bigint, number: number): number {
    this.#failure = '';
    const call = this.#outside(number === 0 ? (this.#entered?.number ?? 0) : number);
    if (typeof call === 'number') return call;
    if (call.operations.size >= limits.callOperationsMax) {
      this.#failure = tooMany;
      return -errorCodes.hostCallFailure;
    }
    const isFar = micros > sleepMicrosMax;
    const clamped = isFar ? sleepMicrosMax : micros > 0n ? micros : 0n;
    return this.#ask({ kind: 'sleep', micros: clamped }, call);
  }

  cancel(operation: number): number {
    if (this.take(operation) !== undefined) this.#link.cancel(operation);
    return 0;
  }

  /** Leaves an outcome in the scratch, and returns what the program gets to know. */
  place(outcome: AsyncOutcome): PlacedOutcome {
    this.#resultBytes = 0;
    switch (outcome.kind) {
      case 'slept':
        return { result: 0, bodyBytes: 0, text: '', isRedirected: false };
      case 'failed': {
        const result = -errorCodes.httpError;
        return { result, bodyBytes: 0, text: outcome.message, isRedirected: false };
      }
      case 'response': {
        const { head, body, url: text, isRedirected } = outcome;
        this.#leave([head, body]);
        this.#resultBytes = body.length;
        return { result: head.length, bodyBytes: body.length, text, isRedirected };
      }
    }
  }

  tableId(name: string): number {
    return this.#idOf(dataOps.tableId, name);
  }

  indexId(name: string): number {
    return this.#idOf(dataOps.indexId, name);
  }

  rowCount(table: number): number {
    return this.#data(dataOps.rowCount, table);
  }

  insert(table: number, rowLength: number): number {
    return this.#data(dataOps.insert, table, rowLength);
  }

  update(table: number, index: number, rowLength: number): number {
    return this.#data(dataOps.update, table, index, rowLength);
  }

  deleteEqual(table: number, rowLength: number): number {
    return this.#data(dataOps.deleteEqual, table, rowLength);
  }

  find(index: number, keyLength: number): number {
    return this.#data(dataOps.find, index, keyLength);
  }

  scan(table: number): number {
    return this.#data(dataOps.scan, table);
  }

  scanPoint(index: number, keyLength: number): number {
    return this.#data(dataOps.scanPoint, index, keyLength);
  }

  scanRange(index: number, range: RangeLengths): number {
    return this.#ranged(dataOps.scanRange, index, range);
  }

  next(iterator: number): number {
    return this.#data(dataOps.next, iterator);
  }

  close(iterator: number): number {
    return this.#data(dataOps.close, iterator);
  }

  deletePoint(index: number, keyLength: number): number {
    return this.#data(dataOps.deletePoint, index, keyLength);
  }

  deleteRange(index: number, range: RangeLengths): number {
    return this.#ranged(dataOps.deleteRange, index, range);
  }

  clear(table: number): number {
    return this.#data(dataOps.clear, table);
  }

  violation(): string {
    if (this.#dataRefusal() !== 0) return '';
    const length = this.#link.data(dataOps.violation, 0, 0, 0, 0, 0, this.#texts);
    return length > 0 ? this.#texts.text(length) : '';
  }

  /** A call that runs or waits, while no transaction is open; else the code that says why not. */
  #outside(number: number): BegunCall | number {
    const call = this.#named(number);
    const isFree = typeof call === 'number' || this.#open === undefined;
    return isFree ? call : -errorCodes.wouldBlockTransaction;
  }

  #named(number: number): BegunCall | number {
    const call = number === 0 ? this.#running : this.#begun.get(number);
    if (call !== undefined) return call;
    if (number !== 0) this.#failure = endedText;
    return this.#refusal();
  }

  #refusal(): number {
    return this.#isLoading ? -errorCodes.hostCallFailure : -errorCodes.notInTransaction;
  }

  #dataRefusal(): number {
    return this.#open === undefined ? this.#refusal() : 0;
  }

  #ask(operation: AsyncOperation, call: BegunCall): number {
    const number = this.#link.ask(operation, call.number);
    this.#operations.set(number, call);
    call.operations.add(number);
    return number;
  }

  /** A request in the scratch. */
  #request(headLength: number, bodyLength: number): OutboundRequest | number {
    const { bytes } = this.#scratch;
    if (!this.#holds(headLength) || !this.#holds(headLength + bodyLength)) {
      return -errorCodes.undecodable;
    }
    const head = requestHead(bytes.slice(0, headLength));
    if (head === undefined) return -errorCodes.undecodable;
    return { head, body: bytes.slice(headLength, headLength + bodyLength) };
  }

  #data(op: DataOp, a: number, b = 0, c = 0, d = 0, e = 0): number {
    return this.#dataRefusal() || this.#link.data(op, a, b, c, d, e, this.#scratch);
  }

  #ranged(op: DataOp, index: number, range: RangeLengths): number {
    const { prefixColumns, prefixLength, startLength, endLength } = range;
    return this.#data(op, index, prefixColumns, prefixLength, startLength, endLength);
  }

  #idOf(op: DataOp, name: string): number {
    const refusal = this.#dataRefusal();
    if (refusal !== 0) return refusal;
    const length = this.#texts.put(name);
    return this.#link.data(op, length, 0, 0, 0, 0, this.#texts);
  }

  #holds(length: number): boolean {
    return Number.isInteger(length) && length >= 0 && length <= this.#scratch.bytes.length;
  }

  #put(value: Uint8Array | undefined): boolean {
    if (value === undefined) return false;
    this.#leave([value]);
    this.#resultBytes = value.length;
    return true;
  }

  #leave(parts: readonly Uint8Array[]): void {
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    if (bytes > this.#scratch.bytes.length) this.#scratch.grow(bytes);
    let at = 0;
    for (const part of parts) {
      this.#scratch.bytes.set(part, at);
      at += part.length;
    }
  }

  #noResponse(message: string): number {
    this.#failure = message;
    return -errorCodes.httpError;
  }
}

/** What the program gets to know of an operation, with a response in the scratch. */
export interface PlacedOutcome {
  /** Bytes of the head of a response, 0, or a negated error code. */
  readonly result: number;
  readonly bodyBytes: number;
  /** URL of the response, or why there is none. */
  readonly text: string;
  readonly isRedirected: boolean;
}

/** As of a `TimeDuration`. */
const sleepMicrosMax = 2n ** 63n - 1n;

const fetchIsOff = 'module outbound HTTP requests are disabled';

const tooMany =
  `${limits.callOperationsMax} requests and sleeps of this call are waiting; ` +
  'await some of them first';

const endedText = 'the call of this `ctx` has ended: it cannot be used any more';

const modes = Object.keys(redirectModes) as RedirectMode[];

function requestHead(bytes: Uint8Array): HttpRequest | undefined {
  try {
    return decodeHttpRequest(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

/** A small buffer of the host's own. */
class TextScratch implements Scratch {
  bytes = new Uint8Array(256);

  grow(minBytes: number): void {
    const larger = new Uint8Array(Math.max(minBytes, this.bytes.length * 2));
    larger.set(this.bytes);
    this.bytes = larger;
  }

  /** Returns its bytes. */
  put(text: string): number {
    const encoded = new TextEncoder().encode(text);
    if (encoded.length > this.bytes.length) this.grow(encoded.length);
    this.bytes.set(encoded);
    return encoded.length;
  }

  text(length: number): string {
    return new TextDecoder().decode(this.bytes.subarray(0, length));
  }
}
