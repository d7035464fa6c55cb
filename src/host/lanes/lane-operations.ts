import type { AsyncOperation, AsyncOutcome } from '../../module/lane.ts';
import type { LaneSender } from './lane-sender.ts';

/** Starts a sleep, and returns what ends it early. */
export type StartSleep = (micros: bigint, over: () => void) => () => void;

/**
 * What the calls of a lane wait for while its event loop is free: HTTP requests and sleeps, each
 * with a number of its own.
 */
export class LaneOperations {
  readonly #sender: LaneSender | undefined;
  readonly #startSleep: StartSleep;
  readonly #completed: Completed;
  readonly #counted: CountRequests | undefined;
  readonly #running = new Map<number, Running>();
  /** Operations by the numbers of their requests. */
  readonly #requests = new Map<number, number>();
  #requestCount = 0;
  #last = 0;

  constructor({
    sender,
    startSleep,
    completed,
    counted,
  }: {
    /** Absent: there are no requests. */
    readonly sender: LaneSender | undefined;
    readonly startSleep: StartSleep;
    readonly completed: Completed;
    readonly counted?: CountRequests | undefined;
  }) {
    this.#sender = sender;
    this.#startSleep = startSleep;
    this.#completed = completed;
    this.#counted = counted;
  }

  ask(asked: AsyncOperation, call: number): number {
    this.#last += 1;
    const operation = this.#last;
    if (asked.kind === 'sleep') {
      const over = (): void => this.#complete(operation, { kind: 'slept' });
      this.#running.set(operation, { call, end: this.#startSleep(asked.micros, over) });
      return operation;
    }
    const sender = this.#sender;
    if (sender === undefined) throw new Error('a request of a program that may send none');
    const id = sender.send(asked.request);
    this.#requests.set(id, operation);
    this.#count(1);
    const end = (): void => {
      this.#requests.delete(id);
      sender.cancel(id);
      this.#count(-1);
    };
    this.#running.set(operation, { call, end });
    return operation;
  }

  cancel(operation: number): void {
    const running = this.#running.get(operation);
    this.#running.delete(operation);
    running?.end();
  }

  /** A request was answered. */
  answered(id: number, outcome: AsyncOutcome): void {
    const operation = this.#requests.get(id);
    this.#requests.delete(id);
    if (operation === undefined) return;
    this.#complete(operation, outcome);
    this.#count(-1);
  }

  #count(change: 1 | -1): void {
    this.#requestCount += change;
    this.#counted?.(this.#requestCount);
  }

  #complete(operation: number, outcome: AsyncOutcome): void {
    const running = this.#running.get(operation);
    if (running === undefined) return;
    this.#running.delete(operation);
    this.#completed(operation, outcome, running.call);
  }
}

/** Takes how many requests have no answer, or one from which something follows that is not done. */
type CountRequests = (count: number) => void;

type Completed = (operation: number, outcome: AsyncOutcome, call: number) => void;

interface Running {
  readonly call: number;
  /** Ends it early. */
  readonly end: () => void;
}

/** Sleeps by the clock of the machine. */
export const machineSleep: StartSleep = (micros, over) => {
  const endAt = performance.now() + Number(micros) / 1_000;
  let timer: NodeJS.Timeout;
  const go = (): void => {
    const left = endAt - performance.now();
    if (left <= 0) over();
    else wait(left);
  };
  const wait = (millis: number): void => {
    timer = setTimeout(go, Math.min(Math.ceil(millis), timerMillisMax));
  };
  wait(Number(micros) / 1_000);
  return () => clearTimeout(timer);
};

/** The platform cannot wait for longer at once. */
const timerMillisMax = 2 ** 31 - 1;
