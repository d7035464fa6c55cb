import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { FetchOutcome, RedirectMode } from '../../module/lane.ts';

/** The way from lanes to the one who sends their HTTP requests. */
export interface RequestWay {
  readonly port: MessagePort;
  /**
   * When the one who sends has ended, brings the port that takes the place of `port`; absent: it
   * does not end before the lanes do.
   */
  readonly renewals: MessagePort | undefined;
  /** One word of 32 bits: counts messages on the port, and renewals. */
  readonly answers: SharedArrayBuffer;
}

/** From a lane. Each request is answered once, a cancelled one too. */
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

/** To a lane, which gets a list of them. */
export interface AnswerMessage {
  readonly id: number;
  readonly outcome: FetchOutcome;
}

/** On `renewals`. */
export interface RenewalMessage {
  readonly port: MessagePort;
}

/** Why a request has no answer whose sender has ended. */
export const lostText =
  'error sending request: the connection was lost because the service had to restart its ' +
  'sending of requests; the request may have arrived';

/** `lost`: what was posted before, and has not been answered, never will be. */
export type Arrived = readonly AnswerMessage[] | 'lost';

/** The end of a way that sends requests. */
export class RequestPort {
  #port: MessagePort;
  readonly #renewals: MessagePort | undefined;
  readonly #arrived: (arrived: Arrived) => void;
  #renewal: MessagePort | undefined;

  /**
   * `arrived` is called from the event loop, with answers in their order.
   */
  constructor(
    { port, renewals }: Pick<RequestWay, 'port' | 'renewals'>,
    arrived: (arrived: Arrived) => void,
  ) {
    this.#port = port;
    this.#renewals = renewals;
    this.#arrived = arrived;
    this.#listen();
    renewals?.on('message', ({ port: next }: RenewalMessage) => {
      this.#renewal = next;
      this.#handAll();
    });
    renewals?.unref();
  }

  post(message: RequestMessage, moved: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, moved);
  }

  /** The next of what is there by now, for a thread that does not return to its event loop. */
  take(): Arrived | undefined {
    const answers = takeFrom<readonly AnswerMessage[]>(this.#port);
    if (answers !== undefined) return answers;
    this.#renewal ??= this.#renewals && takeFrom<RenewalMessage>(this.#renewals)?.port;
    if (this.#renewal === undefined) return undefined;
    // It may have come between the two looks, and now there are no more.
    const last = takeFrom<readonly AnswerMessage[]>(this.#port);
    if (last !== undefined) {
      setImmediate(() => this.#handAll());
      return last;
    }
    this.#port.close();
    this.#port = this.#renewal;
    this.#renewal = undefined;
    this.#listen();
    return 'lost';
  }

  close(): void {
    this.#port.close();
    this.#renewals?.close();
  }

  #handAll(): void {
    for (let one = this.take(); one !== undefined; one = this.take()) this.#arrived(one);
  }

  #listen(): void {
    this.#port.on('message', this.#arrived);
    // What a lane has besides keeps its thread alive.
    this.#port.unref();
  }
}

function takeFrom<Message>(port: MessagePort): Message | undefined {
  return receiveMessageOnPort(port)?.message as Message | undefined;
}
