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
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** One message on its way to the service and back. */
interface Trip {
  readonly errand: Errand;
  readonly controller: AbortController;
  /** Requests in it that are not answered yet. */
  openCount: number;
}

/**
 * Carries MCP messages between a client's standard input and output and a service: one JSON-RPC
 * message a line on this side, one HTTP request for each on the other.
 *
 * Requests run side by side, at most `limits.bridgeRequestsMax`, and are answered as they finish;
 * streams that stay open run beside them. A message that fails is answered with a JSON-RPC error
 * and the next one is taken: a service that restarts in between is met again. While a client does
 * not read, nothing more is read for it than what is under way.
 */
export class Bridge {
  readonly #options: BridgeOptions;
  readonly #slots = new Slots(limits.bridgeRequestsMax);
  readonly #trips = new Set<Trip>();
  /** Length of all messages in `#trips`. */
  #tripCharacters = 0;
  /** Told when a trip has ended. */
  #tripEnded: (() => void) | undefined;
  /** What the client's `initialize` has settled on, for the headers of later legacy messages. */
  #settled: Readonly<Record<string, string>> = {};

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /**
   * Resolves after the end of input, when all requests are answered: those that have waited for
   * `limits.bridgeEndMillisMax` without a sign of the service, with an error.
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
        // Nobody has asked a client that is not in a session.
        if (sessionHeader in this.#settled) void this.#travel(asErrand(message));
        return;
      case 'cancel':
        return this.#cancel(message);
      case 'errand':
        while (!this.#hasRoom()) await this.#untilOneEnds();
        void this.#travel(message);
    }
  }

  #hasRoom(): boolean {
    const { bridgeMessagesMax, bridgeBytesMax } = limits;
    return this.#trips.size < bridgeMessagesMax && this.#tripCharacters <= bridgeBytesMax;
  }

  /**
   * A request that is given up is not answered. That its connection ends tells the service so; a
   * legacy one has to be told in words, and at once: the request may hold the last slot.
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

  /** Waits until a trip ends. One waits at a time: `run`. */
  #untilOneEnds(): Promise<void> {
    return new Promise((resolve) => {
      this.#tripEnded = resolve;
    });
  }

  /** Never rejects: what goes wrong is told to the client. */
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
      // Who has cancelled a request wants no answer.
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

  /** Hands a message of the service on to the client. */
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

  /** Of the two ways to end a stream that the protocol knows, some clients heed only this one. */
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

/** An error that does not say what it is about would leave the client waiting: it gets the id. */
function addressed({ line, messages }: ServiceMessage, { ids }: Errand): string {
  const [id, ...others] = ids;
  const [message] = messages;
  const hasError = message?.error !== undefined && (message.id ?? null) === null;
  if (!hasError || id === undefined || others.length > 0 || messages.length > 1) return line;
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(JSON.parse(line).error)}}`;
}

class LateError extends Error {
  override readonly name = 'LateError';
  override readonly message = 'the input has ended, and the service has not answered since';
}
