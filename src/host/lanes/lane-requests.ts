import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { outdatedText } from '../../database/procedures/running-call.ts';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import { decodeHttpRequest } from '../../protocol/http-abi.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { RequestMessage, RequestWay } from './request-way.ts';

/**
 * Has the HTTP requests of one lane sent, one at a time. None outlives its lane, nor the program of
 * its lane. What a lane says is checked: a program may have taken it over.
 */
export class LaneRequests {
  /** The end for the lane; its port is transferred to it. */
  readonly way: RequestWay;
  readonly #outbound: Outbound;
  readonly #database: DatabaseIdentity;
  readonly #port: MessagePort;
  readonly #answers: Int32Array;
  /** The request under way. */
  #running: AbortController | undefined;
  /** Why the lane gets no more answers than this one. */
  #refusal: string | undefined;
  #isClosed = false;

  /** `broken`: called when the lane has sent what no lane sends; it is to be ended. */
  constructor(outbound: Outbound, database: DatabaseIdentity, broken: (message: string) => void) {
    const { port1, port2 } = new MessageChannel();
    const answers = new SharedArrayBuffer(4);
    this.way = { port: port2, answers };
    this.#outbound = outbound;
    this.#database = database;
    this.#port = port1;
    this.#answers = new Int32Array(answers);
    port1.on('message', (message: unknown) => {
      if (this.#isClosed) return;
      try {
        if (this.#running !== undefined) throw new Error('a request while one is under way');
        void this.#send(requestOf(message));
      } catch (error) {
        this.close();
        broken(`The lane of a procedure has broken: ${(error as Error).message}`);
      }
    });
  }

  /** The program of the lane was replaced: what it waits for is of no use any more. */
  replaced(): void {
    this.#refusal = outdatedText;
    this.#running?.abort();
  }

  /** The lane has ended, or is about to. */
  close(): void {
    this.#isClosed = true;
    this.#running?.abort();
    this.#port.close();
  }

  async #send(request: OutboundRequest): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    const { signal } = running;
    const outcome =
      this.#refused() ?? (await this.#outbound.fetch(this.#database, request, signal));
    this.#running = undefined;
    if (this.#isClosed) return;
    this.#answer(outcome.kind === 'failed' ? (this.#refused() ?? outcome) : outcome);
  }

  #refused(): FetchOutcome | undefined {
    const message = this.#refusal;
    return message === undefined ? undefined : { kind: 'failed', message };
  }

  /** The lane waits for the count, and then takes the message. */
  #answer(outcome: FetchOutcome): void {
    const body = outcome.kind === 'response' ? [outcome.body.buffer as ArrayBuffer] : [];
    this.#port.postMessage(outcome, body);
    Atomics.add(this.#answers, 0, 1);
    Atomics.notify(this.#answers, 0);
  }
}

/** Throws unless it is what `waitingFetch` sends. */
function requestOf(message: unknown): OutboundRequest {
  if (typeof message !== 'object' || message === null) throw new Error('a request that is none');
  const { head, body } = message as Partial<RequestMessage>;
  if (!areBytes(head, encodedHeadBytesMax) || !areBytes(body, limits.outboundBodyBytesMax)) {
    throw new Error('a request of the wrong shape');
  }
  return { head: decodeHttpRequest(head), body };
}

/** Names and lengths are counted otherwise in it than on the wire, and a character has 3 bytes. */
const encodedHeadBytesMax = 4 * limits.outboundHeadBytesMax;

function areBytes(bytes: unknown, bytesMax: number): bytes is Uint8Array {
  return bytes instanceof Uint8Array && bytes.length <= bytesMax;
}
