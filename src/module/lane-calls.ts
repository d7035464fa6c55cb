import { decodeHttpRequest, encodeHttpResponse, type HttpRequest } from '../protocol/http-abi.ts';
import { errorCodes, reducerEnds } from '../protocol/module-abi.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { RangeLengths, Scratch } from './host-calls.ts';
import {
  type DataOp,
  dataOps,
  type FetchOutcome,
  type LaneLink,
  type TransactionEnd,
  type TransactionKind,
} from './lane.ts';

/**
 * `loading`: the program is being evaluated or described. `idle`: no call runs. `running`: a
 * procedure runs, with a transaction open or not.
 */
type State =
  | { readonly kind: 'loading' | 'idle' }
  | { readonly kind: 'running'; readonly call: number; readonly open: TransactionKind | undefined };

/**
 * The calls of the module boundary in a lane: those of `HostCalls` in the transaction that is open,
 * served by the database, and those that only procedures have. A negative result is a negated error
 * code. The arguments come from the program: any number can be anything.
 */
export class LaneCalls {
  readonly #link: LaneLink;
  readonly #scratch: Scratch;
  /** Names and texts cross here: the other scratch may hold a row. */
  readonly #texts = new TextScratch();
  #state: State = { kind: 'loading' };
  #failure = '';
  #resultBytes = 0;

  constructor(link: LaneLink, scratch: Scratch) {
    this.#link = link;
    this.#scratch = scratch;
  }

  begin(call: number): void {
    this.#state = { kind: 'running', call, open: undefined };
  }

  /** Ends the call, or the loading of the program. */
  end(): void {
    this.#state = { kind: 'idle' };
  }

  /** Aborts the transaction that the call has left open; true if there was one. */
  abandon(): boolean {
    const isOpen = this.#state.kind === 'running' && this.#state.open !== undefined;
    if (isOpen) this.finish('abort');
    return isOpen;
  }

  /** 0 while a procedure runs. */
  refusal(): number {
    switch (this.#state.kind) {
      case 'running':
        return 0;
      case 'loading':
        return -errorCodes.hostCallFailure;
      case 'idle':
        return -errorCodes.notInTransaction;
    }
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
  open(kind: TransactionKind): bigint {
    this.#failure = '';
    const state = this.#outside();
    if (typeof state === 'number') return BigInt(state);
    const begun = this.#link.begin(kind, state.call);
    if (begun >= 0n) this.#state = { ...state, open: kind };
    else this.#failure = this.#link.failure;
    return begun;
  }

  finish(how: 'commit' | 'abort'): number {
    this.#failure = '';
    const state = this.#state;
    if (state.kind !== 'running') return this.refusal();
    if (state.open === undefined) return -errorCodes.transactionNotAnonymous;
    this.#state = { ...state, open: undefined };
    const { code, failure }: TransactionEnd = this.#link.end(how);
    this.#failure = failure;
    return code;
  }

  reducerId(name: string): number {
    const state = this.#outside();
    return typeof state === 'number' ? state : this.#link.reducerId(name);
  }

  /** Takes encoded arguments from the scratch; returns one of `reducerEnds`. */
  reducer(id: number, argumentLength: number): number {
    this.#failure = '';
    this.#resultBytes = 0;
    const state = this.#outside();
    if (typeof state === 'number') return state;
    if (!this.#holds(argumentLength)) return -errorCodes.undecodable;
    const args = this.#scratch.bytes.slice(0, argumentLength);
    const end = this.#link.reducer(id, args, state.call);
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
  fetch(headLength: number, bodyLength: number): number {
    const { bytes } = this.#scratch;
    this.#failure = '';
    this.#resultBytes = 0;
    if (this.#link.fetch === undefined) return this.#noResponse(fetchIsOff);
    const state = this.#outside();
    if (typeof state === 'number') return state;
    if (!this.#holds(headLength) || !this.#holds(headLength + bodyLength)) {
      return -errorCodes.undecodable;
    }
    const head = requestHead(bytes.slice(0, headLength));
    if (head === undefined) return -errorCodes.undecodable;
    const body = bytes.slice(headLength, headLength + bodyLength);
    return this.#response(this.#link.fetch({ head, body }, state.call));
  }

  tableId(name: string): number {
    return this.#named(dataOps.tableId, name);
  }

  indexId(name: string): number {
    return this.#named(dataOps.indexId, name);
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

  /** The running call, outside of a transaction; else the code that says why not. */
  #outside(): Extract<State, { readonly kind: 'running' }> | number {
    const state = this.#state;
    if (state.kind !== 'running') return this.refusal();
    return state.open === undefined ? state : -errorCodes.wouldBlockTransaction;
  }

  #dataRefusal(): number {
    const state = this.#state;
    if (state.kind !== 'running') return this.refusal();
    return state.open === undefined ? -errorCodes.notInTransaction : 0;
  }

  #data(op: DataOp, a: number, b = 0, c = 0, d = 0, e = 0): number {
    return this.#dataRefusal() || this.#link.data(op, a, b, c, d, e, this.#scratch);
  }

  #ranged(op: DataOp, index: number, range: RangeLengths): number {
    const { prefixColumns, prefixLength, startLength, endLength } = range;
    return this.#data(op, index, prefixColumns, prefixLength, startLength, endLength);
  }

  #named(op: DataOp, name: string): number {
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

  #response(outcome: FetchOutcome): number {
    if (outcome.kind === 'failed') return this.#noResponse(outcome.message);
    const head = encodeHttpResponse(outcome.head);
    this.#leave([head, outcome.body]);
    this.#resultBytes = outcome.body.length;
    return head.length;
  }

  #noResponse(message: string): number {
    this.#failure = message;
    return -errorCodes.httpError;
  }
}

const fetchIsOff = 'module outbound HTTP requests are disabled';

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
