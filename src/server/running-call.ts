import { AbortController, AbortError, type AbortSignal, followSignal } from './abort-signal.ts';
import type { Bridge } from './bridge.ts';
import { hostError } from './errors.ts';

/** One call of a procedure: the number by which the host knows it, and its signal. */
export class RunningCall {
  readonly number: number;
  #controller: AbortController | undefined;
  /** What it waits for. */
  readonly operations = new Set<number>();

  constructor(number: number) {
    this.number = number;
  }

  get controller(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }
}

/** How an operation of the host has ended. */
export interface Completion {
  /** Bytes of the head of a response in the scratch, which its body follows; else 0. */
  readonly headBytes: number;
  readonly bodyBytes: number;
  readonly url: string;
  readonly isRedirected: boolean;
}

interface Waiting {
  done(completion: Completion): void;
  failed(error: Error): void;
}

/** What the calls of a program wait for. */
export class Operations {
  readonly #bridge: Bridge;
  readonly #waiting = new Map<number, Waiting>();
  /** Calls that have returned a promise which is not settled. */
  readonly #calls = new Map<number, RunningCall>();

  constructor(bridge: Bridge) {
    this.#bridge = bridge;
  }

  /** The call goes on when its hook has returned, until its answer is there. */
  untilSettled<Value>(call: RunningCall, answer: Promise<Value>): Promise<Value> {
    this.#calls.set(call.number, call);
    const over = (): void => this.#over(call);
    answer.then(over, over);
    return answer;
  }

  #over({ number, operations }: RunningCall): void {
    this.#calls.delete(number);
    for (const operation of operations) this.#waiting.delete(operation);
  }

  /**
   * Waits for what `begin` starts, which is a number of an operation or a negated error code. The
   * promise is rejected with the reason when the signal of the call, or `signal`, is aborted.
   * `take` reads from the scratch at once.
   */
  wait<Value>(
    call: RunningCall,
    signal: AbortSignal | undefined,
    begin: () => number,
    take: (completion: Completion) => Value,
  ): Promise<Value> {
    return new GuestPromise((resolve, reject) => {
      const own = call.controller.signal;
      const signals = signal === undefined || signal === own ? [own] : [own, signal];
      for (const one of signals) one.throwIfAborted();
      const operation = begin();
      if (operation < 0) throw this.#bridge.failure(operation);
      const leaves = signals.map((one) =>
        followSignal(one, () => {
          leave();
          this.#bridge.sys.cancel(operation);
          reject(one.reason);
        }),
      );
      const leave = (): void => {
        this.#waiting.delete(operation);
        call.operations.delete(operation);
        for (const unfollow of leaves) unfollow();
      };
      call.operations.add(operation);
      this.#waiting.set(operation, {
        done: (completion) => {
          leave();
          try {
            resolve(take(completion));
          } catch (error) {
            reject(error);
          }
        },
        failed: (error) => {
          leave();
          reject(error);
        },
      });
    });
  }

  /** Calls `done` after so many microseconds, while the call that runs now goes on. */
  timer(micros: bigint, done: () => void): void {
    const operation = this.#bridge.sys.sleep(micros);
    if (operation < 0) throw this.#bridge.failure(operation);
    this.#waiting.set(operation, { done, failed: () => undefined });
  }

  /** The host reports the end of an operation: a hook of the program. */
  completed(
    operation: number,
    result: number,
    bodyBytes: number,
    text: string,
    isRedirected: boolean,
  ): void {
    const waiting = this.#waiting.get(operation);
    this.#waiting.delete(operation);
    if (result < 0) waiting?.failed(hostError(result, () => '', text));
    else waiting?.done({ headBytes: result, bodyBytes, url: text, isRedirected });
  }

  /** The host says that nobody waits for a call, or, without a reason, that it is over. */
  abort(number: number, reason: string): void {
    const call = this.#calls.get(number);
    if (call === undefined) return;
    if (reason === '') this.#over(call);
    else call.controller.abort(new AbortError(`the call was aborted: ${reason}`));
  }
}

/** Whatever the module makes of the name. */
const GuestPromise = Promise;
