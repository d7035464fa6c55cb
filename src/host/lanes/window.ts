/**
 * The memory that a lane shares with its database. One of the two waits at any time: the lane asks
 * and waits for the answer; the database, while it serves a transaction, answers and waits for the
 * next question. Words of 32 bits:
 *
 * ```
 * 0   asks, counted by the lane
 * 1   answers, counted by the database
 * 2   what is asked: a `DataOp`, or one of `asks`
 * 3   bytes in the window
 * 4   bytes of the scratch of the lane, or of the whole answer
 * 5   1 while the database waits for questions: it needs no message to look here
 * 6   1 when the thread of the lane is gone
 * 7   1 when the database has given the lane up
 * 8   call for which is asked
 * 9   call for which the lane computes, modulo 2^32; 0: for none
 * ```
 *
 * Then come, as 64-bit floats, the five arguments, and the result or the time of an answer; from
 * byte 128 the window, through which larger data passes in parts. Neither side keeps a view of what
 * it has checked: all is copied out first.
 */
export const windowBytes = 65_536;

const words = {
  ask: 0,
  answer: 1,
  op: 2,
  length: 3,
  total: 4,
  isServing: 5,
  isGone: 6,
  isGivenUp: 7,
  call: 8,
  computing: 9,
} as const;

/** What is asked besides data calls, whose numbers are smaller. */
export const asks = {
  /** Begin a transaction; argument 0 is one of `transactionKinds`. */
  begin: 64,
  commit: 65,
  abort: 66,
  /** Run a reducer; argument 0 is its number, and the window holds its arguments. */
  reducer: 67,
  /** More bytes of the question that follows. */
  part: 68,
  /** More bytes of the last answer, from the offset in argument 0. */
  more: 69,
} as const;

const argumentsAt = 64;
const resultAt = 104;
const dataAt = 128;

/** How often a thread looks before it sleeps: for about 15 microseconds. */
const looksMax = 3_000;

export type Arguments = readonly [number, number, number, number, number];

export class LaneWindow {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #results: Float64Array;
  readonly #times: BigInt64Array;
  readonly data: Uint8Array;

  constructor(buffer = new SharedArrayBuffer(dataAt + windowBytes)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, argumentsAt / 4);
    this.#numbers = new Float64Array(buffer, argumentsAt, 5);
    this.#results = new Float64Array(buffer, resultAt, 1);
    this.#times = new BigInt64Array(buffer, resultAt + 8, 1);
    this.data = new Uint8Array(buffer, dataAt, windowBytes);
  }

  // The lane's side.

  /** Asks; true if the database has to be told by a message. `length`: bytes in the window. */
  ask(op: number, args: Arguments, length: number, total: number): boolean {
    const { op: opAt, length: lengthAt, total: totalAt, ask } = words;
    this.#numbers.set(args);
    Atomics.store(this.#words, opAt, op);
    Atomics.store(this.#words, lengthAt, length);
    Atomics.store(this.#words, totalAt, total);
    Atomics.add(this.#words, ask, 1);
    Atomics.notify(this.#words, ask);
    return Atomics.load(this.#words, words.isServing) === 0;
  }

  /** Waits for the answer to the last question; without end, once the lane is given up. */
  awaitAnswer(): void {
    for (;;) {
      const answered = Atomics.load(this.#words, words.answer);
      const isOver = Atomics.load(this.#words, words.isGivenUp) === 1;
      if (!isOver && answered === Atomics.load(this.#words, words.ask)) return;
      if (this.#seesChange(words.answer, answered)) continue;
      Atomics.wait(this.#words, words.answer, answered);
    }
  }

  get result(): number {
    return this.#results[0] as number;
  }

  get time(): bigint {
    return this.#times[0] as bigint;
  }

  /** Bytes in the window of the last answer, and in all. */
  get answerLength(): number {
    return Atomics.load(this.#words, words.length);
  }

  get answerTotal(): number {
    return Atomics.load(this.#words, words.total);
  }

  set call(number: number) {
    Atomics.store(this.#words, words.call, number);
  }

  /** What the lane computes for; it stays when the lane dies. 0: nothing. */
  set computing(call: number) {
    Atomics.store(this.#words, words.computing, call | 0);
  }

  // The database's side.

  get isComputing(): boolean {
    return Atomics.load(this.#words, words.computing) !== 0;
  }

  isComputingFor(call: number): boolean {
    return Atomics.load(this.#words, words.computing) === (call | 0);
  }

  /** True when a question has no answer yet, and somebody waits for one. */
  get isAsked(): boolean {
    return (
      !this.isGone &&
      Atomics.load(this.#words, words.ask) !== Atomics.load(this.#words, words.answer)
    );
  }

  /** What is asked. Its writer may have written anything. */
  get question() {
    const length = Atomics.load(this.#words, words.length);
    const total = Atomics.load(this.#words, words.total);
    return {
      op: Atomics.load(this.#words, words.op),
      call: Atomics.load(this.#words, words.call),
      args: Array.from(this.#numbers) as unknown as Arguments,
      length: Math.min(Math.max(length, 0), windowBytes),
      total: Math.max(total, 0),
    };
  }

  answer(result: number, length = 0, total = length, time = 0n): void {
    this.#results[0] = result;
    this.#times[0] = time;
    Atomics.store(this.#words, words.length, length);
    Atomics.store(this.#words, words.total, total);
    Atomics.store(this.#words, words.answer, Atomics.load(this.#words, words.ask));
    Atomics.notify(this.#words, words.answer);
  }

  /** While it is true, questions are waited for. */
  set isServing(isServing: boolean) {
    Atomics.store(this.#words, words.isServing, isServing ? 1 : 0);
  }

  /** Waits for a question for so long. */
  awaitQuestion(millis: number): 'asked' | 'late' | 'gone' {
    const until = performance.now() + millis;
    for (;;) {
      // In this order: see `gone`.
      const asked = Atomics.load(this.#words, words.ask);
      if (this.isGone) return 'gone';
      if (asked !== Atomics.load(this.#words, words.answer)) return 'asked';
      const left = until - performance.now();
      if (left <= 0) return 'late';
      if (this.#seesChange(words.ask, asked)) continue;
      Atomics.wait(this.#words, words.ask, asked, left);
    }
  }

  /** Looks for a while: the other side mostly needs less time than a thread to wake up. */
  #seesChange(word: number, seen: number): boolean {
    for (let left = looksMax; left > 0; left -= 1) {
      if (Atomics.load(this.#words, word) !== seen) return true;
    }
    return false;
  }

  /** The lane gets no more answers. */
  giveUp(): void {
    Atomics.store(this.#words, words.isGivenUp, 1);
    Atomics.notify(this.#words, words.answer);
  }

  get isGivenUp(): boolean {
    return Atomics.load(this.#words, words.isGivenUp) === 1;
  }

  /** Tells the database, which may be waiting for it, that the thread has ended. */
  gone(): void {
    Atomics.store(this.#words, words.isGone, 1);
    Atomics.notify(this.#words, words.ask);
  }

  get isGone(): boolean {
    return Atomics.load(this.#words, words.isGone) === 1;
  }
}
