import type { DataServer, LaneRequest } from '../../database/procedures/lane-desk.ts';
import { limits } from '../../limits.ts';
import type { Scratch } from '../../module/host-calls.ts';
import { type DataOp, dataOps, type ReducerEnd } from '../../module/lane.ts';
import {
  errorCodes,
  reducerEnds,
  scratchBytes,
  transactionKinds,
} from '../../protocol/module-abi.ts';
import { asks, type LaneWindow, windowBytes } from './window.ts';

/** Data calls that leave bytes in the scratch: as many as their result says. */
const answeringOps: ReadonlySet<number> = new Set([
  dataOps.insert,
  dataOps.update,
  dataOps.find,
  dataOps.next,
  dataOps.violation,
]);

const lastDataOp = Math.max(...Object.values(dataOps));

type Question = LaneWindow['question'];

/** What a window says that the protocol does not know. */
const protocolFault = -errorCodes.hostCallFailure;

/**
 * The database's side of a window: turns questions into requests of a turn, and serves the data
 * calls of an open transaction.
 */
export class LaneServer {
  readonly #window: LaneWindow;
  readonly #nowMillis: () => number;
  /** Called when a lane has kept its transaction open for too long, and gets no more answers. */
  readonly #giveUp: () => void;
  readonly #scratch = new CopyScratch();
  /** Bytes of the next question that have come already. */
  #parts: Uint8Array[] = [];
  /** The last answer, as long as not all of it is taken. */
  #rest: Uint8Array = none;
  /** True while the database works on a question. */
  #isTaken = false;
  /** The read that is open. */
  #read: LaneRequest | undefined;

  constructor(window: LaneWindow, nowMillis: () => number, giveUp: () => void) {
    this.#window = window;
    this.#nowMillis = nowMillis;
    this.#giveUp = giveUp;
  }

  /** True when `take` would give something, or answer a question by itself. */
  get isAsked(): boolean {
    return !this.#isTaken && this.#window.isAsked && !this.#window.isGivenUp;
  }

  /** Waits a moment for a question. */
  linger(): void {
    if (this.#isTaken || this.#window.isGivenUp) return;
    this.#window.isServing = true;
    this.#window.awaitQuestion(limits.laneLingerMillis);
    this.#window.isServing = false;
  }

  /** What the lane wants of the database. */
  take(): LaneRequest | undefined {
    while (this.isAsked) {
      // Looked at once for each question: the lane may ask between two looks.
      if (this.#read !== undefined) return this.#read;
      const question = this.#window.question;
      if (this.#isPassed(question)) continue;
      switch (question.op) {
        case asks.begin:
          return this.#transaction(question);
        case asks.reducer:
          return this.#reducer(question);
        default:
          this.#reply(protocolFault, none);
      }
    }
    return undefined;
  }

  /** The lane has ended its call, or is gone. */
  reset(): void {
    this.#isTaken = false;
    this.#read = undefined;
    this.#parts = [];
    this.#rest = none;
    this.#scratch.shrink();
  }

  #transaction({ call, args }: Question): LaneRequest {
    const kind = args[0] === transactionKinds.read ? 'read' : 'write';
    const request: LaneRequest = {
      kind,
      call,
      begun: (timestampMicros, failure = '') => {
        if (timestampMicros < 0n) {
          this.#read = undefined;
          this.#reply(Number(timestampMicros), encode(failure));
        } else this.#answer(0, 0, 0, timestampMicros);
      },
      serve: (data, untilMillis) => this.#serve(kind, data, untilMillis),
      answer: (code, failure) => this.#reply(code, encode(failure)),
    };
    this.#isTaken = true;
    if (kind === 'read') this.#read = request;
    return request;
  }

  #reducer({ call, args, length }: Question): LaneRequest {
    this.#isTaken = true;
    return {
      kind: 'reducer',
      call,
      reducerId: args[0],
      args: this.#takeBytes(length),
      answer: (end) => this.#reply(...answerOf(end)),
    };
  }

  #serve(
    kind: 'write' | 'read',
    data: DataServer,
    untilMillis: number,
  ): 'commit' | 'abort' | 'late' | 'gone' {
    const window = this.#window;
    window.isServing = true;
    try {
      for (;;) {
        const left = untilMillis - this.#nowMillis();
        const seen = window.awaitQuestion(left);
        if (seen === 'asked') {
          const end = this.#serveOne(data);
          if (end === undefined && this.#nowMillis() < untilMillis) continue;
          if (end !== undefined) {
            this.#isTaken = true;
            this.#read = undefined;
            return end;
          }
        }
        if (seen === 'gone') return 'gone';
        if (kind === 'write') {
          window.giveUp();
          this.#giveUp();
        }
        return 'late';
      }
    } finally {
      window.isServing = false;
    }
  }

  #serveOne(data: DataServer): 'commit' | 'abort' | undefined {
    const question = this.#window.question;
    const { op, args, length, total } = question;
    if (this.#isPassed(question)) return undefined;
    if (op === asks.commit) return 'commit';
    if (op === asks.abort) return 'abort';
    if (!Number.isInteger(op) || op < 0 || op > lastDataOp) {
      this.#reply(protocolFault, none);
      return undefined;
    }
    this.#scratch.hold(this.#takeBytes(length), total);
    const [a, b, c, d, e] = args;
    const result = data(op as DataOp, a, b, c, d, e, this.#scratch);
    const answered = answeringOps.has(op) && result > 0 ? result : 0;
    this.#reply(result, this.#scratch.bytes.subarray(0, answered));
    return undefined;
  }

  /** Parts of a question and of an answer, which need nothing of the database. */
  #isPassed({ op, args, length }: Question): boolean {
    if (op === asks.part) {
      const held = this.#parts.reduce((sum, part) => sum + part.length, 0);
      if (held + length <= questionBytesMax) this.#parts.push(this.#window.data.slice(0, length));
      this.#window.answer(0);
      return true;
    }
    if (op !== asks.more) return false;
    const at = args[0];
    const part = this.#rest.subarray(at, at + windowBytes);
    this.#window.data.set(part);
    this.#window.answer(0, part.length, this.#rest.length);
    if (at + windowBytes >= this.#rest.length) this.#rest = none;
    return true;
  }

  /** The bytes of a question, no longer in the window. */
  #takeBytes(length: number): Uint8Array {
    const last = this.#window.data.slice(0, length);
    if (this.#parts.length === 0) return last;
    const parts = [...this.#parts, last];
    this.#parts = [];
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  #answer(result: number, length: number, total: number, time: bigint): void {
    this.#isTaken = false;
    this.#window.answer(result, length, total, time);
  }

  #reply(result: number, bytes: Uint8Array): void {
    const first = bytes.subarray(0, windowBytes);
    this.#window.data.set(first);
    // What does not fit is taken later, when the scratch may hold something else.
    this.#rest = bytes.length > windowBytes ? bytes.slice() : none;
    this.#answer(result, first.length, bytes.length, 0n);
  }
}

const none = new Uint8Array(0);

/** A row, a key and the bounds of a range are far smaller. */
const questionBytesMax = limits.rowBytesMax + scratchBytes;

/** The database's own copy of what a lane has sent, as long as the lane's scratch. */
class CopyScratch implements Scratch {
  #all = new Uint8Array(scratchBytes);
  bytes = this.#all;

  hold(sent: Uint8Array, scratchLength: number): void {
    const length = Math.min(Math.max(scratchLength, sent.length), questionBytesMax);
    if (length > this.#all.length) this.#all = new Uint8Array(length);
    this.bytes = this.#all.subarray(0, length);
    this.bytes.set(sent);
  }

  grow(minBytes: number): void {
    if (minBytes > this.#all.length) {
      const larger = new Uint8Array(minBytes);
      larger.set(this.bytes);
      this.#all = larger;
    }
    this.bytes = this.#all.subarray(0, minBytes);
  }

  /** Keeps no more than the usual size. */
  shrink(): void {
    if (this.#all.length === scratchBytes) return;
    this.#all = new Uint8Array(scratchBytes);
    this.bytes = this.#all;
  }
}

function answerOf(end: ReducerEnd): [number, Uint8Array] {
  switch (end.kind) {
    case 'code':
      return [end.code, none];
    case 'failed':
      return [reducerEnds.failed, encode(end.message)];
    case 'returned':
      if (end.value === undefined) return [reducerEnds.returned, none];
      return [reducerEnds.returnedValue, end.value];
    case 'refused': {
      const text = encode(end.message);
      if (end.value === undefined) return [reducerEnds.refused, text];
      const bytes = new Uint8Array(4 + text.length + end.value.length);
      new DataView(bytes.buffer).setUint32(0, text.length, true);
      bytes.set(text, 4);
      bytes.set(end.value, 4 + text.length);
      return [reducerEnds.refusedValue, bytes];
    }
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
