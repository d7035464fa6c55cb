/**
 * Asks the client for input during a request, in the manner of the legacy era: the server sends
 * requests on the stream that ends with the response. The client answers each with a separate
 * message, identified by an unguessable id.
 *
 * ```
 * client ── tools/call ─▶                        ── its result ─▶
 * server                   ◀─ elicitation/create ──              ◀─ result of the call ──
 * ```
 */
import { limits } from '../limits.ts';
import { JsonObject, type JsonValue, member } from '../values/json.ts';
import { whenAborted } from './abort.ts';
import type { EngineCaller } from './engine-request.ts';
import type { InputRequest, InputRequired } from './input-required.ts';
import { type RequestId, type ResponseMessage, requestText } from './json-rpc.ts';
import type { Method, MethodCall, MethodResult } from './method.ts';
import type { Outgoing } from './outgoing.ts';
import { requireCapabilities } from './required-capabilities.ts';
import { RpcError, rpcCode } from './rpc-error.ts';
import type { Terms } from './terms.ts';

/** The client to ask, and the means to do so. */
export interface Asking {
  readonly terms: Terms;
  readonly caller: EngineCaller;
  readonly outgoing: Outgoing;
  /** Aborted when an answer can no longer arrive. */
  readonly signal: AbortSignal;
}

interface OpenRequest {
  readonly caller: EngineCaller;
  settle(answer: ResponseMessage): void;
}

export class ClientRequests {
  readonly #open = new Map<RequestId, OpenRequest>();
  readonly #stopping: AbortSignal;

  /** `stopping`: aborted when new connections, and thus answers, are no longer accepted. */
  constructor(stopping: AbortSignal) {
    this.#stopping = stopping;
  }

  /** Runs a method until it has a result, again after each round of answers. */
  async run<Session>(
    method: Method<Session>,
    call: MethodCall<Session>,
    asking: Asking,
  ): Promise<MethodResult> {
    let outcome = await method(call);
    for (let round = 1; outcome.kind === 'inputRequired'; round += 1) {
      if (round > limits.mcpRoundsMax) throw new Error('a method asks the client without an end');
      const given = { answers: await this.#ask(outcome, asking), state: outcome.state };
      outcome = await method({ ...call, context: { ...call.context, given } });
    }
    return outcome;
  }

  /** Accepts an answer of a client; returns false if this caller was not asked for it. */
  answer(message: ResponseMessage, { key, isAnonymous }: EngineCaller): boolean {
    const request = this.#open.get(message.id);
    const isAsked = request?.caller.key === key && request.caller.isAnonymous === isAnonymous;
    if (isAsked) request.settle(message);
    return isAsked;
  }

  async #ask({ requests }: InputRequired, asking: Asking): Promise<ReadonlyMap<string, JsonValue>> {
    requireCapabilities(Object.values(requests), asking.terms);
    const over = new AbortController();
    // A signal of `AbortSignal.timeout` would be lost with the next garbage collection.
    const timer = setTimeout(() => over.abort(), limits.mcpStateMillisMax);
    timer.unref();
    const signal = AbortSignal.any([asking.signal, over.signal]);
    const forget = whenAborted(this.#stopping, () => over.abort());
    try {
      const answers = Object.entries(requests).map(async ([name, request]) => {
        return [name, await this.#askOne(request, { ...asking, signal })] as const;
      });
      return new Map(await Promise.all(answers));
    } finally {
      forget();
      clearTimeout(timer);
      // If one request failed, the others are no longer awaited.
      over.abort();
    }
  }

  #askOne({ method, params }: InputRequest, asking: Asking): Promise<JsonValue> {
    const { caller, outgoing, signal } = asking;
    const id = JSON.stringify(crypto.randomUUID());
    return new Promise<JsonValue>((resolve, reject) => {
      const giveUp = () => reject(failed('the client did not answer what it was asked'));
      if (signal.aborted) return giveUp();
      signal.addEventListener('abort', giveUp);
      const settle = (answer: ResponseMessage) => {
        if (answer.result instanceof JsonObject) resolve(answer.result);
        else reject(failed(`the client cannot answer: ${reasonOf(answer)}`));
      };
      this.#open.set(id, { caller, settle });
      outgoing.put(`request ${id}`, requestText(id, method, params));
    }).finally(() => this.#open.delete(id));
  }
}

function reasonOf({ error }: ResponseMessage): string {
  const message = member(error, 'message');
  return typeof message === 'string' ? message : 'its result is not an object';
}

function failed(words: string): RpcError {
  return new RpcError(rpcCode.invalidRequest, words);
}
