import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest, RedirectMode } from '../../module/lane.ts';
import { encodeHttpRequest } from '../../protocol/http-abi.ts';
import { sizeFault } from '../outbound/size-fault.ts';

/** The way of a lane to the one who sends its HTTP requests; the gateway has the other end. */
export interface RequestWay {
  readonly port: MessagePort;
  /** One word of 32 bits: answers on the port, counted by the gateway. */
  readonly answers: SharedArrayBuffer;
}

/** Lane to gateway. Each request is answered once, a cancelled one too. */
export type RequestMessage =
  | {
      readonly kind: 'send';
      /** Above 0, and of no other request that has no answer yet. */
      readonly id: number;
      /** An encoded `HttpRequest`. */
      readonly head: Uint8Array;
      readonly body: Uint8Array;
      readonly redirect: RedirectMode;
    }
  /** Ends a request early. It may have been answered meanwhile. */
  | { readonly kind: 'cancel'; readonly id: number };

/** Gateway to lane. */
export interface AnswerMessage {
  readonly id: number;
  readonly outcome: FetchOutcome;
}

/**
 * The requests of one lane: many at once, each with a number. A request counts until its answer has
 * come, so that no lane ever has more of them on its way than it may.
 */
export class LaneSender {
  readonly #port: MessagePort;
  readonly #counter: Int32Array;
  readonly #answered: (id: number, outcome: FetchOutcome) => void;
  /** Bytes of the bodies of those that have no answer yet. */
  readonly #unanswered = new Map<number, number>();
  readonly #cancelled = new Set<number>();
  #bodyBytes = 0;
  #lastId = 0;
  /** Answers for others that came while the thread waited for one, or that came from here. */
  #late: AnswerMessage[] = [];

  /** `answered` is called from the event loop, for requests of `send`. */
  constructor(way: RequestWay, answered: (id: number, outcome: FetchOutcome) => void) {
    this.#port = way.port;
    this.#counter = new Int32Array(way.answers);
    this.#answered = answered;
    this.#port.on('message', (message: AnswerMessage) => {
      this.#late.push(message);
      this.#hand();
    });
    // The port to the database keeps the thread alive.
    this.#port.unref();
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
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) {
        Atomics.wait(this.#counter, 0, answered);
        answered = Atomics.load(this.#counter, 0);
        continue;
      }
      const message = received.message as AnswerMessage;
      if (message.id === id) {
        this.#done(id);
        return message.outcome;
      }
      this.#late.push(message);
      this.#handSoon();
    }
  }

  /** Its answer is not handed over. */
  cancel(id: number): void {
    this.#cancelled.add(id);
    if (this.#unanswered.has(id)) this.#tell({ kind: 'cancel', id });
  }

  #post({ head, body, redirect = 'follow' }: OutboundRequest): number {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#unanswered.set(id, body.length);
    this.#bodyBytes += body.length;
    const message = { kind: 'send', id, head: encodeHttpRequest(head), body, redirect } as const;
    this.#tell(message, [body.buffer as ArrayBuffer]);
    return id;
  }

  #tell(message: RequestMessage, moved: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, moved);
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

  #handSoon(): void {
    if (this.#late.length === 1) setImmediate(() => this.#hand());
  }

  /** Hands answers over, in the order in which they came. */
  #hand(): void {
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
