import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { present } from '../../assert.ts';
import { outdatedText } from '../../database/procedures/running-call.ts';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import { decodeHttpRequest } from '../../protocol/http-abi.ts';
import { redirectModes } from '../../protocol/module-abi.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { OpenWay, Sender, WayOptions } from './outbound.ts';
import type { AnswerMessage, RequestMessage } from './request-way.ts';

type SendMessage = Extract<RequestMessage, { readonly kind: 'send' }>;

/** Opens a way to a sender in the caller's thread. */
export function openWay(sender: Sender, database: DatabaseIdentity, options: WayOptions): OpenWay {
  const { port1, port2 } = new MessageChannel();
  const answers = new SharedArrayBuffer(4);
  const requests = new WayRequests(sender, database, { ...options, port: port1, answers });
  return {
    way: { port: port2, renewals: undefined, answers },
    replaced: () => requests.replaced(),
    close: () => requests.close(),
  };
}

export interface WayRequestsOptions extends WayOptions {
  readonly port: MessagePort;
  /** See `RequestWay`. */
  readonly answers: SharedArrayBuffer;
}

/**
 * Has the HTTP requests of one way sent, many at once. None outlives the lanes that use it, nor
 * their program. What a lane says is checked: a program may have taken it over.
 */
export class WayRequests {
  readonly #sender: Sender;
  readonly #database: DatabaseIdentity;
  readonly #options: WayRequestsOptions;
  readonly #answers: Int32Array;
  /** The requests that have no answer yet. */
  readonly #running = new Map<number, AbortController>();
  /** Bytes of their bodies. */
  #bodyBytes = 0;
  /** Those that begin in a later turn of the event loop. */
  #queue: SendMessage[] = [];
  #begunNow = 0;
  /** Answers that are posted at the end of this turn. */
  #ready: AnswerMessage[] = [];
  /** Why the lane gets no more answers than this one. */
  #refusal: string | undefined;
  #isClosed = false;

  constructor(sender: Sender, database: DatabaseIdentity, options: WayRequestsOptions) {
    this.#sender = sender;
    this.#database = database;
    this.#options = options;
    this.#answers = new Int32Array(options.answers);
    options.port.on('message', (message: unknown) => this.#guarded(() => this.#take(message)));
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
    this.#options.port.close();
  }

  #guarded(run: () => void): void {
    if (this.#isClosed) return;
    try {
      run();
    } catch (error) {
      this.close();
      const { message } = error as Error;
      this.#options.broken(`The lane of a procedure has broken: ${message}`);
    }
  }

  /** Throws where it is nothing that a `LaneSender` sends. */
  #take(message: unknown): void {
    const { kind, id } = shapeOf(message);
    if (kind === 'cancel') {
      this.#running.get(id)?.abort();
      return;
    }
    const send = sendOf(message as SendMessage);
    const { lanes } = this.#options;
    if (this.#running.has(id)) throw new Error('a request while one of its number is under way');
    if (this.#running.size >= lanes * limits.outboundRequestsMax)
      throw new Error('too many requests');
    if (this.#bodyBytes + send.body.length > lanes * limits.outboundBodiesBytesMax) {
      throw new Error('too large requests');
    }
    this.#running.set(id, new AbortController());
    this.#bodyBytes += send.body.length;
    this.#queue.push(send);
    if (this.#begunNow === 0) setImmediate(() => this.#goOn());
    this.#begin();
  }

  /** A flood of requests must not keep others from theirs. */
  #begin(): void {
    while (this.#begunNow < beginsMax) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#begunNow += 1;
      void this.#send(next.id, requestOf(next));
    }
  }

  #goOn(): void {
    this.#begunNow = 0;
    this.#guarded(() => this.#begin());
    if (this.#begunNow > 0) setImmediate(() => this.#goOn());
  }

  #abortAll(): void {
    for (const running of this.#running.values()) running.abort();
  }

  async #send(id: number, request: OutboundRequest): Promise<void> {
    const { length } = request.body;
    const { signal } = present(this.#running.get(id), 'a request that has no answer');
    const outcome = this.#refused() ?? (await this.#sender.fetch(this.#database, request, signal));
    this.#running.delete(id);
    this.#bodyBytes -= length;
    if (this.#isClosed) return;
    this.#answer(id, outcome.kind === 'failed' ? (this.#refused() ?? outcome) : outcome);
  }

  #refused(): FetchOutcome | undefined {
    const message = this.#refusal;
    return message === undefined ? undefined : { kind: 'failed', message };
  }

  /** Those of one turn of the event loop go together: each message wakes a thread. */
  #answer(id: number, outcome: FetchOutcome): void {
    this.#ready.push({ id, outcome });
    if (this.#ready.length === 1) setImmediate(() => this.#post());
  }

  /** A lane that waits looks at the count, and then takes the message. */
  #post(): void {
    const ready = this.#ready;
    this.#ready = [];
    if (this.#isClosed) return;
    const bodies = ready.flatMap(({ outcome }) =>
      outcome.kind === 'response' ? [outcome.body.buffer as ArrayBuffer] : [],
    );
    this.#options.port.postMessage(ready, bodies);
    Atomics.add(this.#answers, 0, 1);
    Atomics.notify(this.#answers, 0);
  }
}

/** Requests of one way that begin in one turn of the event loop. */
const beginsMax = 4;

function shapeOf(message: unknown): Pick<RequestMessage, 'kind' | 'id'> {
  if (typeof message !== 'object' || message === null) throw new Error('a request that is none');
  const { kind, id } = message as Partial<RequestMessage>;
  const isKind = kind === 'send' || kind === 'cancel';
  if (!isKind || !Number.isSafeInteger(id) || (id as number) < 1) throw wrongShape();
  return { kind, id: id as number };
}

function sendOf(message: Partial<SendMessage>): SendMessage {
  const { head, body, redirect } = message;
  if (!areBytes(head, encodedHeadBytesMax) || !areBytes(body, limits.outboundBodyBytesMax)) {
    throw wrongShape();
  }
  if (redirect === undefined || !Object.hasOwn(redirectModes, redirect)) throw wrongShape();
  return message as SendMessage;
}

function requestOf({ head, body, redirect }: SendMessage): OutboundRequest {
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
