import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import { encodeHttpRequest } from '../../protocol/http-abi.ts';
import {
  type AnswerMessage,
  type Arrived,
  lostText,
  RequestPort,
  type RequestWay,
} from '../outbound/request-way.ts';
import { sizeFault } from '../outbound/size-fault.ts';

/**
 * The requests of one lane: many at once, each with a number. A request counts until its answer has
 * come, so that no lane ever has more of them on its way than it may.
 */
export class LaneSender {
  readonly #port: RequestPort;
  readonly #counter: Int32Array;
  readonly #answered: (id: number, outcome: FetchOutcome) => void;
  /** Bytes of the bodies of those that have no answer yet. */
  readonly #unanswered = new Map<number, number>();
  readonly #cancelled = new Set<number>();
  #bodyBytes = 0;
  #lastId = 0;
  /** Answers for others that came while the thread waited for one, or that came from here. */
  #late: AnswerMessage[] = [];
  #isHandingSoon = false;

  /** `answered` is called from the event loop, for requests of `send`. */
  constructor(way: RequestWay, answered: (id: number, outcome: FetchOutcome) => void) {
    this.#counter = new Int32Array(way.answers);
    this.#answered = answered;
    this.#port = new RequestPort(way, (arrived) => {
      this.#late.push(...this.#answersOf(arrived));
      this.#hand();
    });
  }

  /** Sends a request; `answered` is called with its number. */
  send(request: OutboundRequest): number {
    const fault = this.#fault(request);
    if (fault === undefined) return this.#post(request);
    this.#lastId += 1;
    this.#late.push({ id: this.#lastId, outcome: failed(fault) });
    this.#handSoon();
    return this.#lastId;
  }

  /** Sends a request, and blocks the thread until it is answered. */
  wait(request: OutboundRequest): FetchOutcome {
    const fault = this.#fault(request);
    if (fault !== undefined) return failed(fault);
    let answered = Atomics.load(this.#counter, 0);
    const id = this.#post(request);
    for (;;) {
      const arrived = this.#port.take();
      if (arrived === undefined) {
        Atomics.wait(this.#counter, 0, answered);
        answered = Atomics.load(this.#counter, 0);
        continue;
      }
      const answers = this.#answersOf(arrived);
      const own = answers.find((answer) => answer.id === id);
      this.#late.push(...answers.filter((answer) => answer !== own));
      this.#handSoon();
      if (own === undefined) continue;
      this.#done(id);
      return own.outcome;
    }
  }

  /** Its answer is not handed over. */
  cancel(id: number): void {
    this.#cancelled.add(id);
    if (this.#unanswered.has(id)) this.#port.post({ kind: 'cancel', id });
  }

  #post({ head, body, redirect = 'follow' }: OutboundRequest): number {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#unanswered.set(id, body.length);
    this.#bodyBytes += body.length;
    const message = { kind: 'send', id, head: encodeHttpRequest(head), body, redirect } as const;
    this.#port.post(message, [body.buffer as ArrayBuffer]);
    return id;
  }

  /** Why it is not even copied. */
  #fault(request: OutboundRequest): string | undefined {
    const fault = sizeFault(request);
    if (fault !== undefined) return fault;
    if (this.#unanswered.size >= limits.outboundRequestsMax) {
      return `${limits.outboundRequestsMax} requests of this database are running`;
    }
    if (this.#bodyBytes + request.body.length <= limits.outboundBodiesBytesMax) return undefined;
    return `bodies of running requests exceed ${limits.outboundBodiesBytesMax / 2 ** 20} MiB`;
  }

  #done(id: number): void {
    const bytes = this.#unanswered.get(id);
    this.#unanswered.delete(id);
    this.#bodyBytes -= bytes ?? 0;
  }

  #answersOf(arrived: Arrived): readonly AnswerMessage[] {
    if (arrived !== 'lost') return arrived;
    const waiting = new Set(this.#late.map(({ id }) => id));
    const lost = [...this.#unanswered.keys()].filter((id) => !waiting.has(id));
    return lost.map((id) => ({ id, outcome: { kind: 'failed', message: lostText } }));
  }

  #handSoon(): void {
    if (this.#isHandingSoon || this.#late.length === 0) return;
    this.#isHandingSoon = true;
    setImmediate(() => this.#hand());
  }

  /** Hands answers over, in the order in which they came. */
  #hand(): void {
    this.#isHandingSoon = false;
    for (let next = this.#late.shift(); next !== undefined; next = this.#late.shift()) {
      const { id, outcome } = next;
      assert(id <= this.#lastId, 'an answer is to a request');
      this.#done(id);
      if (!this.#cancelled.delete(id)) this.#answered(id, outcome);
    }
  }
}

function failed(fault: string): FetchOutcome {
  return { kind: 'failed', message: `error sending request: ${fault}` };
}
