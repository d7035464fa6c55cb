import type { EndedCall, LaneDesk, LaneRequest } from '../../src/database/procedures/lane-desk.ts';
import type { LaneCall, ReducerEnd } from '../../src/module/lane.ts';

/** What a body does next, and waits for. */
export type LaneStep =
  /** `run` says how the transaction ends. */
  | { readonly kind: 'write'; readonly run: Serve }
  /** `run` is called again, later, as long as it says `late`. */
  | { readonly kind: 'read'; readonly run: Serve }
  | { readonly kind: 'reducer'; readonly id: number; readonly args: Uint8Array }
  | { readonly kind: 'wait'; readonly until: Promise<unknown> };

type Serve = Extract<LaneRequest, { serve: unknown }>['serve'];

/** How a step ended. */
export type LaneAnswer =
  /** `timestampMicros`: of its transaction; `failure`: why it was refused, or did not commit. */
  | {
      readonly kind: 'transaction';
      readonly code: number;
      readonly failure: string;
      readonly timestampMicros: bigint | undefined;
    }
  | { readonly kind: 'reducer'; readonly end: ReducerEnd }
  | { readonly kind: 'waited' };

/** A procedure, step by step; it returns its encoded value, a handler head and body. */
export type LaneBody = (call: LaneCall) => Generator<LaneStep, Uint8Array | Answered, LaneAnswer>;

/** What a handler returns. */
interface Answered {
  readonly value: Uint8Array;
  readonly body: Uint8Array;
}

interface DeskOptions {
  readonly lanesMax?: number;
  readonly queueMax?: number;
}

/** Lanes that run the bodies of procedures in this thread, where they are asked to. */
export class InlineDesk implements LaneDesk {
  /** What was cancelled, by the number of the call. */
  readonly cancelled: number[] = [];
  /** How many programs were replaced. */
  replacedCount = 0;
  isStopped = false;
  /** Called before a lane is told that a transaction ended. */
  beforeAnswer: () => void = () => undefined;
  readonly #bodies: Readonly<Record<string, LaneBody>>;
  readonly #options: Required<DeskOptions>;
  readonly #running = new Map<number, ReturnType<LaneBody>>();
  #queued: LaneCall[] = [];
  #ended: EndedCall[] = [];
  #wanted: LaneRequest[] = [];
  #wake: () => void = () => undefined;
  #idle: () => void = () => undefined;

  constructor(bodies: Readonly<Record<string, LaneBody>>, options: DeskOptions = {}) {
    this.#bodies = bodies;
    this.#options = { lanesMax: 4, queueMax: 4_096, ...options };
  }

  get hasWork(): boolean {
    return this.#ended.length > 0 || this.#wanted.length > 0;
  }

  get running(): readonly number[] {
    return [...this.#running.keys()];
  }

  get queuedCount(): number {
    return this.#queued.length;
  }

  start(call: LaneCall): 'started' | 'queued' | 'busy' {
    if (this.#running.size >= this.#options.lanesMax) {
      if (this.#queued.length >= this.#options.queueMax) return 'busy';
      this.#queued.push(call);
      return 'queued';
    }
    this.#begin(call);
    return 'started';
  }

  cancel(number: number): void {
    this.cancelled.push(number);
    if (!this.#queued.some((call) => call.number === number)) return;
    this.#queued = this.#queued.filter((call) => call.number !== number);
    this.#lose(number, 'the caller is gone');
  }

  takeEnded(): readonly EndedCall[] {
    return this.#ended.splice(0);
  }

  takeWanted(): LaneRequest | undefined {
    return this.#wanted.shift();
  }

  linger(): void {
    // Bodies run where they are asked to, so nothing comes by itself.
  }

  onWork(wake: () => void): void {
    this.#wake = wake;
  }

  replaced(): void {
    this.replacedCount += 1;
  }

  async stop(millis: number): Promise<void> {
    this.isStopped = true;
    for (const call of this.#queued.splice(0)) this.#lose(call.number, 'the database stops');
    if (this.#running.size > 0 && millis > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, millis);
        this.#idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.endLane('the database stops');
  }

  /** Ends the lane of these calls, or of all. */
  endLane(text: string, numbers: readonly number[] = this.running): void {
    this.#wanted = this.#wanted.filter(({ call }) => !numbers.includes(call));
    for (const number of numbers) {
      if (this.#running.delete(number)) this.#lose(number, text);
    }
    this.#beginNext();
  }

  #lose(call: number, text: string): void {
    this.#ended.push({ call, end: { kind: 'lost', code: 'procedure.stopped', text } });
    this.#wake();
  }

  #begin(call: LaneCall): void {
    const body = this.#bodies[call.name];
    if (body === undefined) throw new Error(`no body for the procedure ${call.name}`);
    try {
      this.#running.set(call.number, body(call));
    } catch (error) {
      this.#end(call.number, failed(error));
    }
    this.#go(call.number);
  }

  #beginNext(): void {
    while (this.#running.size < this.#options.lanesMax) {
      const next = this.#queued.shift();
      if (next === undefined) break;
      this.#begin(next);
    }
    if (this.#running.size === 0) this.#idle();
  }

  /** Runs a body up to what it does next. */
  #go(number: number, answer?: LaneAnswer): void {
    const body = this.#running.get(number);
    if (body === undefined) return;
    try {
      const step = answer === undefined ? body.next() : body.next(answer);
      if (step.done === true) this.#end(number, { kind: 'returned', ...returnedBy(step.value) });
      else this.#want(number, step.value);
    } catch (error) {
      this.#end(number, failed(error));
    }
    if (this.hasWork) this.#wake();
  }

  #end(call: number, end: EndedCall['end']): void {
    this.#running.delete(call);
    this.#ended.push({ call, end });
    this.#beginNext();
  }

  #want(call: number, step: LaneStep): void {
    switch (step.kind) {
      case 'wait':
        void step.until.then(() => this.#go(call, { kind: 'waited' }));
        return;
      case 'reducer': {
        const answer = (end: ReducerEnd): void => this.#go(call, { kind: 'reducer', end });
        const { id: reducerId, args } = step;
        this.#wanted.push({ kind: 'reducer', call, reducerId, args, answer });
        return;
      }
      case 'write':
      case 'read':
        this.#wanted.push(this.#transaction(call, step));
    }
  }

  #transaction(
    call: number,
    { kind, run }: Extract<LaneStep, { kind: 'write' | 'read' }>,
  ): LaneRequest {
    let timestampMicros: bigint | undefined;
    const tell = (code: number, failure: string): void => {
      this.beforeAnswer();
      this.#go(call, { kind: 'transaction', code, failure, timestampMicros });
    };
    const request: LaneRequest = {
      kind,
      call,
      begun: (micros, failure = '') => {
        if (micros < 0n) tell(Number(micros), failure);
        else timestampMicros = micros;
      },
      serve: (data, untilMillis) => {
        const end = run(data, untilMillis);
        if (end === 'late' && kind === 'read') this.#offerAgain(request);
        if (end === 'gone' || (end === 'late' && kind === 'write')) {
          queueMicrotask(() => this.endLane('the lane ended', [call]));
        }
        return end;
      },
      answer: tell,
    };
    return request;
  }

  /** In a later turn: the lane asks for more after a moment. */
  #offerAgain(request: LaneRequest): void {
    setImmediate(() => {
      if (!this.#running.has(request.call)) return;
      this.#wanted.push(request);
      this.#wake();
    });
  }
}

function failed(error: unknown): EndedCall['end'] {
  return { kind: 'failed', message: (error as Error).message, trace: [] };
}

/** The answer to a transaction or a read. */
export function transactionIn(answer: LaneAnswer) {
  if (answer.kind !== 'transaction') throw new Error(`answered by ${answer.kind}`);
  return answer;
}

function returnedBy(value: Uint8Array | Answered): { value: Uint8Array; body?: Uint8Array } {
  return value instanceof Uint8Array ? { value } : value;
}
