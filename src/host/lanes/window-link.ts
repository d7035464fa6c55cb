import type { Scratch } from '../../module/host-calls.ts';
import {
  type AsyncOperation,
  type DataOp,
  dataOps,
  type LaneLink,
  type ReducerEnd,
  type TransactionEnd,
  type TransactionKind,
} from '../../module/lane.ts';
import { errorCodes, reducerEnds, transactionKinds } from '../../protocol/module-abi.ts';
import { type Arguments, asks, type LaneWindow, windowBytes } from './window.ts';

/** Tells the database, which may be asleep, that there is a question. */
export type Ring = () => void;

/** Watches the time of the program: what a lane waits for is not the program's. */
export interface Stretches {
  /** The program goes on. */
  began(): void;
  /** It waits. */
  ended(): void;
}

/** The operations of a lane, which do not block its thread. */
export interface Operations {
  ask(operation: AsyncOperation, call: number): number;
  cancel(operation: number): void;
}

/** The way of a lane to its database through their window, which blocks the thread. */
export class WindowLink implements LaneLink {
  readonly #window: LaneWindow;
  readonly #ring: Ring;
  readonly #stretches: Stretches;
  /** Numbers of reducers by canonical and by source name. */
  readonly #reducers: ReadonlyMap<string, number>;
  failure = '';
  readonly fetch?: NonNullable<LaneLink['fetch']>;
  readonly #operations: Operations;

  constructor(
    window: LaneWindow,
    {
      ring,
      stretches,
      reducers,
      fetch,
      operations,
    }: {
      readonly ring: Ring;
      readonly stretches: Stretches;
      readonly reducers: ReadonlyMap<string, number>;
      /** Blocks until the answer is there; absent: the program may send no requests. */
      readonly fetch?: LaneLink['fetch'];
      readonly operations: Operations;
    },
  ) {
    this.#window = window;
    this.#ring = ring;
    this.#stretches = stretches;
    this.#reducers = reducers;
    this.#operations = operations;
    if (fetch !== undefined) {
      this.fetch = (request, call) => this.#whileResting(() => fetch(request, call));
    }
  }

  begin(kind: TransactionKind, call: number): bigint {
    this.#window.call = call;
    const code = this.#waitFor(asks.begin, [transactionKinds[kind], 0, 0, 0, 0], none);
    this.failure = code < 0 ? this.#text() : '';
    return code < 0 ? BigInt(code) : this.#window.time;
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
    const args: Arguments = [a, b, c, d, e];
    const length = sentBytes(op, args, scratch.bytes.length);
    const bytes = scratch.bytes.subarray(0, length);
    const result = this.#ask(op, args, bytes, scratch.bytes.length);
    if (this.#window.answerTotal > 0) this.#takeInto(scratch);
    return result;
  }

  end(how: 'commit' | 'abort'): TransactionEnd {
    const code = this.#waitFor(asks[how], [0, 0, 0, 0, 0], none);
    return { code, failure: code < 0 ? this.#text() : '' };
  }

  reducerId(name: string): number {
    return this.#reducers.get(name) ?? -errorCodes.hostCallFailure;
  }

  reducer(id: number, args: Uint8Array, call: number): ReducerEnd {
    this.#window.call = call;
    const end = this.#waitFor(asks.reducer, [id, 0, 0, 0, 0], args);
    const bytes = this.#taken();
    switch (end) {
      case reducerEnds.returned:
        return { kind: 'returned' };
      case reducerEnds.returnedValue:
        return { kind: 'returned', value: bytes };
      case reducerEnds.refused:
        return { kind: 'refused', message: decode(bytes) };
      case reducerEnds.refusedValue: {
        const textLength = new DataView(bytes.buffer).getUint32(0, true);
        const message = decode(bytes.subarray(4, 4 + textLength));
        return { kind: 'refused', message, value: bytes.slice(4 + textLength) };
      }
      case reducerEnds.failed:
        return { kind: 'failed', message: decode(bytes) };
      default:
        return { kind: 'code', code: end };
    }
  }

  ask(operation: AsyncOperation, call: number): number {
    return this.#operations.ask(operation, call);
  }

  cancel(operation: number): void {
    this.#operations.cancel(operation);
  }

  #waitFor(op: number, args: Arguments, bytes: Uint8Array): number {
    return this.#whileResting(() => this.#ask(op, args, bytes, bytes.length));
  }

  /** For what takes its time: the program does not run meanwhile. */
  #whileResting<Result>(wait: () => Result): Result {
    this.#stretches.ended();
    try {
      return wait();
    } finally {
      this.#stretches.began();
    }
  }

  /** All but the last of the bytes go ahead in parts. `total`: of the buffer that they lie in. */
  #ask(op: number, args: Arguments, bytes: Uint8Array, total: number): number {
    const window = this.#window;
    let at = 0;
    while (bytes.length - at > windowBytes) {
      window.data.set(bytes.subarray(at, at + windowBytes));
      this.#exchange(asks.part, [at, 0, 0, 0, 0], windowBytes, bytes.length);
      at += windowBytes;
    }
    window.data.set(bytes.subarray(at));
    return this.#exchange(op, args, bytes.length - at, total);
  }

  #exchange(op: number, args: Arguments, length: number, total: number): number {
    if (this.#window.ask(op, args, length, total)) this.#ring();
    this.#window.awaitAnswer();
    return this.#window.result;
  }

  #takeInto(scratch: Scratch): void {
    const total = this.#window.answerTotal;
    if (total > scratch.bytes.length) scratch.grow(total);
    this.#copyInto(scratch.bytes, total);
  }

  #taken(): Uint8Array {
    const bytes = new Uint8Array(this.#window.answerTotal);
    this.#copyInto(bytes, bytes.length);
    return bytes;
  }

  #copyInto(target: Uint8Array, total: number): void {
    const window = this.#window;
    for (let at = 0; at < total; ) {
      if (at > 0) this.#exchange(asks.more, [at, 0, 0, 0, 0], 0, 0);
      const length = window.answerLength;
      target.set(window.data.subarray(0, length), at);
      at += length;
    }
  }

  #text(): string {
    return decode(this.#taken());
  }
}

/** How many bytes of the scratch belong to a question: none where its lengths make no sense. */
function sentBytes(op: DataOp, [a, b, c, d, e]: Arguments, scratchLength: number): number {
  const length = (() => {
    switch (op) {
      case dataOps.tableId:
      case dataOps.indexId:
        return a;
      case dataOps.insert:
      case dataOps.deleteEqual:
      case dataOps.find:
      case dataOps.scanPoint:
      case dataOps.deletePoint:
        return b;
      case dataOps.update:
        return c;
      case dataOps.scanRange:
      case dataOps.deleteRange:
        return (b === 0 ? 0 : c) + d + e;
      default:
        return 0;
    }
  })();
  const isLength = Number.isInteger(length) && length >= 0 && length <= scratchLength;
  return isLength ? length : 0;
}

const none = new Uint8Array(0);

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
