import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { present } from '../../assert.ts';
import { outdatedText } from '../../database/procedures/running-call.ts';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import { decodeHttpRequest } from '../../protocol/http-abi.ts';
import { redirectModes } from '../../protocol/module-abi.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { AnswerMessage, RequestMessage, RequestWay } from './request-way.ts';

/**
 * Has the HTTP requests of one lane sent, many at once. None outlives its lane, nor the program of
 * its lane. What a lane says is checked: a program may have taken it over.
 */
export class LaneRequests {
  /** The end for the lane; its port is transferred to it. */
  readonly way: RequestWay;
  readonly #outbound: Outbound;
  readonly #database: DatabaseIdentity;
  readonly #port: MessagePort;
  readonly #answers: Int32Array;
  /** The requests that have no answer yet. */
  readonly #running = new Map<number, AbortController>();
  /** Bytes of their bodies. */
  #bodyBytes = 0;
  /** Those that begin in a later turn of the event loop. */
  #queue: (readonly [id: number, request: OutboundRequest])[] = [];
  #begunNow = 0;
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
        this.#take(message);
      } catch (error) {
        this.close();
        broken(`The lane of a procedure has broken: ${(error as Error).message}`);
      }
    });
  }

  /** The program of the lane was replaced: what it waits for is of no use any more. */
  replaced(): void {
    this.#refusal = outdatedText;
    this.#abortAll();
  }

  /** The lane has ended, or is about to. */
  close(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#abortAll();
    this.#port.close();
  }

  /** Throws where it is nothing that a `LaneSender` sends. */
  #take(message: unknown): void {
    const { kind, id } = shapeOf(message);
    if (kind === 'cancel') {
      this.#running.get(id)?.abort();
      return;
    }
    const request = requestOf(message as Partial<RequestMessage>);
    if (this.#running.has(id)) throw new Error('a request while one of its number is under way');
    if (this.#running.size >= limits.outboundRequestsMax) throw new Error('too many requests');
    if (this.#bodyBytes + request.body.length > limits.outboundBodiesBytesMax) {
      throw new Error('too large requests');
    }
    this.#running.set(id, new AbortController());
    this.#bodyBytes += request.body.length;
    this.#queue.push([id, request]);
    if (this.#begunNow === 0) setImmediate(() => this.#goOn());
    this.#begin();
  }

  /** A flood of requests must not keep the gateway from everything else. */
  #begin(): void {
    while (this.#begunNow < beginsMax) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#begunNow += 1;
      void this.#send(...next);
    }
  }

  #goOn(): void {
    this.#begunNow = 0;
    this.#begin();
    if (this.#begunNow > 0) setImmediate(() => this.#goOn());
  }

  #abortAll(): void {
    for (const running of this.#running.values()) running.abort();
  }

  async #send(id: number, request: OutboundRequest): Promise<void> {
    const { length } = request.body;
    const { signal } = present(this.#running.get(id), 'a request that has no answer');
    const outcome =
      this.#refused() ?? (await this.#outbound.fetch(this.#database, request, signal));
    this.#running.delete(id);
    this.#bodyBytes -= length;
    if (this.#isClosed) return;
    this.#answer(id, outcome.kind === 'failed' ? (this.#refused() ?? outcome) : outcome);
  }

  #refused(): FetchOutcome | undefined {
    const message = this.#refusal;
    return message === undefined ? undefined : { kind: 'failed', message };
  }

  /** A lane that waits looks at the count, and then takes the message. */
  #answer(id: number, outcome: FetchOutcome): void {
    const body = outcome.kind === 'response' ? [outcome.body.buffer as ArrayBuffer] : [];
    const message: AnswerMessage = { id, outcome };
    this.#port.postMessage(message, body);
    Atomics.add(this.#answers, 0, 1);
    Atomics.notify(this.#answers, 0);
  }
}

/** Requests of one lane that begin in one turn of the event loop. */
const beginsMax = 4;

function shapeOf(message: unknown): Pick<RequestMessage, 'kind' | 'id'> {
  if (typeof message !== 'object' || message === null) throw new Error('a request that is none');
  const { kind, id } = message as Partial<RequestMessage>;
  const isKind = kind === 'send' || kind === 'cancel';
  if (!isKind || !Number.isSafeInteger(id) || (id as number) < 1) throw wrongShape();
  return { kind, id: id as number };
}

function requestOf(message: Partial<RequestMessage>): OutboundRequest {
  const { head, body, redirect } = message as Partial<Extract<RequestMessage, { kind: 'send' }>>;
  if (!areBytes(head, encodedHeadBytesMax) || !areBytes(body, limits.outboundBodyBytesMax)) {
    throw wrongShape();
  }
  if (redirect === undefined || !Object.hasOwn(redirectModes, redirect)) throw wrongShape();
  return { head: decodeHttpRequest(head), body, redirect };
}

function wrongShape(): Error {
  return new Error('a request of the wrong shape');
}

/** Names and lengths are counted otherwise in it than on the wire, and a character has 3 bytes. */
export const encodedHeadBytesMax = 4 * limits.outboundHeadBytesMax;

function areBytes(bytes: unknown, bytesMax: number): bytes is Uint8Array {
  return bytes instanceof Uint8Array && bytes.length <= bytesMax;
}
