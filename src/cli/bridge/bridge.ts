import { unreachable } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { sessionHeader } from '../../mcp-protocol/client-capabilities.ts';
import { errorText, noId, notificationText } from '../../mcp-protocol/json-rpc.ts';
import { RawJson } from '../../mcp-protocol/json-text.ts';
import { versionHeader } from '../../mcp-protocol/request-headers.ts';
import { RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';
import { asErrand, type Cancel, type Errand, readClientMessage } from './client-message.ts';
import { type InputLine, readLines } from './input-lines.ts';
import {
  messagesOf,
  readServiceMessage,
  type ServiceAnswer,
  type ServiceMessage,
} from './service-message.ts';
import { Slots } from './slots.ts';

export interface BridgeOptions {
  readonly input: AsyncIterable<Uint8Array>;
  /** Writes one line to the client; settles when there is room for the next one. */
  readonly write: (line: string) => Promise<void>;
  /** Sends one message to the service. */
  readonly send: (parcel: Parcel) => Promise<ServiceAnswer>;
}

export interface Parcel {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal;
}

/** One message on its way to the service and back. */
interface Trip {
  readonly errand: Errand;
  readonly controller: AbortController;
  /** Requests in it without an answer so far. */
  openCount: number;
}

/**
 * Carries MCP messages between a client's standard input and output and a service: one JSON-RPC
 * message per line on this side, one HTTP request for each on the other.
 *
 * Requests run concurrently, at most `limits.bridgeRequestsMax`, and are answered as they finish.
 * Streams that stay open do not count; they are at most `limits.bridgeStreamsMax`. A message that
 * fails is answered with a JSON-RPC error and the bridge goes on: it reaches a restarted service
 * with the next message. While a client does not read, only the requests under way are read for it.
 */
export class Bridge {
  readonly #options: BridgeOptions;
  readonly #slots = new Slots(limits.bridgeRequestsMax);
  readonly #trips = new Set<Trip>();
  /** Length of all messages in `#trips`. */
  #tripCharacters = 0;
  /** Called when a trip has ended. */
  #tripEnded: (() => void) | undefined;
  /** Result of the client's `initialize`, for the headers of later legacy messages. */
  #settled: Readonly<Record<string, string>> = {};

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /**
   * Resolves after the end of input, when all requests are answered. Those that have waited
   * `limits.bridgeEndMillisMax` without a sign of the service are answered with an error.
   */
  async run(): Promise<void> {
    for await (const line of readLines(this.#options.input, limits.bridgeLineBytesMax)) {
      await this.#take(line);
    }
    this.#giveUp(isStream);
    const late = new LateError();
    while (this.#trips.size > 0) {
      const timer = setTimeout(() => this.#giveUp(() => true, late), limits.bridgeEndMillisMax);
      await this.#untilOneEnds();
      clearTimeout(timer);
    }
  }

  async #take(line: InputLine): Promise<void> {
    const message = readClientMessage(line);
    switch (message.kind) {
      case 'bad':
        return this.#options.write(errorText(noId, message.error));
      case 'answer':
        // A client outside a session has not been asked anything.
        if (sessionHeader in this.#settled) void this.#travel(asErrand(message));
        return;
      case 'cancel':
        return this.#cancel(message);
      case 'errand':
        while (!this.#hasRoom()) await this.#untilOneEnds();
        void this.#travel(message);
        return;
      default:
        unreachable(message);
    }
  }

  #hasRoom(): boolean {
    const { bridgeMessagesMax, bridgeBytesMax } = limits;
    return this.#trips.size < bridgeMessagesMax && this.#tripCharacters <= bridgeBytesMax;
  }

  /**
   * A cancelled request is not answered. Closing its connection notifies the service; a legacy
   * service must be sent a message, and at once: the request may hold the last slot.
   */
  #cancel(cancel: Cancel): void {
    const isMeant = ({ ids }: Errand) => cancel.id !== undefined && ids.includes(cancel.id);
    const isForLegacy = [...this.#trips].some(
      ({ errand }) => isMeant(errand) && errand.headers === undefined,
    );
    this.#giveUp(isMeant);
    if (isForLegacy) void this.#travel(asErrand(cancel));
  }

  #giveUp(isMeant: (errand: Errand) => boolean, why?: LateError): void {
    for (const { errand, controller } of this.#trips) if (isMeant(errand)) controller.abort(why);
  }

  /** Waits until a trip ends. Only `run` waits. */
  #untilOneEnds(): Promise<void> {
    return new Promise((resolve) => {
      this.#tripEnded = resolve;
    });
  }

  /** Never rejects: errors are sent to the client. */
  async #travel(errand: Errand): Promise<void> {
    const trip: Trip = { errand, controller: new AbortController(), openCount: errand.ids.length };
    this.#trips.add(trip);
    this.#tripCharacters += errand.text.length;
    const takesSlot = errand.ids.length > 0 && !isStream(errand);
    if (takesSlot) await this.#slots.take();
    try {
      await this.#carry(trip);
    } catch (error) {
      const { aborted, reason } = trip.controller.signal;
      // A client that cancelled a request expects no answer.
      if (!aborted) await this.#refuse(trip, error);
      else if (reason instanceof LateError) await this.#refuse(trip, reason);
    } finally {
      if (takesSlot) this.#slots.give();
      this.#trips.delete(trip);
      this.#tripCharacters -= errand.text.length;
      this.#tripEnded?.();
    }
  }

  async #carry(trip: Trip): Promise<void> {
    const { errand, controller } = trip;
    controller.signal.throwIfAborted();
    if (isStream(errand) && this.#streamCount() > limits.bridgeStreamsMax) {
      throw new Error(`more than ${limits.bridgeStreamsMax} streams are open: cancel one of them`);
    }
    const isHello = errand.method === 'initialize';
    if (isHello) this.#settled = {};
    const headers = errand.headers ?? this.#settled;
    const { signal } = controller;
    const answer = await this.#options.send({ body: errand.text, headers, signal });
    if (isHello) this.#settle(sessionHeader, answer.headers[sessionHeader]);
    for await (const text of messagesOf(answer, limits.bridgeAnswerBytesMax)) {
      if (errand.ids.length > 0 && !signal.aborted) await this.#pass(text, trip);
    }
    if (trip.openCount > 0) throw new Error('the service ended the connection without an answer');
  }

  #streamCount(): number {
    return [...this.#trips].filter(({ errand }) => isStream(errand)).length;
  }

  #settle(header: string, value: unknown): void {
    if (typeof value === 'string') this.#settled = { ...this.#settled, [header]: value };
  }

  /** Forwards a message of the service to the client. */
  async #pass(text: string, trip: Trip): Promise<void> {
    const message = readServiceMessage(text);
    if (message === undefined) throw new Error(text.slice(0, limits.bridgeErrorCharactersMax));
    const answers = message.messages.filter(({ method }) => method === undefined);
    trip.openCount -= answers.length;
    if (trip.errand.method === 'initialize') {
      this.#settle(versionHeader, answers[0]?.result?.protocolVersion);
    }
    await this.#options.write(addressed(message, trip.errand));
    const isEnded = answers.some(({ result }) => result !== undefined);
    if (isEnded && isStream(trip.errand)) await this.#tellEnd(trip.errand);
  }

  /** Ends a stream in the only one of the protocol's two ways that some clients heed. */
  async #tellEnd({ ids }: Errand): Promise<void> {
    for (const id of ids) {
      const params = { requestId: new RawJson(id) };
      await this.#options.write(notificationText('notifications/cancelled', params));
    }
  }

  /** Answers each request that is still open with an error. */
  async #refuse({ errand, openCount }: Trip, error: unknown): Promise<void> {
    if (openCount === 0) return;
    const words = error instanceof Error ? error.message : String(error);
    const answer = new RpcError(rpcCode.internal, words);
    for (const id of errand.ids) await this.#options.write(errorText(id, answer));
  }
}

function isStream({ method }: Errand): boolean {
  return method === 'subscriptions/listen';
}

/** Adds the request id to an error without one, which would leave the client waiting. */
function addressed({ line, messages }: ServiceMessage, { ids }: Errand): string {
  const [id, ...others] = ids;
  const [message] = messages;
  const hasError = message?.error !== undefined && (message.id ?? null) === null;
  if (!hasError || id === undefined || others.length > 0 || messages.length > 1) return line;
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(message?.error)}}`;
}

class LateError extends Error {
  override readonly name = 'LateError';
  override readonly message = 'the input has ended, and the service has not answered since';
}
